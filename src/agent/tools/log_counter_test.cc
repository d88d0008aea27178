#include "agent/tools/log_counter.h"

#include <gtest/gtest.h>

#include <utility>

#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using testing::FakeJournal;

const TimePoint kCountedAt = *parseTime("2026-11-29T20:14:07Z");

class LogCounterTest : public ::testing::Test {
 protected:
  Result<int> count() {
    const LogCounterDoors doors{
        .open =
            [this](const JournalSelection& selection, TimePoint since) {
              opened = selection;
              return journal.opener()(since, "");
            },
        .wait = [this](int, Deadline) { return std::exchange(late, nothing)(); },
    };
    return countLogs(options, doors, kCountedAt, 1h);
  }
  std::string errorOf() {
    const auto counted = count();
    return counted ? "" : counted.error().toString();
  }

  FakeJournal journal;
  LogCounterOptions options{.journaldSource = "kubelet",
                            .logPath = "/var/log/journal",
                            .lookback = "20m",
                            .pattern = "Started .*",
                            .revertPattern = "Stopping .*"};
  JournalSelection opened;
  static bool nothing() { return false; }
  std::function<bool()> late = nothing;  // what comes while it waits for the first time
};

TEST_F(LogCounterTest, CountsWhatMatchesLessWhatReverts) {
  journal.write(kCountedAt - 3min, "Started kubelet.service");
  journal.write(kCountedAt - 2min, "Stopping kubelet.service");
  journal.write(kCountedAt - 2min, "something else");
  EXPECT_EQ(*count(), 0);
  journal.write(kCountedAt - 1min, "Started kubelet.service");
  journal.write(kCountedAt, "Started kubelet.service");
  EXPECT_EQ(*count(), 2);
  EXPECT_EQ(opened.identifier, "kubelet");
  EXPECT_EQ(opened.folder, "/var/log/journal");
}

TEST_F(LogCounterTest, WithoutARevertPatternNothingReverts) {
  options.revertPattern = "";
  journal.write(kCountedAt, "Started a");
  journal.write(kCountedAt, "Stopping a");
  EXPECT_EQ(*count(), 1);
}

TEST_F(LogCounterTest, OnlyBetweenTheStartAndItsOwn) {
  journal.write(kCountedAt - 20min - 1s, "Started a");
  journal.write(kCountedAt - 20min, "Started a");
  journal.write(kCountedAt + 1s, "Started a");
  journal.write(kCountedAt, "Started a");
  EXPECT_EQ(*count(), 1) << "the first entry that is too new ends it";
}

TEST_F(LogCounterTest, EntriesOfTheFirstMinutesAfterTheBootDoNotCount) {
  options.lookback = "2h";
  options.delay = "5m";
  journal.write(kCountedAt - 56min, "Started a");
  journal.write(kCountedAt - 55min, "Started a");
  EXPECT_EQ(*count(), 1);
}

TEST_F(LogCounterTest, WaitsForEntriesThatAreOnTheirWay) {
  late = [this] {
    journal.write(kCountedAt, "Started a");
    return true;
  };
  EXPECT_EQ(*count(), 1);
}

TEST_F(LogCounterTest, APatternCanReachBackAThousandLines) {
  options.pattern = "(?s)first.*last";
  journal.write(kCountedAt, "first");
  for (int i = 0; i < 998; ++i) {
    journal.write(kCountedAt, "x");
  }
  journal.write(kCountedAt, "last");
  EXPECT_EQ(*count(), 1);
  journal.write(kCountedAt, "last");
  EXPECT_EQ(*count(), 1) << "first has left the window";
}

TEST_F(LogCounterTest, ErrorsNameTheFlag) {
  options.pattern = "(";
  EXPECT_TRUE(errorOf().starts_with("--pattern: \"(\": ")) << errorOf();
  options.pattern = "a";
  options.revertPattern = "[";
  EXPECT_TRUE(errorOf().starts_with("--revert-pattern: \"[\": ")) << errorOf();
  options.revertPattern = "";
  options.lookback = "5";
  EXPECT_TRUE(errorOf().starts_with("--lookback: \"5\" is not a duration")) << errorOf();
  options.lookback = "";
  options.delay = "x";
  EXPECT_TRUE(errorOf().starts_with("--delay: ")) << errorOf();
  options.delay = "";
  options.journaldSource = "";
  EXPECT_TRUE(errorOf().starts_with("--journald-source: ")) << errorOf();
}

TEST_F(LogCounterTest, WhatCannotBeReadIsNotCountedAsNothing) {
  journal.failNext(Error(Code::kDataLoss, "damaged"));
  EXPECT_EQ(errorOf(), "damaged");
  journal.refuse(Error(Code::kNotFound, "no journal"));
  EXPECT_EQ(errorOf(), "no journal");
}

TEST(LogCounterAnswerTest, IsThatOfAPlugin) {
  EXPECT_EQ(answerOf(5, 5).code, 1);
  EXPECT_EQ(answerOf(6, 5).text, "Found 6 matching logs, which meets the threshold of 5\n");
  EXPECT_EQ(answerOf(4, 5).code, 0);
  EXPECT_EQ(answerOf(4, 5).text, "");
  EXPECT_EQ(answerOf(fail(Code::kNotFound, "no journal"), 1).code, 2);
  EXPECT_EQ(answerOf(fail(Code::kNotFound, "no journal"), 1).text, "no journal\n");
}

}  // namespace
}  // namespace mainstay::agent
