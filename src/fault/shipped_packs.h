// The rule packs of this release, which travel inside the programs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fault/pack.h"

namespace mainstay::fault {

// By their path: shippedPackTexts().at("rules/nvidia.yaml"). Made by cmake/embed.cmake.
const std::map<std::string_view, std::string_view>& shippedPackTexts();

// All of them, in the order of their paths.
Result<std::vector<Pack>> shippedPacks();

}  // namespace mainstay::fault
