// Files of the repository that travel inside the programs: CRDs, the demo's job and policy, the shipped rules. Found by
// their path: assets().at("deploy/crds/noderecoveries.yaml"). Made by cmake/embed.cmake.
#pragma once

#include <map>
#include <string_view>

namespace mainstay::local {

const std::map<std::string_view, std::string_view>& assets();

}  // namespace mainstay::local
