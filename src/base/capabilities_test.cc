#include "base/capabilities.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace mainstay {
namespace {

// A line of /proc/self/status, without its name.
std::string statusOf(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return line.substr(line.find_last_of('\t') + 1);
    }
  }
  return "";
}

Capabilities setOf(const std::string& name) {
  return std::stoull(statusOf(name), nullptr, 16);
}

// In a child: the test's own process has other tests to run.
bool inChild(bool (*holds)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(holds() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

constexpr Capabilities kKept = capability(CAP_SYSLOG) | capability(CAP_KILL);

TEST(CapabilitiesTest, KeepsWhatItIsToldAndHas) {
  EXPECT_TRUE(inChild([] {
    const Capabilities before = setOf("CapPrm");
    return keepCapabilities(kKept).has_value() && setOf("CapPrm") == (before & kKept) &&
           setOf("CapEff") == (before & kKept) && setOf("CapInh") == 0;
  }));
}

TEST(CapabilitiesTest, NothingThatIsStartedCanGainAny) {
  EXPECT_TRUE(inChild([] {
    const bool mayChangeBounds = setOf("CapEff") & capability(CAP_SETPCAP);
    return keepCapabilities(kKept).has_value() && statusOf("NoNewPrivs") == "1" &&
           (!mayChangeBounds || (setOf("CapBnd") & ~kKept) == 0);
  }));
}

TEST(CapabilitiesTest, MayBeCalledAgain) {
  EXPECT_TRUE(inChild([] {
    return keepCapabilities(kKept).has_value() && keepCapabilities(kNoCapabilities).has_value() &&
           setOf("CapEff") == 0;
  }));
}

}  // namespace
}  // namespace mainstay
