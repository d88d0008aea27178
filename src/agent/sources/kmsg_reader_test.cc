#include "agent/sources/kmsg_reader.h"

#include <gtest/gtest.h>

#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeKernelLog;

const TimePoint kReadingNow = *parseTime("2026-11-29T20:14:07Z");

class KmsgReaderTest : public ::testing::Test {
 protected:
  std::vector<std::string> poll(TimePoint now = kReadingNow) {
    const std::vector<SourceNews> news = reader.poll(now);
    for (const SourceNews& one : news) {
      if (const auto* record = std::get_if<fault::Record>(&one)) {
        lastTime = record->time;
      }
    }
    lastWhat = testing::explanationIn(news);
    return testing::wordsOf(news);
  }
  using Words = std::vector<std::string>;

  FakeKernelLog log;
  KmsgReader reader{log.opener(), [] { return Duration(100s); }};
  TimePoint lastTime{};
  std::string lastWhat;
};

TEST_F(KmsgReaderTest, GivesEachRecordOnceWithItsWallTime) {
  log.write("a", 99s);
  log.write("b", 40s);
  EXPECT_EQ(poll(), (Words{"reading", "a", "b"}));
  EXPECT_EQ(lastTime, kReadingNow - 60s);
  EXPECT_EQ(reader.nextPoll(), kNever);
  EXPECT_EQ(poll(), Words{});
  log.write("c", 101s);
  EXPECT_EQ(poll(), Words{"c"});
  EXPECT_EQ(lastTime, kReadingNow) << "a stamp ahead of the clock is now, not the future";
}

TEST_F(KmsgReaderTest, TellsHowManyRecordsAnOverrunCost) {
  log.write("a");
  poll();
  for (int i = 0; i < 5; ++i) {
    log.write("x");
  }
  log.write("b");
  log.overrun(6);
  EXPECT_EQ(poll(), (Words{"lost 5", "b"}));
  EXPECT_EQ(lastWhat, "records 1 to 5 of the kernel log are gone, overwritten before it was read");
  EXPECT_EQ(poll(), Words{});
}

TEST_F(KmsgReaderTest, AJumpInTheNumbersIsALossToo) {
  log.writeRaw("3,7,0,-;a");
  log.writeRaw("3,9,0,-;b");
  EXPECT_EQ(poll(), (Words{"reading", "a", "lost 1", "b"}));
}

TEST_F(KmsgReaderTest, ARecordThatCannotBeReadIsALoss) {
  log.writeRaw("rubbish");
  log.write("a");
  EXPECT_EQ(poll(), (Words{"reading", "lost 1", "a"}));
}

TEST_F(KmsgReaderTest, EmptyRecordsAreDropped) {
  log.write("a");
  log.write(" ");
  log.write("b");
  EXPECT_EQ(poll(), (Words{"reading", "a", "b"})) << "and are no gap";
}

TEST_F(KmsgReaderTest, OpensAgainAfterAnErrorWithoutReadingTwice) {
  log.write("a", 1s);
  log.write("b", 2s);
  poll();
  log.breakOff(Error(Code::kUnavailable, "closed"));
  EXPECT_EQ(poll(), Words{"blind"});
  EXPECT_EQ(lastWhat, "closed");
  EXPECT_EQ(reader.nextPoll(), kReadingNow + 250ms);
  log.write("c", 3s);
  EXPECT_EQ(poll(kReadingNow + 100ms), Words{}) << "not before its time";
  EXPECT_EQ(poll(kReadingNow + 250ms), (Words{"reading", "c"}));
  EXPECT_EQ(log.opened(), 2);
}

TEST_F(KmsgReaderTest, PausesGrowWhileTheLogStaysAway) {
  log.refuse(Error(Code::kPermissionDenied, "no"));
  TimePoint now = kReadingNow;
  std::vector<Duration> pauses;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(poll(now), Words{"blind"});
    pauses.push_back(reader.nextPoll() - now);
    now = reader.nextPoll();
  }
  EXPECT_EQ(pauses, (std::vector<Duration>{250ms, 500ms, 1s, 2s, 4s, 5s, 5s}));
  log.refuse(std::nullopt);
  EXPECT_EQ(poll(now), Words{"reading"});
  EXPECT_EQ(reader.nextPoll(), kNever);
}

TEST_F(KmsgReaderTest, ALogThatBeganAnewIsReadFromItsStart) {
  for (int i = 0; i < 3; ++i) {
    log.write("old", 10s);
  }
  poll();
  log.restartNumbers();
  log.write("new", 20s);
  EXPECT_EQ(poll(), Words{"new"});
}

TEST_F(KmsgReaderTest, ReadsInBatches) {
  for (int i = 0; i < KmsgReader::kBatch + 1; ++i) {
    log.write("x");
  }
  EXPECT_EQ(poll().size(), 1u + KmsgReader::kBatch);
  EXPECT_EQ(reader.nextPoll(), kReadingNow);
  EXPECT_EQ(poll().size(), 1u);
}

}  // namespace
}  // namespace mainstay::agent
