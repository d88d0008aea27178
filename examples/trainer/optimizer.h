// Adam on the part of the parameters that one rank owns.
#pragma once

#include <span>
#include <vector>

namespace trainer {

class Adam {
 public:
  explicit Adam(std::size_t size) : mean_(size, 0.0F), variance_(size, 0.0F) {}

  void update(std::span<float> parameters, std::span<const float> gradient);

  // Parameters and optimizer as one vector, for a checkpoint, and back. REQUIRES for restore: a vector of
  // pack().
  std::vector<float> pack(std::span<const float> parameters) const;
  void restore(std::span<const float> packed, std::span<float> parameters);

 private:
  std::vector<float> mean_;
  std::vector<float> variance_;
  float meanPower_ = 1.0F;  // decay rates to the power of the number of updates
  float variancePower_ = 1.0F;
};

}  // namespace trainer
