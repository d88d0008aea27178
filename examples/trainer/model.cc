#include "trainer/model.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace trainer {
namespace {

// to += scale * from, element by element: no sum whose order a compiler could choose.
void addScaled(float* to, float scale, const float* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    to[i] += scale * from[i];
  }
}

float dot(const float* a, const float* b, std::size_t size) {
  float sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

float surpriseOf(float probability) {
  return -logf(std::max(probability, 1e-30F));
}

void softmax(std::vector<float>& values) {
  const float highest = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& value : values) {
    value = expf(value - highest);
    sum += value;
  }
  for (float& value : values) {
    value /= sum;
  }
}

}  // namespace

std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

Corpus::Corpus(std::string_view text) {
  std::map<char, std::uint8_t> index;
  for (const char c : text) {
    index.emplace(c, std::uint8_t{0});
  }
  for (auto& [c, number] : index) {
    number = static_cast<std::uint8_t>(alphabet_++);
  }
  for (const char c : text) {
    symbols_.push_back(index.at(c));
  }
}

Model::Model(std::size_t alphabet) : alphabet_(alphabet), parameters_(outputBias() + alphabet, 0.0F) {}

void Model::initialise(std::uint64_t seed) {
  std::fill(parameters_.begin(), parameters_.end(), 0.0F);
  const auto fill = [&](std::size_t begin, std::size_t end, float scale) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto bits = static_cast<std::int32_t>(mix(seed + i) >> 40);  // 24 bits: exact in a float
      parameters_[i] = scale * (static_cast<float>(bits) / 8388608.0F - 1.0F);
    }
  };
  fill(0, hiddenWeights(0), 1.0F);
  fill(hiddenWeights(0), hiddenBias(), 0.15F);
  fill(outputWeights(0), outputBias(), 0.15F);
}

Model::Activations Model::forward(std::span<const std::uint8_t> context) const {
  Activations a;
  const float* p = parameters_.data();
  for (std::size_t i = 0; i < kContext; ++i) {
    std::copy_n(p + embedding(context[i]), kEmbedding,
                a.input.begin() + static_cast<std::ptrdiff_t>(i * kEmbedding));
  }
  std::copy_n(p + hiddenBias(), kHidden, a.hidden.begin());
  for (std::size_t i = 0; i < kInput; ++i) {
    addScaled(a.hidden.data(), a.input[i], p + hiddenWeights(i), kHidden);
  }
  for (float& value : a.hidden) {
    value = tanhf(value);
  }
  a.output.assign(p + outputBias(), p + outputBias() + alphabet_);
  for (std::size_t j = 0; j < kHidden; ++j) {
    addScaled(a.output.data(), a.hidden[j], p + outputWeights(j), alphabet_);
  }
  softmax(a.output);
  return a;
}

float Model::loss(std::span<const std::uint8_t> symbols, std::size_t at) const {
  return surpriseOf(forward(symbols.subspan(at - kContext, kContext)).output[symbols[at]]);
}

float Model::addGradient(std::span<const std::uint8_t> symbols, std::size_t at,
                         std::span<float> gradient) const {
  const auto context = symbols.subspan(at - kContext, kContext);
  Activations a = forward(context);
  const float surprise = surpriseOf(a.output[symbols[at]]);
  std::vector<float>& dOutput = a.output;  // d loss / d logits = probabilities - one-hot
  dOutput[symbols[at]] -= 1.0F;

  const float* p = parameters_.data();
  float* g = gradient.data();
  addScaled(g + outputBias(), 1.0F, dOutput.data(), alphabet_);
  std::array<float, kHidden> dHidden;
  for (std::size_t j = 0; j < kHidden; ++j) {
    addScaled(g + outputWeights(j), a.hidden[j], dOutput.data(), alphabet_);
    dHidden[j] = dot(p + outputWeights(j), dOutput.data(), alphabet_) * (1.0F - a.hidden[j] * a.hidden[j]);
  }
  addScaled(g + hiddenBias(), 1.0F, dHidden.data(), kHidden);
  for (std::size_t i = 0; i < kInput; ++i) {
    addScaled(g + hiddenWeights(i), a.input[i], dHidden.data(), kHidden);
    g[embedding(context[i / kEmbedding]) + i % kEmbedding] +=
        dot(p + hiddenWeights(i), dHidden.data(), kHidden);
  }
  return surprise;
}

}  // namespace trainer
