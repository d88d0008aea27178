#include "agent/sources/journal_reader.h"

#include <gtest/gtest.h>

#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeJournal;
using Words = std::vector<std::string>;

const TimePoint kJournalNow = *parseTime("2026-11-29T20:14:07Z");

class JournalReaderTest : public ::testing::Test {
 protected:
  Words poll(TimePoint now = kJournalNow) {
    const auto news = reader.poll(now);
    lastWhat = testing::explanationIn(news);
    return testing::wordsOf(news);
  }

  FakeJournal journal;
  JournalReader reader{journal.opener(), kJournalNow - 5min};
  std::string lastWhat;
};

TEST_F(JournalReaderTest, BeginsAtTheStartAndGoesOn) {
  journal.write(kJournalNow - 6min, "old");
  journal.write(kJournalNow - 5min, "a");
  EXPECT_EQ(poll(), (Words{"reading", "a"}));
  EXPECT_EQ(reader.nextPoll(), kJournalNow + JournalReader::kLook);
  EXPECT_EQ(reader.descriptor(), FakeJournal::kDescriptor);
  journal.write(kJournalNow, "b");
  EXPECT_EQ(poll(), Words{"b"});
}

TEST_F(JournalReaderTest, ReadsInBatches) {
  for (int i = 0; i < JournalReader::kBatch + 1; ++i) {
    journal.write(kJournalNow, "x");
  }
  EXPECT_EQ(poll().size(), 1u + JournalReader::kBatch);
  EXPECT_EQ(reader.nextPoll(), kJournalNow);
  EXPECT_EQ(poll().size(), 1u);
}

TEST_F(JournalReaderTest, AnErrorIsToldAndBacksOffAndNothingIsReadTwice) {
  journal.write(kJournalNow, "a");
  poll();
  journal.write(kJournalNow, "b");
  journal.failNext(Error(Code::kInternal, "reading the journal: I/O error"));
  EXPECT_EQ(poll(), Words{"blind"});
  EXPECT_EQ(lastWhat, "reading the journal: I/O error");
  EXPECT_EQ(reader.nextPoll(), kJournalNow + 250ms);
  EXPECT_EQ(reader.descriptor(), -1);
  EXPECT_EQ(poll(kJournalNow + 100ms), Words{}) << "not before its time";
  EXPECT_EQ(poll(kJournalNow + 250ms), (Words{"reading", "b"}));
  EXPECT_EQ(journal.opened(), 2);
}

TEST_F(JournalReaderTest, PausesGrowWhileTheJournalStaysAway) {
  journal.refuse(Error(Code::kNotFound, "no journal"));
  TimePoint now = kJournalNow;
  std::vector<Duration> pauses;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(poll(now), Words{"blind"});
    pauses.push_back(reader.nextPoll() - now);
    now = reader.nextPoll();
  }
  EXPECT_EQ(pauses, (std::vector<Duration>{250ms, 500ms, 1s, 2s, 4s, 5s, 5s}));
}

TEST_F(JournalReaderTest, AnEntryThatCannotBeReadIsALoss) {
  journal.write(kJournalNow, "a");
  journal.failNext(Error(Code::kDataLoss, "damaged"));
  EXPECT_EQ(poll(), (Words{"reading", "lost 1", "a"}));
}

TEST_F(JournalReaderTest, WithoutNoticesItIsOpenedAgainAtEachLook) {
  journal.setNotices(false);
  journal.write(kJournalNow, "a");
  EXPECT_EQ(poll(), (Words{"reading", "a"}));
  EXPECT_EQ(reader.nextPoll(), kJournalNow + JournalReader::kLook) << "and does not spin";
  journal.write(kJournalNow, "b");
  EXPECT_EQ(poll(kJournalNow + 1s), Words{});
  EXPECT_EQ(poll(kJournalNow + JournalReader::kLook), Words{"b"});
  EXPECT_EQ(journal.opened(), 2);
}

TEST(JournalRecordTest, IsTrimmedValidUtf8AndOfTheKernelOnlyWhenJournaldSaysSo) {
  JournalEntry entry;
  entry.time = kJournalNow;
  entry.message = " \tStarted a\xff \n";
  fault::Record record = recordOf(entry);
  EXPECT_EQ(record.text, "Started a\xEF\xBF\xBD");
  EXPECT_EQ(record.time, kJournalNow);
  EXPECT_NE(record.facility(), 0);
  entry.fromKernel = true;
  EXPECT_EQ(recordOf(entry).facility(), 0);
}

}  // namespace
}  // namespace mainstay::agent
