// Progress: the new lines of a trainer's progress file (one JSON object per line), each told once.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::cli {

class Progress {
 public:
  explicit Progress(std::string path) : path_(std::move(path)) {}
  // What has come since the last call. A file that is not there yet has no lines; a line that is no JSON is
  // passed over.
  std::vector<Json> poll();

 private:
  const std::string path_;
  std::size_t offset_ = 0;
};

}  // namespace mainstay::cli
