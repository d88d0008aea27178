#include "base/memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace mainstay {
namespace {

// Kilobytes of resident pages that belong to files.
long residentFilePages() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) {
      return std::stol(line.substr(8));
    }
  }
  return -1;
}

TEST(ReleaseStartupMemoryTest, CodeLeavesAndTheProgramRunsOn) {
  const long before = residentFilePages();
  ASSERT_GT(before, 0);
  releaseStartupMemory();
  EXPECT_LT(residentFilePages(), before);
}

}  // namespace
}  // namespace mainstay
