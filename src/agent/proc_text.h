// Texts of /proc and /sys taken apart.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainstay::agent {

// Without empty ones.
std::vector<std::string_view> linesOf(std::string_view text);
// What stands between blanks, tabs and ends of lines.
std::vector<std::string_view> wordsOf(std::string_view text);
// Of a whole word. A double holds the kernel's 64-bit counters exactly up to 2^53, as Prometheus does.
std::optional<double> numberOf(std::string_view word);

// A text that is not what the kernel writes: "stat: expected ..., found "..."".
tl::unexpected<Error> notAsExpected(std::string_view file, std::string_view expected, std::string_view found);

}  // namespace mainstay::agent
