#include "agent/sources/line_splitter.h"

#include <algorithm>
#include <utility>

namespace mainstay::agent {

void LineSplitter::take(std::string_view bytes, Lines& out) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    add(bytes.substr(0, end));
    if (end == std::string_view::npos) {
      return;
    }
    endLine(out);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::finish(Lines& out) {
  if (!waiting_.empty() || tooLong_) {
    endLine(out);
  }
}

void LineSplitter::add(std::string_view bytes) {
  if (waiting_.empty()) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of('\0'), bytes.size()));
  }
  if (waiting_.size() + bytes.size() > maxLine_) {
    tooLong_ = true;
  } else {
    waiting_ += bytes;
  }
}

void LineSplitter::endLine(Lines& out) {
  if (std::exchange(tooLong_, false)) {
    ++out.tooLong;
    waiting_.clear();
  } else {
    out.lines.push_back(std::exchange(waiting_, ""));
  }
}

}  // namespace mainstay::agent
