// Counters: numbers that only rise, watched from look to look.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/probes/probe.h"

namespace mainstay::agent::probes {

class Counters {
 public:
  struct Growth {
    std::uint64_t by = 0;  // since the last look; 0 at the first one and after a reset
    bool over = false;     // the limit is exceeded
  };
  // Without a `per` the limit is that of one look, 0 = any growth. Others are buckets that hold `count` and
  // drain within `per`: exceeded while more is in them.
  Growth watch(const std::string& key, std::uint64_t value, const Limit& limit, TimePoint now);

 private:
  struct Watched {
    std::uint64_t value = 0;
    double level = 0;
    TimePoint at{};
  };
  void forgetOld(TimePoint now);

  std::map<std::string, Watched> watched_;
  TimePoint swept_{};
};

// "link_downed rose by 3 to 15 (limit: any growth)".
std::string riseText(std::string_view name, const Counters::Growth& growth, std::uint64_t value,
                     const Limit& limit);

}  // namespace mainstay::agent::probes
