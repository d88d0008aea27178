#include "trainer/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "base/file_system.h"
#include "trainer/failure.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr int kAny = std::numeric_limits<int>::max();

class CheckpointTest : public testing::Test {
 protected:
  // One checkpoint of a group of two, complete unless `commit` is false.
  void write(int step, bool commit = true) {
    const std::vector<float> state = {static_cast<float>(step), 0.5F};
    const std::vector<Digest> digests = {rank0_.writeShard(step, state), rank1_.writeShard(step, state)};
    if (commit) {
      rank0_.commit(step, digests);
    }
  }
  int newestOf(const Checkpoints& rank) {
    passedOver_.clear();
    return rank.newestIntact(kAny, passedOver_);
  }
  fs::path path(const std::string& name) const { return fs::path(folder_.path()) / name; }

  mainstay::TemporaryFolder folder_{"trainer-checkpoint"};
  Checkpoints rank0_{folder_.path(), 0, 2};
  Checkpoints rank1_{folder_.path(), 1, 2};
  std::vector<std::string> passedOver_;
};

TEST_F(CheckpointTest, ReadsBackWhatWasWritten) {
  write(77);
  EXPECT_EQ(newestOf(rank1_), 77);
  EXPECT_EQ(rank1_.readShard(77), (std::vector<float>{77.0F, 0.5F}));
}

TEST_F(CheckpointTest, AnEmptyFolderHasNone) {
  EXPECT_EQ(newestOf(rank0_), 0);
  EXPECT_TRUE(passedOver_.empty());
}

TEST_F(CheckpointTest, WithoutAManifestItIsNotComplete) {
  write(66);
  write(77, false);
  EXPECT_EQ(newestOf(rank0_), 66);
}

TEST_F(CheckpointTest, ATornShardFallsBackForItsRankOnly) {
  write(66);
  write(77);
  fs::resize_file(path("step-000077/shard-1-of-2"), 5);
  EXPECT_EQ(newestOf(rank0_), 77);
  EXPECT_EQ(newestOf(rank1_), 66);
  EXPECT_EQ(passedOver_, std::vector<std::string>{"checkpoint of step 77 is not used: shard 1 is damaged"});
}

TEST_F(CheckpointTest, AMissingShardFallsBack) {
  write(77);
  fs::remove(path("step-000077/shard-0-of-2"));
  EXPECT_EQ(newestOf(rank0_), 0);
  EXPECT_EQ(passedOver_, std::vector<std::string>{"checkpoint of step 77 is not used: shard 0 is missing"});
  EXPECT_THROW(rank0_.readShard(77), Failure);
}

TEST_F(CheckpointTest, ADamagedManifestFallsBackAtEveryByte) {
  write(66);
  write(77);
  const fs::path manifest = path("step-000077/manifest");
  const auto size = static_cast<int>(fs::file_size(manifest));
  for (int at = 0; at < size; ++at) {
    std::fstream file(manifest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char before = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(before ^ 1));
    file.close();
    ASSERT_EQ(newestOf(rank0_), 66) << "byte " << at;
    std::fstream repair(manifest, std::ios::in | std::ios::out | std::ios::binary);
    repair.seekp(at);
    repair.put(before);
  }
  EXPECT_EQ(newestOf(rank0_), 77);
}

TEST_F(CheckpointTest, IsNotUsedByAGroupOfAnotherSize) {
  write(77);
  EXPECT_EQ(newestOf(Checkpoints(folder_.path(), 0, 3)), 0);
  EXPECT_EQ(passedOver_, std::vector<std::string>{
                             "checkpoint of step 77 is not used: it was written by 2 ranks, this run has 3"});
}

TEST_F(CheckpointTest, PruneKeepsTheNewestCompleteAndWhatIsBeingWritten) {
  write(11);
  write(22);
  write(30, false);
  write(33);
  write(44);
  write(55, false);
  rank0_.prune(2);
  EXPECT_EQ(rank0_.completeSteps(kAny), (std::vector<int>{44, 33}));
  EXPECT_FALSE(fs::exists(path("step-000030")));
  EXPECT_TRUE(fs::exists(path("step-000055")));
}

TEST_F(CheckpointTest, SaysWhatCannotBeWritten) {
  std::ofstream(path("file")) << "not a folder";
  const Checkpoints below(path("file"), 0, 1);
  try {
    below.writeShard(1, std::vector<float>{1.0F});
    FAIL() << "wrote below a file";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code, Exit::kCheckpoint);
    EXPECT_NE(std::string(failure.what()).find("step-000001"), std::string::npos) << failure.what();
  }
}

}  // namespace
}  // namespace trainer
