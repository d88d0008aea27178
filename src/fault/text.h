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

// Bytes that the kernel wrote as \xNN (unprintable ones, and the backslash itself) as they were, made valid UTF-8.
std::string decodeKernelEscapes(std::string_view text);

// "0000:B3:00", "00000000:b3:00.0" as "0000:b3:00.0": one name for one device. Text that is no address comes back as
// it is, in lower case.
std::string normalPciAddress(std::string_view address);

// Equal but for the case of ASCII letters.
bool equalsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace mainstay::fault
