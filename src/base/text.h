// Words for people.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mainstay {

// ", did you mean limits?" when a known word is near to `word`, else "".
std::string didYouMean(std::string_view word, std::span<const std::string_view> known);

}  // namespace mainstay
