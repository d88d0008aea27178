#include "base/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mainstay {

namespace {

unsigned char byteAt(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0;
}

bool isContinuation(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

// Length of the well-formed sequence at `index`, 0 when there is none: no overlong forms, surrogates, or code
// points above U+10FFFF (The Unicode Standard, table 3-7).
std::size_t sequenceLength(std::string_view text, std::size_t index) {
  const unsigned char lead = byteAt(text, index);
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2 || lead > 0xF4) {
    return 0;
  }
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned char second = byteAt(text, index + 1);
  const unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if (!isContinuation(byteAt(text, index + i))) {
      return 0;
    }
  }
  return length;
}

// Levenshtein distance.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string didYouMean(std::string_view word, std::span<const std::string_view> known) {
  std::string_view nearest;
  std::size_t best = word.size() / 2 + 1;
  for (const std::string_view candidate : known) {
    if (const std::size_t distance = editDistance(word, candidate); distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest.empty() ? "" : ", did you mean " + std::string(nearest) + "?";
}

std::string sanitizeUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequenceLength(text, i);
    out += length > 0 ? text.substr(i, length) : "\xEF\xBF\xBD";
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string_view cutUtf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  while (limit > 0 && isContinuation(byteAt(text, limit))) {
    --limit;
  }
  return text.substr(0, limit);
}

}  // namespace mainstay
