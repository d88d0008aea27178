// ClearRequest: a person says that faults of a node are over. Travels from `mainstay node clear` to the agent in the node
// annotation `mainstay.dev/clear`, which the agent takes off when it has heard it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mainstay::fault {

struct ClearRequest {
  TimePoint at{};  // what was last seen before is over
  std::string by;  // whoever says so; "" = not known
  std::string reason;
  std::string condition;  // its type; "" = every condition of the agent
  bool operator==(const ClearRequest&) const = default;
};

// Bytes of `by` and `reason` each: they become part of an Event.
inline constexpr std::size_t kMaxClearText = 256;

// The annotation's text; what is too long is cut.
std::string encodeClearRequest(const ClearRequest& request);
// The error says which key.
Result<ClearRequest> decodeClearRequest(std::string_view annotation);

}  // namespace mainstay::fault
