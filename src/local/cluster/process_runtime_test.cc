#include "local/cluster/process_runtime.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "base/file_system.h"

namespace mainstay::local {
namespace {

constexpr TimePoint kAnyTime{};

class ProcessRuntimeTest : public testing::Test {
 protected:
  Result<std::string> start(const std::string& script, int restart = 0) {
    ContainerSpec spec;
    spec.ns = "ns";
    spec.pod = "p";
    spec.podUid = "u";
    spec.name = "c";
    spec.restart = restart;
    spec.arguments = {"/bin/sh", "-c", script};
    spec.environment = {{"GREETING", "hello"}, {"PATH", "/usr/bin:/bin"}};
    spec.terminationMessageFile = runtime_.podFolder("ns", "p", "u") + "/message";
    spec.folders = {folder_.path() + "/made/deep"};
    return runtime_.start(spec, kAnyTime);
  }
  ContainerExit waitForExit(const std::string& id) {
    for (;;) {  // the test's own timeout bounds it
      if (auto exit = runtime_.takeExit(id, kAnyTime)) {
        return *exit;
      }
      std::this_thread::yield();
    }
  }
  Result<LogSource::Chunk> log(std::int64_t restarts, bool previous = false, std::uint64_t offset = 0) {
    const Json pod{
        {"metadata", {{"name", "p"}, {"namespace", "ns"}, {"uid", "u"}}},
        {"status", {{"containerStatuses", JsonArray{{{"name", "c"}, {"restartCount", restarts}}}}}}};
    return readProcessLog(folder_.path(), pod, "c", previous, offset);
  }
  std::string read(const std::string& path) { return RealFileSystem().read(path, 1 << 20).value_or(""); }

  TemporaryFolder folder_{"process-runtime-test"};
  ProcessRuntime runtime_{folder_.path(), {{"image", {"/bin/sh"}}}};
};

TEST_F(ProcessRuntimeTest, KnowsTheImagesOfItsTable) {
  EXPECT_EQ(runtime_.entryPoint("image"), std::vector<std::string>{"/bin/sh"});
  EXPECT_FALSE(runtime_.entryPoint("other"));
}

TEST_F(ProcessRuntimeTest, RunsWithItsOwnEnvironmentFolderLogAndMessage) {
  const auto id = start("echo $GREETING; pwd; env | wc -l; test -d " + folder_.path() +
                        "/made/deep && echo made; echo oops >&2; echo fatal > ../message; exit 3");
  ASSERT_TRUE(id) << id.error().toString();
  const ContainerExit exit = waitForExit(*id);
  EXPECT_EQ(exit.code, 3);
  EXPECT_EQ(exit.message, "fatal\n");
  const std::string text = log(0)->text;
  EXPECT_TRUE(text.starts_with("hello\n" + folder_.path() + "/ns_p_u/c\n")) << text;
  EXPECT_NE(text.find("made\noops\n"), std::string::npos) << text;
  EXPECT_EQ(runtime_.nextChange(kAnyTime), kNever);
}

TEST_F(ProcessRuntimeTest, AProgramThatIsNotThereFailsToStart) {
  ContainerSpec spec;
  spec.podUid = "u";
  spec.name = "c";
  spec.arguments = {"/no/such/program"};
  EXPECT_FALSE(runtime_.start(spec, kAnyTime));
}

TEST_F(ProcessRuntimeTest, TerminateAsksAndKillDoesNot) {
  const auto polite = start("exec sleep 1000");
  runtime_.terminate(*polite, kAnyTime);
  EXPECT_EQ(waitForExit(*polite).code, 128 + SIGTERM);
  const auto stubborn = start("trap '' TERM; echo ready; while :; do sleep 0.01; done", 1);
  while (log(1).value_or(LogSource::Chunk{}).text.empty()) {
    std::this_thread::yield();
  }
  runtime_.terminate(*stubborn, kAnyTime);
  runtime_.kill(*stubborn, kAnyTime);
  EXPECT_EQ(waitForExit(*stubborn).code, 128 + SIGKILL);
}

TEST_F(ProcessRuntimeTest, DiscardKillsTheWholeGroupWithoutAWord) {
  const auto id = start("echo $$; sleep 1000");
  while (log(0).value_or(LogSource::Chunk{}).text.empty()) {
    std::this_thread::yield();
  }
  const pid_t pid = std::stoi(log(0)->text);
  runtime_.discard(*id);
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(runtime_.takeExit(*id, kAnyTime));
}

TEST_F(ProcessRuntimeTest, LogsAreReadByInstanceAndOffset) {
  waitForExit(start("echo first").value());
  waitForExit(start("echo second", 1).value());
  EXPECT_EQ(log(1)->text, "second\n");
  EXPECT_EQ(log(1)->next, 7u);
  EXPECT_EQ(log(1, false, 4)->text, "nd\n");
  EXPECT_EQ(log(1, true)->text, "first\n");
  EXPECT_TRUE(log(1, true)->ended);
  EXPECT_EQ(log(0, true).error().code(), Code::kNotFound);
  EXPECT_EQ(log(9).error().code(), Code::kNotFound);
}

}  // namespace
}  // namespace mainstay::local
