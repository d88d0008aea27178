// Model: a character-level language model. Eight characters of context, embedded, through one tanh layer,
// give the distribution of the next character. Plain floats, one fixed order of operations.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainer {

// A text as indices into its own alphabet.
class Corpus {
 public:
  explicit Corpus(std::string_view text);
  std::size_t size() const { return symbols_.size(); }
  std::size_t alphabet() const { return alphabet_; }
  std::span<const std::uint8_t> symbols() const { return symbols_; }

 private:
  std::vector<std::uint8_t> symbols_;
  std::size_t alphabet_ = 0;
};

class Model {
 public:
  static constexpr std::size_t kContext = 8;
  static constexpr std::size_t kEmbedding = 12;
  static constexpr std::size_t kHidden = 64;
  static constexpr std::size_t kInput = kContext * kEmbedding;

  explicit Model(std::size_t alphabet);

  // The same numbers in every run.
  void initialise(std::uint64_t seed);
  std::span<float> parameters() { return parameters_; }

  // How surprising symbols[at] is, in nats, given the kContext symbols before it. REQUIRES: at >= kContext.
  float loss(std::span<const std::uint8_t> symbols, std::size_t at) const;
  // Adds the gradient of that loss to `gradient`, which has the shape of parameters(); returns the loss.
  float addGradient(std::span<const std::uint8_t> symbols, std::size_t at, std::span<float> gradient) const;

 private:
  // Where each tensor stands in the flat parameters.
  std::size_t embedding(std::size_t symbol) const { return symbol * kEmbedding; }
  std::size_t hiddenWeights(std::size_t input) const { return alphabet_ * kEmbedding + input * kHidden; }
  std::size_t hiddenBias() const { return hiddenWeights(kInput); }
  std::size_t outputWeights(std::size_t hidden) const { return hiddenBias() + kHidden + hidden * alphabet_; }
  std::size_t outputBias() const { return outputWeights(kHidden); }

  struct Activations {
    std::array<float, kInput> input;
    std::array<float, kHidden> hidden;
    std::vector<float> output;  // the probabilities
  };
  Activations forward(std::span<const std::uint8_t> context) const;

  const std::size_t alphabet_;
  std::vector<float> parameters_;
};

// A number that depends on its inputs only (SplitMix64), so that a resumed run draws what an unbroken one
// draws.
std::uint64_t mix(std::uint64_t value);

}  // namespace trainer
