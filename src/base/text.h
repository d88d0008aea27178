// Text of unknown origin made safe, and words for people.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace mainstay {

// Valid UTF-8: every byte that is not part of a well-formed sequence becomes U+FFFD, one for one, as Go reads
// such text.
std::string sanitizeUtf8(std::string_view text);

// At most `limit` bytes of valid UTF-8, cut between characters.
std::string_view cutUtf8(std::string_view text, std::size_t limit);

// ", did you mean limits?" when a known word is near to `word`, else "".
std::string didYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace mainstay
