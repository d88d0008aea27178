#include "base/text.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mainstay {

namespace {

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

}  // namespace mainstay
