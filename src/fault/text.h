// Text of unknown origin made safe: for regular expressions, JSON and people.
#pragma once

#include <string>
#include <string_view>

namespace mainstay::fault {

// Valid UTF-8: every byte that is not part of a well-formed sequence becomes U+FFFD, one for one, as Go reads
// such text.
std::string sanitizeUtf8(std::string_view text);

// At most `limit` bytes of valid UTF-8, cut between characters.
std::string_view cutUtf8(std::string_view text, std::size_t limit);

// Without white space at both ends.
std::string_view trim(std::string_view text);

// As Go writes a string literal (%q) with printable characters left as they are.
std::string quoteLikeGo(std::string_view text);

// Equal but for the case of ASCII letters.
bool equalsIgnoringCase(std::string_view a, std::string_view b);

}  // namespace mainstay::fault
