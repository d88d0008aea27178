#include "trainer/model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainer/optimizer.h"

namespace trainer {
namespace {

constexpr std::string_view kText = "the lamp must turn, the lamp must turn";

TEST(ModelTest, GradientAgreesWithFiniteDifferences) {
  const Corpus corpus(kText);
  Model model(corpus.alphabet());
  model.initialise(1);
  const std::span<float> parameters = model.parameters();
  std::vector<float> gradient(parameters.size());
  model.addGradient(corpus.symbols(), 20, gradient);
  constexpr float kStep = 1e-2F;
  int compared = 0;
  for (std::size_t i = 0; i < parameters.size(); i += 7) {
    const float before = parameters[i];
    parameters[i] = before + kStep;
    const float up = model.loss(corpus.symbols(), 20);
    parameters[i] = before - kStep;
    const float down = model.loss(corpus.symbols(), 20);
    parameters[i] = before;
    EXPECT_NEAR((up - down) / (2 * kStep), gradient[i], 2e-3F) << "parameter " << i;
    compared += gradient[i] != 0.0F ? 1 : 0;
  }
  EXPECT_GT(compared, 500);  // not all of them zero
}

TEST(ModelTest, LearnsATextThatRepeats) {
  const Corpus corpus(kText);
  Model model(corpus.alphabet());
  model.initialise(1);
  Adam optimizer(model.parameters().size());
  const float before = model.loss(corpus.symbols(), 20);
  for (int step = 0; step < 60; ++step) {
    std::vector<float> gradient(model.parameters().size());
    for (std::size_t at = Model::kContext; at < corpus.size(); ++at) {
      model.addGradient(corpus.symbols(), at, gradient);
    }
    optimizer.update(model.parameters(), gradient);
  }
  EXPECT_GT(before, 2.0F);
  EXPECT_LT(model.loss(corpus.symbols(), 20), 0.1F);
}

TEST(ModelTest, StartsWithTheSameNumbersEachTime) {
  Model first(20);
  Model second(20);
  first.initialise(5);
  second.initialise(5);
  EXPECT_TRUE(std::equal(first.parameters().begin(), first.parameters().end(), second.parameters().begin()));
  second.initialise(6);
  EXPECT_FALSE(std::equal(first.parameters().begin(), first.parameters().end(), second.parameters().begin()));
}

TEST(OptimizerTest, GoesOnFromItsPackedStateBitForBit) {
  std::vector<float> straight = {0.5F, -0.25F, 3.0F};
  std::vector<float> resumed = straight;
  const std::vector<float> gradient = {0.1F, -0.7F, 0.01F};
  Adam whole(3);
  whole.update(straight, gradient);
  Adam first(3);
  first.update(resumed, gradient);
  const std::vector<float> packed = first.pack(resumed);
  Adam second(3);
  std::vector<float> restored(3);
  second.restore(packed, restored);
  whole.update(straight, gradient);
  second.update(restored, gradient);
  EXPECT_EQ(straight, restored);
}

}  // namespace
}  // namespace trainer
