// LineSplitter: whole lines out of a file's bytes as they come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mainstay::agent {

// What came out: lines without their line feeds.
struct Lines {
  std::vector<std::string> lines;
  std::uint64_t tooLong = 0;  // lines of more bytes than the splitter's limit, which are given up
};

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t maxLine = kMaxLine) : maxLine_(maxLine) {}

  // Adds the lines that `bytes` completes; the rest waits for its line feed. Zeros at the beginning of a line are
  // dropped: a writer that does not append leaves a hole behind when its file is truncated.
  void take(std::string_view bytes, Lines& out);
  // What waits is a line: no more of it will come.
  void finish(Lines& out);
  // A line has begun that is not over.
  bool isWaiting() const { return !waiting_.empty() || tooLong_; }

  static constexpr std::size_t kMaxLine = 64 << 10;

 private:
  void add(std::string_view bytes);
  void endLine(Lines& out);

  std::size_t maxLine_;
  std::string waiting_;
  bool tooLong_ = false;
};

}  // namespace mainstay::agent
