// The rule packs of this release, which travel inside the programs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "fault/pack.h"

namespace mainstay::fault {

// By their path: shippedPackTexts().at("rules/nvidia.yaml"). Made by cmake/embed.cmake.
const std::map<std::string_view, std::string_view>& shippedPackTexts();

// All of them, in the order of their paths.
Result<std::vector<Pack>> shippedPacks();

// Lays what `name` stands for over `packs`: "shipped" is all of ours, "nvidia" one of them, everything else the path of a
// file. After an error the packs are as before.
Result<> layOver(std::vector<Pack>& packs, const std::string& name, const FileSystem& files);

// Each of `names` laid over those before it.
Result<std::vector<Pack>> loadPacks(const std::vector<std::string>& names, const FileSystem& files);

}  // namespace mainstay::fault
