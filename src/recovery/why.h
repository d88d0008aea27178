// Why: explains the state of one node from the objects in Kubernetes, for `mainstay why node NAME`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/api.h"
#include "recovery/fleet.h"

namespace mainstay::recovery {

struct Explanation {
  std::string node;
  std::string incident;  // "" when there is none
  std::string phase;
  std::string headline;
  std::vector<std::string> seen;
  std::vector<std::string> means;
  std::vector<std::string> next;
  std::vector<std::string> waits;  // why not now
  std::vector<std::string> hurt;
  std::vector<std::pair<std::string, std::string>> youCan;  // command, effect
};

// Pure. `fleet` needs the node, its pods, the policies and the incidents. kNotFound when neither the node nor an incident of
// it is known.
Result<Explanation> explainNode(const Fleet& fleet, const std::string& node, TimePoint now);
// Reads what it needs.
Result<Explanation> whyNode(kube::Api& api, const std::string& node, TimePoint now);

std::string explanationText(const Explanation& explanation);
Json explanationJson(const Explanation& explanation);

}  // namespace mainstay::recovery
