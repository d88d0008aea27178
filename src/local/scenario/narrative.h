// Narrative: a recording as a story: when, who, what, why. Only decisions and their effects; heartbeats and
// bookkeeping are left out.
#pragma once

#include <string>
#include <vector>

#include "local/scenario/recording.h"

namespace mainstay::local {

struct StoryLine {
  TimePoint at{};
  std::string who;  // a node, agent, controller, cloud, person, ...
  std::string what;
  std::string why;  // "" when it speaks for itself
};

// From time zero on.
std::vector<StoryLine> narrate(const Recording& recording);

}  // namespace mainstay::local
