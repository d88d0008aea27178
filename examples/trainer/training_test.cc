// The program itself, three processes at a time.
#include "trainer/training.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/file_system.h"
#include "base/subprocess.h"
#include "trainer/failure.h"
#include "trainer/test_port.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr int kWorld = 3;
constexpr std::chrono::seconds kPatience{60};

class TrainingTest : public testing::Test {
 protected:
  // Starts the three ranks with checkpoints in `folder` below the test's own, every 11 steps.
  void start(const std::string& folder, const std::vector<std::string>& more = {}) {
    ranks_.clear();
    ++runs_;
    for (int rank = 0; rank < kWorld; ++rank) {
      mainstay::Command command;
      command.arguments = {MAINSTAY_BIN_DIR "/mainstay-trainer", "--checkpoint-every=11"};
      command.arguments.insert(command.arguments.end(), more.begin(), more.end());
      if (rank == drillRank_) {
        command.arguments.push_back("--drill-kill-step=" + std::to_string(drillStep_));
      }
      command.environment = {{"RANK", std::to_string(rank)},
                             {"WORLD_SIZE", std::to_string(kWorld)},
                             {"MASTER_ADDR", "127.0.0.1"},
                             {"MASTER_PORT", std::to_string(port_.number())},
                             {"CHECKPOINT_DIR", path(folder)}};
      command.outputFile = logPath(rank);
      auto started = mainstay::Subprocess::start(command);
      ASSERT_TRUE(started) << started.error().toString();
      ranks_.push_back(std::move(*started));
    }
  }

  std::vector<mainstay::ExitStatus> waitForAll() {
    std::vector<mainstay::ExitStatus> statuses;
    for (mainstay::Subprocess& rank : ranks_) {
      const auto status = rank.wait(mainstay::Deadline::after(kPatience));
      EXPECT_TRUE(status) << "a rank still runs";
      statuses.push_back(status.value_or(mainstay::ExitStatus{}));
    }
    return statuses;
  }

  // Runs to the end and gives the result file's text.
  std::string finish(const std::string& folder, const std::vector<std::string>& more = {}) {
    start(folder, more);
    for (const mainstay::ExitStatus& status : waitForAll()) {
      EXPECT_EQ(status.code, 0) << log(0);
    }
    return read(path(folder) + "/result.json");
  }

  // Until rank 1 dies after step 86; the others notice.
  void runUntilFault(const std::string& folder) {
    drillRank_ = 1;
    drillStep_ = 86;
    start(folder);
    const auto statuses = waitForAll();
    drillRank_ = -1;
    EXPECT_EQ(statuses[1].signal, SIGKILL);
    EXPECT_EQ(statuses[0].code, static_cast<int>(Exit::kLostPeer));
    EXPECT_EQ(statuses[2].code, static_cast<int>(Exit::kLostPeer));
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string logPath(int rank) const {
    return path("log-" + std::to_string(runs_) + "-" + std::to_string(rank));
  }
  std::string log(int rank) const { return read(logPath(rank)); }
  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  mainstay::TemporaryFolder folder_{"trainer"};
  const ReservedPort port_;
  std::vector<mainstay::Subprocess> ranks_;
  int runs_ = 0;
  int drillRank_ = -1;
  int drillStep_ = 0;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(TrainingTest, ResumesFromTheNewestCheckpointAndEndsWithTheSameBits) {
  const std::string unbroken = finish("unbroken");
  ASSERT_TRUE(contains(unbroken, "\"steps\":120,\"world\":3")) << unbroken;

  runUntilFault("broken");
  EXPECT_TRUE(contains(log(2), "lost rank 1: it closed the connection")) << log(2);
  EXPECT_FALSE(fs::exists(path("broken/result.json")));

  EXPECT_EQ(finish("broken"), unbroken);
  for (int rank = 0; rank < kWorld; ++rank) {
    EXPECT_TRUE(contains(log(rank), "resumed from step 77\nstep 78 ")) << log(rank);
    EXPECT_TRUE(contains(log(rank), "final loss ")) << log(rank);
  }
}

TEST_F(TrainingTest, FallsBackWhenTheNewestCheckpointIsTornOnOneRank) {
  const std::string unbroken = finish("unbroken");
  runUntilFault("broken");
  fs::resize_file(path("broken/step-000077/shard-2-of-3"), 1000);
  EXPECT_EQ(finish("broken"), unbroken);
  EXPECT_TRUE(contains(log(2), "checkpoint of step 77 is not used: shard 2 is damaged")) << log(2);
  EXPECT_TRUE(contains(log(0), "resumed from step 66")) << log(0);
}

TEST_F(TrainingTest, ThePaceChangesNoBit) {
  EXPECT_EQ(finish("fast", {"--steps=12"}), finish("slow", {"--steps=12", "--step-millis=5"}));
}

TEST_F(TrainingTest, KeepsFewCheckpointsAndAProgressFilePerRank) {
  finish("run", {"--keep-checkpoints=2"});
  EXPECT_FALSE(fs::exists(path("run/step-000088")));
  EXPECT_TRUE(fs::exists(path("run/step-000099/manifest")));
  EXPECT_TRUE(fs::exists(path("run/step-000110/manifest")));
  const std::string progress = read(path("run/progress-rank-2.jsonl"));
  EXPECT_TRUE(contains(progress, "\"rank\":2,\"event\":\"step\",\"step\":86,\"loss\":")) << progress;
  EXPECT_TRUE(contains(progress, "\"event\":\"checkpoint\",\"step\":110}")) << progress;
  EXPECT_TRUE(contains(progress, "\"event\":\"finished\",\"step\":120,")) << progress;
}

TEST_F(TrainingTest, AJobThatHadFinishedSaysSoAgainWithTheSameParameters) {
  const std::string first = finish("run", {"--steps=22"});
  const std::string second = finish("run", {"--steps=22"});
  EXPECT_TRUE(contains(log(0), "resumed from step 22\nfinal loss ")) << log(0);
  EXPECT_EQ(first, second);
}

TEST_F(TrainingTest, SigtermEndsEveryRankInAnOrderlyWay) {
  // The logs of this run are pipes, so that the test can wait for the first step of each rank.
  std::vector<std::fstream> logs;
  for (int rank = 0; rank < kWorld; ++rank) {
    const std::string pipe = path("log-1-" + std::to_string(rank));
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    logs.emplace_back(pipe, std::ios::in | std::ios::out);
  }
  start("run", {"--steps=2", "--step-millis=3600000"});
  for (std::fstream& log : logs) {
    std::string line;
    while (!line.starts_with("step 1 loss ") && std::getline(log, line)) {
    }
  }
  for (mainstay::Subprocess& rank : ranks_) {
    rank.signal(SIGTERM);
  }
  for (const mainstay::ExitStatus& status : waitForAll()) {
    EXPECT_EQ(status.code, static_cast<int>(Exit::kTerminated));
    EXPECT_EQ(status.signal, 0);
  }
}

TEST_F(TrainingTest, AGroupThatIsNotCompleteInTimeEnds) {
  mainstay::Command command;
  command.arguments = {MAINSTAY_BIN_DIR "/mainstay-trainer", "--rendezvous-seconds=1"};
  command.environment = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", std::to_string(port_.number())}};
  const auto output = mainstay::run(command, mainstay::Deadline::after(kPatience));
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->status.code, static_cast<int>(Exit::kLostPeer));
  EXPECT_TRUE(contains(output->text, "gave up waiting for 1 more rank(s) to join")) << output->text;
}

}  // namespace
}  // namespace trainer
