#include "agent/proc_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/text.h"

namespace mainstay::agent {
namespace {

std::vector<std::string_view> piecesOf(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  for (std::size_t at = text.find_first_not_of(separators); at != std::string_view::npos;
       at = text.find_first_not_of(separators, at)) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    pieces.push_back(text.substr(at, end - at));
    at = end;
  }
  return pieces;
}

}  // namespace

std::vector<std::string_view> linesOf(std::string_view text) {
  return piecesOf(text, "\n");
}

std::vector<std::string_view> wordsOf(std::string_view text) {
  return piecesOf(text, " \t\n");
}

std::optional<double> numberOf(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

tl::unexpected<Error> notAsExpected(std::string_view file, std::string_view expected,
                                    std::string_view found) {
  return fail(Code::kDataLoss, std::string(file) + ": expected " + std::string(expected) + ", found \"" +
                                   std::string(cutUtf8(found, 100)) + "\"");
}

}  // namespace mainstay::agent
