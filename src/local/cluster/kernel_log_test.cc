#include "local/cluster/kernel_log.h"

#include <gtest/gtest.h>

namespace mainstay::local {
namespace {

using ReadKind = agent::KernelLogRead::Kind;
using std::chrono::seconds;

constexpr TimePoint kRingBoot{seconds(1000)};

std::string recordOf(const Result<agent::KernelLogRead>& read) {
  return read && read->kind == ReadKind::kRecord ? read->record : "";
}

struct OpenRing {
  explicit OpenRing(std::size_t capacity = KernelRing::kDefaultCapacity)
      : ring(std::make_shared<KernelRing>(kRingBoot, capacity)), log(*openRing(ring, signal)()) {}
  Signal signal;
  std::shared_ptr<KernelRing> ring;
  std::unique_ptr<agent::KernelLog> log;
};

TEST(KernelRingTest, WritesARecordAsTheKernelDoes) {
  OpenRing open;
  open.ring->print({.level = 3,
                    .text = "pcieport: back\\slash\ttab",
                    .dictionary = {{"DEVICE", "+pci:0000:00:1c.0"}, {"SUBSYSTEM", "pci"}}},
                   kRingBoot + seconds(2));
  EXPECT_EQ(recordOf(open.log->read()),
            "3,0,2000000,-;pcieport: back\\x5cslash\\x09tab\n DEVICE=+pci:0000:00:1c.0\n SUBSYSTEM=pci\n");
  EXPECT_EQ(open.log->read()->kind, ReadKind::kEmpty);
}

TEST(KernelRingTest, MarksAContinuation) {
  OpenRing open;
  open.ring->print({.text = "more", .continuation = true}, kRingBoot);
  EXPECT_EQ(recordOf(open.log->read()), "6,0,0,c;more\n");
}

TEST(KernelRingTest, UserSpaceCannotFakeTheKernelsFacility) {
  OpenRing open;
  for (const char* line : {"plain\n", "<3>error\n", "<6>info\n", "<30>daemon\n", "<x>no prefix\n"}) {
    ASSERT_TRUE(open.ring->write(line, kRingBoot));
  }
  EXPECT_EQ(recordOf(open.log->read()), "12,0,0,-;plain\n");
  EXPECT_EQ(recordOf(open.log->read()), "11,1,0,-;error\n");
  EXPECT_EQ(recordOf(open.log->read()), "14,2,0,-;info\n");
  EXPECT_EQ(recordOf(open.log->read()), "30,3,0,-;daemon\n");
  EXPECT_EQ(recordOf(open.log->read()), "12,4,0,-;<x>no prefix\n");
}

TEST(KernelRingTest, AWriteWithoutNewlineStaysUnseenUntilTheNextRecord) {
  OpenRing open;
  ASSERT_TRUE(open.ring->write("held", kRingBoot));
  EXPECT_EQ(open.log->read()->kind, ReadKind::kEmpty);
  EXPECT_FALSE(open.signal.take());
  ASSERT_TRUE(open.ring->write("next\n", kRingBoot));
  EXPECT_EQ(recordOf(open.log->read()), "12,0,0,-;held\n");
  EXPECT_EQ(recordOf(open.log->read()), "12,1,0,-;next\n");
}

TEST(KernelRingTest, RefusesAWriteThatIsTooLong) {
  OpenRing open;
  EXPECT_EQ(open.ring->write(std::string(1025, 'x'), kRingBoot).error().code(), Code::kInvalidArgument);
  EXPECT_TRUE(open.ring->write(std::string(1023, 'x') + "\n", kRingBoot));
}

TEST(KernelRingTest, AnOverrunIsToldOnceAndTheGapShowsInTheNumbers) {
  OpenRing open(100);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(open.ring->write("line " + std::to_string(i) + "\n", kRingBoot));
  }
  EXPECT_EQ(open.log->read()->kind, ReadKind::kOverrun);
  EXPECT_EQ(recordOf(open.log->read()).substr(0, 6), "12,15,");
}

TEST(KernelRingTest, SeeksToTheOldestAndToTheEnd) {
  OpenRing open;
  ASSERT_TRUE(open.ring->write("one\n", kRingBoot));
  ASSERT_TRUE(open.log->seekEnd());
  EXPECT_EQ(open.log->read()->kind, ReadKind::kEmpty);
  ASSERT_TRUE(open.log->seekOldest());
  EXPECT_EQ(recordOf(open.log->read()), "12,0,0,-;one\n");
}

TEST(KernelRingTest, WakesItsReadersAndFailsThemAtTheClose) {
  OpenRing open;
  ASSERT_TRUE(open.ring->write("one\n", kRingBoot));
  EXPECT_TRUE(open.signal.take());
  open.ring->close();
  EXPECT_TRUE(open.signal.take());
  EXPECT_EQ(open.log->read().error().code(), Code::kUnavailable);
  EXPECT_EQ(open.ring->write("two\n", kRingBoot).error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace mainstay::local
