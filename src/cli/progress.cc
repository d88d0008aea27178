#include "cli/progress.h"

#include <fstream>

namespace mainstay::cli {

std::vector<Json> Progress::poll() {
  std::vector<Json> lines;
  std::ifstream file(path_);
  file.seekg(static_cast<std::streamoff>(offset_));
  for (std::string line; std::getline(file, line) && !file.eof();) {
    offset_ += line.size() + 1;
    if (auto value = parseJson(line)) {
      lines.push_back(*std::move(value));
    }
  }
  return lines;
}

}  // namespace mainstay::cli
