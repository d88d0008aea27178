// What root may do beyond other users, given up for good by a program that needs little of it.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace mainstay {

// One bit for each of <linux/capability.h>.
using Capabilities = std::uint64_t;
constexpr Capabilities capability(int number) {
  return Capabilities{1} << number;
}
constexpr Capabilities kNoCapabilities = 0;
constexpr Capabilities kAllCapabilities = ~kNoCapabilities;

// From now on neither this process nor any that it starts has a capability that is not in `kept`, nor can gain one.
// Nothing is gained by it: what the process does not have it does not get. REQUIRES: one thread, for the kernel keeps
// capabilities by thread.
Result<> keepCapabilities(Capabilities kept);

}  // namespace mainstay
