#include "fault/literal_index.h"

#include <algorithm>
#include <cstring>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

// Of the four bytes at `at`, without regard to the case of letters (and of a few other characters: what follows
// compares exactly).
std::uint16_t windowHash(const char* at) {
  std::uint32_t window = 0;
  std::memcpy(&window, at, LiteralIndex::kWindow);
  return static_cast<std::uint16_t>(((window | 0x20202020u) * 0x9E3779B1u) >> 16);
}

}  // namespace

LiteralIndex::LiteralIndex(std::vector<std::string> literals) : literals_(std::move(literals)) {
  for (std::size_t i = 0; i < literals_.size(); ++i) {
    const std::uint16_t hash = windowHash(literals_[i].data());
    starts_.push_back({hash, static_cast<int>(i)});
    mayStart_.set(hash);
  }
  std::ranges::stable_sort(starts_, {}, &Start::hash);
}

void LiteralIndex::find(std::string_view text, std::vector<int>& out) const {
  const std::size_t before = out.size();
  for (std::size_t i = 0; i + kWindow <= text.size(); ++i) {
    const std::uint16_t hash = windowHash(text.data() + i);
    if (!mayStart_[hash]) {
      continue;
    }
    for (const Start& start : std::ranges::equal_range(starts_, hash, {}, &Start::hash)) {
      const std::string& literal = literals_[static_cast<std::size_t>(start.literal)];
      if (equalsIgnoringCase(text.substr(i, literal.size()), literal)) {
        out.push_back(start.literal);
      }
    }
  }
  const auto fresh = out.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(fresh, out.end());
  out.erase(std::unique(fresh, out.end()), out.end());
}

}  // namespace mainstay::fault
