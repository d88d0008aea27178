// Text of unknown origin made safe: for regular expressions, JSON and people.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace mainstay::fault {

using mainstay::cutUtf8;
using mainstay::sanitizeUtf8;

// Without white space at both ends.
std::string_view trim(std::string_view text);

// As Go writes a string literal (%q) with printable characters left as they are.
std::string quoteLikeGo(std::string_view text);

// Equal but for the case of ASCII letters.
bool equalsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace mainstay::fault
