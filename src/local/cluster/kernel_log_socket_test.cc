#include "local/cluster/kernel_log_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>

#include "base/file_system.h"

namespace mainstay::local {
namespace {

using ReadKind = agent::KernelLogRead::Kind;

constexpr TimePoint kSocketBoot{};

class KernelLogSocketTest : public testing::Test {
 protected:
  void SetUp() override {
    auto socket = KernelLogSocket::listen(path_, ring_);
    ASSERT_TRUE(socket) << socket.error().toString();
    socket_ = *std::move(socket);
    log_ = agent::openKernelLog(path_).value();
  }
  // Until the log is readable; the test's own timeout bounds it.
  void waitReadable() {
    pollfd waiting{log_->descriptor(), POLLIN, 0};
    ASSERT_EQ(poll(&waiting, 1, -1), 1);
  }

  TemporaryFolder folder_{"kernel-log-socket"};
  std::string path_ = folder_.path() + "/kmsg";
  std::shared_ptr<KernelRing> ring_ = std::make_shared<KernelRing>(kSocketBoot, 300);
  std::unique_ptr<KernelLogSocket> socket_;
  std::unique_ptr<agent::KernelLog> log_;
};

TEST_F(KernelLogSocketTest, GivesOneRecordPerReadAndThenNothing) {
  ASSERT_TRUE(ring_->write("one\n", kSocketBoot));
  ASSERT_TRUE(ring_->write("two\n", kSocketBoot));
  EXPECT_EQ(log_->read()->record, "12,0,0,-;one\n");
  EXPECT_EQ(log_->read()->record, "12,1,0,-;two\n");
  EXPECT_EQ(log_->read()->kind, ReadKind::kEmpty);
}

TEST_F(KernelLogSocketTest, WakesAReaderThatFoundNothing) {
  EXPECT_EQ(log_->read()->kind, ReadKind::kEmpty);
  ASSERT_TRUE(ring_->write("news\n", kSocketBoot));
  waitReadable();
  EXPECT_EQ(log_->read()->record, "12,0,0,-;news\n");
}

TEST_F(KernelLogSocketTest, TellsOfAnOverrunAndSeeks) {
  EXPECT_EQ(log_->read()->kind, ReadKind::kEmpty);
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(ring_->write("line " + std::to_string(i) + "\n", kSocketBoot));
  }
  EXPECT_EQ(log_->read()->kind, ReadKind::kOverrun);
  EXPECT_EQ(log_->read()->kind, ReadKind::kRecord);
  ASSERT_TRUE(log_->seekEnd());
  EXPECT_EQ(log_->read()->kind, ReadKind::kEmpty);
  ASSERT_TRUE(log_->seekOldest());
  EXPECT_EQ(log_->read()->kind, ReadKind::kRecord);
}

TEST_F(KernelLogSocketTest, TheNodesDeathEndsTheLog) {
  EXPECT_EQ(log_->read()->kind, ReadKind::kEmpty);
  ring_->close();
  waitReadable();
  EXPECT_FALSE(log_->read());
}

TEST_F(KernelLogSocketTest, LeavesNoFileBehind) {
  socket_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(log_->read());
}

TEST_F(KernelLogSocketTest, RefusesAPathThatASocketCannotHave) {
  const auto socket = KernelLogSocket::listen(folder_.path() + "/" + std::string(120, 'x'), ring_);
  EXPECT_EQ(socket.error().code(), Code::kInvalidArgument);
  EXPECT_FALSE(KernelLogSocket::listen("/no/such/folder/kmsg", ring_));
}

}  // namespace
}  // namespace mainstay::local
