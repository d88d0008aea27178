#include "agent/monitors/plugin/check_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A check that is a shell script in a folder of its own.
class CheckRunTest : public ::testing::Test {
 protected:
  PluginRule script(const std::string& body, Duration timeout = 20s) {
    PluginRule rule;
    rule.id = "test.json#rules[0]";
    rule.path = folder.path() + "/check.sh";
    rule.timeout = timeout;
    std::ofstream(rule.path) << "#!/bin/sh\n" << body << "\n";
    ::chmod(rule.path.c_str(), 0755);
    return rule;
  }
  CheckResult run(const PluginRule& rule, std::size_t maxOutput = 80) {
    return runCheck(rule, maxOutput, {});
  }
  std::string message(const std::string& body, std::size_t maxOutput = 80) {
    return run(script(body), maxOutput).message;
  }

  TemporaryFolder folder{"mainstay-test-"};
};

TEST_F(CheckRunTest, TheExitCodeIsTheVerdict) {
  const struct {
    const char* body;
    CheckState state;
    const char* message;
  } kCases[] = {{"echo OK; exit 0", CheckState::kOk, "OK"},
                {"echo NonOK; exit 1", CheckState::kNonOk, "NonOK"},
                {"echo UNKNOWN; exit 3", CheckState::kUnknown, "UNKNOWN"},
                {"echo NON-DEFINED; exit 100", CheckState::kUnknown, "NON-DEFINED"},
                {"echo dying; kill -TERM $$", CheckState::kUnknown, "dying"}};
  for (const auto& test : kCases) {
    const CheckResult result = run(script(test.body));
    EXPECT_EQ(result.state, test.state) << test.body;
    EXPECT_EQ(result.message, test.message);
  }
}

TEST_F(CheckRunTest, OutputIsTrimmedAndCut) {
  EXPECT_EQ(message("printf '  \\n\\tfirst\\nsecond\\n\\n'"), "first\nsecond");
  const std::string digits = "0123456789";
  std::string ninety;
  for (int i = 0; i < 9; ++i) {
    ninety += digits;
  }
  EXPECT_EQ(message("echo " + ninety), ninety.substr(0, 80));
  EXPECT_EQ(message("echo word", 0), "");
  EXPECT_EQ(message("head -c 100000 /dev/zero | tr '\\0' x", 1 << 20).size(), kMaxCheckOutput);
}

TEST_F(CheckRunTest, ACutIsNeverInsideACharacter) {
  EXPECT_EQ(message("printf 'aaa\\303\\244'", 4), "aaa");
  EXPECT_EQ(message("printf 'aaa\\303\\244'", 5), "aaa\xC3\xA4");
  EXPECT_EQ(message("printf 'a\\377b'", 80),
            "a\xEF\xBF\xBD"
            "b");
  const std::string across = message("head -c 4095 /dev/zero | tr '\\0' x; printf '\\303\\244'", 1 << 20);
  EXPECT_EQ(across.size(), 4095u) << across.substr(4090);
}

TEST_F(CheckRunTest, StandardErrorIsNotItsMessage) {
  EXPECT_EQ(message("echo complaint >&2; echo said"), "said");
}

TEST_F(CheckRunTest, WhatCannotBeStartedIsUnknown) {
  PluginRule plain = script("exit 0");
  ::chmod(plain.path.c_str(), 0644);
  PluginRule folderItself = plain;
  folderItself.path = folder.path();
  PluginRule gone = plain;
  gone.path = folder.path() + "/gone";
  for (const PluginRule& rule : {plain, folderItself, gone}) {
    const CheckResult result = run(rule, 10);
    EXPECT_EQ(result.state, CheckState::kUnknown) << rule.path;
    EXPECT_EQ(result.message, "Error in starting plugin. Please check the error log") << "in full";
  }
}

TEST_F(CheckRunTest, PastItsDeadlineTheWholeGroupIsKilled) {
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const PluginRule rule = script("(exec sleep 1000) > " + fifo + " & echo begun; sleep 1000", 200ms);
  std::string held;
  std::jthread reader([&] {
    std::ifstream stream(fifo);  // open until the last writer is gone
    held.assign(std::istreambuf_iterator<char>(stream), {});
  });
  const CheckResult result = run(rule, 1000);
  reader.join();
  EXPECT_EQ(result.state, CheckState::kUnknown);
  EXPECT_EQ(result.message,
            "Timeout when running plugin \"" + rule.path + "\": state - signal: killed. output - \"begun\"");
  EXPECT_FALSE(result.hasEnded);
}

TEST_F(CheckRunTest, ADescendantThatHoldsTheOutputHoldsUpNobody) {
  const std::string pidFile = folder.path() + "/pid";
  const CheckResult result =
      run(script("setsid sh -c 'echo $$ > " + pidFile + "; exec sleep 1000' & while [ ! -s " + pidFile +
                 " ]; do :; done; echo done; exit 1"));
  EXPECT_EQ(result.state, CheckState::kNonOk);
  EXPECT_EQ(result.message, "done");
  ::kill(std::atoi(RealFileSystem().read(pidFile, 100)->c_str()), SIGKILL);
}

TEST_F(CheckRunTest, OneThatCannotBeKilledIsLeftBehind) {
  const PluginRule rule = script("exec sleep 1000", 1ms);
  // Without any patience nothing dies in time; one that does all the same has ended.
  const CheckResult result = runCheck(rule, 1000, {}, Duration(0));
  EXPECT_EQ(result.state, CheckState::kUnknown);
  EXPECT_THAT(result.message, StartsWith("Timeout when running plugin"));
  for (const Deadline patience = Deadline::after(20s); result.hasEnded && !result.hasEnded();) {
    ASSERT_FALSE(patience.expired());
  }
}

TEST_F(CheckRunTest, IsKilledWhenAskedToStop) {
  std::stop_source stop;
  stop.request_stop();
  const CheckResult result = runCheck(script("exec sleep 1000"), 80, stop.get_token());
  EXPECT_EQ(result.state, CheckState::kUnknown);
}

TEST_F(CheckRunTest, RunsAsWeDoButReadsNothingAndThroughNoShell) {
  ::setenv("MAINSTAY_TEST_CHECK", "inherited", 1);
  PluginRule rule = script("echo $MAINSTAY_TEST_CHECK; pwd; readlink /proc/$$/fd/0; echo \"$#:$1:$2\"");
  rule.args = {"a b", "$(x); *"};
  char folderOfOurs[4096];
  ASSERT_NE(::getcwd(folderOfOurs, sizeof folderOfOurs), nullptr);
  EXPECT_EQ(run(rule, 4000).message,
            "inherited\n" + std::string(folderOfOurs) + "\n/dev/null\n2:a b:$(x); *");
  ::unsetenv("MAINSTAY_TEST_CHECK");
}

TEST(InterpretTest, SaysWhatIsKnownOfAChildThatIsStillThere) {
  PluginRule rule;
  rule.path = "/opt/\"odd\"";
  EXPECT_EQ(interpret(rule, {std::nullopt, true, " half\n"}, 1000).message,
            "Timeout when running plugin \"/opt/\\\"odd\\\"\": state - still running after SIGKILL. output - "
            "\"half\"");
  EXPECT_EQ(interpret(rule, {ExitStatus{0, 0}, true, ""}, 1000).state, CheckState::kOk)
      << "it ended by itself at the very deadline";
  EXPECT_EQ(interpret(rule, {std::nullopt, true, ""}, 9).message, "Timeout w");
}

}  // namespace
}  // namespace mainstay::agent
