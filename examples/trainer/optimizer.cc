#include "trainer/optimizer.h"

#include <algorithm>
#include <cmath>

namespace trainer {
namespace {

constexpr float kLearningRate = 0.01F;
constexpr float kMeanDecay = 0.9F;
constexpr float kVarianceDecay = 0.99F;
constexpr float kSmallest = 1e-8F;

}  // namespace

void Adam::update(std::span<float> parameters, std::span<const float> gradient) {
  meanPower_ *= kMeanDecay;
  variancePower_ *= kVarianceDecay;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float g = gradient[i];
    mean_[i] = kMeanDecay * mean_[i] + (1.0F - kMeanDecay) * g;
    variance_[i] = kVarianceDecay * variance_[i] + (1.0F - kVarianceDecay) * g * g;
    const float mean = mean_[i] / (1.0F - meanPower_);
    const float variance = variance_[i] / (1.0F - variancePower_);
    parameters[i] -= kLearningRate * mean / (sqrtf(variance) + kSmallest);
  }
}

std::vector<float> Adam::pack(std::span<const float> parameters) const {
  std::vector<float> packed(parameters.begin(), parameters.end());
  packed.insert(packed.end(), mean_.begin(), mean_.end());
  packed.insert(packed.end(), variance_.begin(), variance_.end());
  packed.push_back(meanPower_);
  packed.push_back(variancePower_);
  return packed;
}

void Adam::restore(std::span<const float> packed, std::span<float> parameters) {
  const std::size_t size = parameters.size();
  std::copy_n(packed.begin(), size, parameters.begin());
  std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(size), size, mean_.begin());
  std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(2 * size), size, variance_.begin());
  meanPower_ = packed[3 * size];
  variancePower_ = packed[3 * size + 1];
}

}  // namespace trainer
