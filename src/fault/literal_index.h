// LiteralIndex: which of many short texts stand in a line, in one pass over its bytes.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mainstay::fault {

class LiteralIndex {
 public:
  // Each of them ASCII and at least kWindow bytes long.
  explicit LiteralIndex(std::vector<std::string> literals);

  // Appends the numbers of those that stand in `text`, whatever the case of letters, in order and each once.
  void find(std::string_view text, std::vector<int>& out) const;

  static constexpr std::size_t kWindow = 4;

 private:
  struct Start {
    std::uint16_t hash;
    int literal;
  };
  std::vector<std::string> literals_;
  std::vector<Start> starts_;       // by hash
  std::bitset<1u << 16> mayStart_;  // by hash of a literal's first kWindow bytes
};

}  // namespace mainstay::fault
