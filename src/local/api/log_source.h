// LogSource: where the API server gets the text of `pods/NAME/log`. Thread-safe; never waits.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace mainstay::local {

class LogSource {
 public:
  struct Chunk {
    std::string text;        // at most kMaxChunk bytes from the asked offset on
    std::uint64_t next = 0;  // offset after this chunk
    bool ended = false;      // the container has ended and nothing follows: a follower stops
  };
  static constexpr std::size_t kMaxChunk = 1 << 20;

  virtual ~LogSource() = default;
  // `pod` is the stored object; `container` is never empty; `previous`: the instance before the last restart.
  // kNotFound when there is no such log (yet), kUnavailable when the node's kubelet is dead.
  virtual Result<Chunk> read(const Json& pod, const std::string& container, bool previous,
                             std::uint64_t offset) = 0;
};

}  // namespace mainstay::local
