#include "agent/monitors/plugin/check_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const TimePoint kFirstRun = *parseTime("2026-11-29T20:00:00Z");

// Checks in virtual time: each ends at once, unless it is held.
class Runs {
 public:
  Runs(const std::vector<Duration>& intervals, std::size_t concurrency)
      : schedule_(intervals, concurrency, kFirstRun), counts_(intervals.size()) {}

  // The check's next run does not end before release().
  void hold(std::size_t check) { held_.insert(check); }
  void release(std::size_t check) {
    held_.erase(check);
    if (running_.erase(check) > 0) {
      schedule_.finished(check);
      play();
    }
  }
  void releaseAll() {
    for (const std::size_t check : std::set(held_)) {
      release(check);
    }
  }
  // Stops at every instant at which the schedule wants to be asked.
  void advance(Duration span) {
    const TimePoint end = now_ + span;
    for (TimePoint next = schedule_.nextPlan(); next <= end; next = schedule_.nextPlan()) {
      now_ = next;
      play();
    }
    now_ = end;
    play();
  }
  void play() {
    for (auto due = schedule_.plan(now_); !due.empty(); due = schedule_.plan(now_)) {
      for (const std::size_t check : due) {
        EXPECT_TRUE(running_.insert(check).second) << "check " << check << " overlaps itself";
        ++counts_[check];
      }
      most_ = std::max(most_, running_.size());
      for (const std::size_t check : due) {
        if (!held_.contains(check)) {
          running_.erase(check);
          schedule_.finished(check);
        }
      }
    }
  }

  using Counts = std::vector<int>;
  const Counts& counts() const { return counts_; }
  std::size_t running() const { return running_.size(); }
  std::size_t mostAtOnce() const { return most_; }
  TimePoint nextPlan() const { return schedule_.nextPlan(); }

 private:
  CheckSchedule schedule_;
  TimePoint now_ = kFirstRun;
  std::set<std::size_t> held_;
  std::set<std::size_t> running_;
  std::size_t most_ = 0;
  Counts counts_;
};

using Counts = Runs::Counts;

TEST(CheckScheduleTest, AllRunOnceAtTheStartAsOneBatch) {
  Runs runs({5s, 7s, 11s}, 3);
  runs.hold(2);
  runs.play();
  EXPECT_EQ(runs.counts(), (Counts{1, 1, 1}));
  runs.advance(6s);
  EXPECT_EQ(runs.counts(), (Counts{1, 1, 1})) << "nothing begins before the first batch has ended";
  runs.release(2);
  EXPECT_EQ(runs.counts(), (Counts{2, 1, 1})) << "the tick at 5 s is made up for";
}

TEST(CheckScheduleTest, ChecksOfOneIntervalWaitForEachOther) {
  Runs runs({10s, 10s, 10s}, 3);
  runs.play();
  runs.hold(0);
  runs.advance(10s);
  EXPECT_EQ(runs.counts(), (Counts{2, 2, 2}));
  runs.advance(10s);
  EXPECT_EQ(runs.counts(), (Counts{2, 2, 2}));
  runs.release(0);
  EXPECT_EQ(runs.counts(), (Counts{3, 3, 3}));
  runs.advance(10s);
  EXPECT_EQ(runs.counts(), (Counts{4, 4, 4}));
}

TEST(CheckScheduleTest, EachIntervalKeepsItsOwnTime) {
  Runs runs({7s, 30s}, 2);
  runs.play();
  const std::vector<std::pair<Duration, Counts>> kSteps = {
      {7s, {2, 1}},  {7s, {3, 1}},  {7s, {4, 1}},  {7s, {5, 1}},  {2s, {5, 2}},
      {5s, {6, 2}},  {7s, {7, 2}},  {7s, {8, 2}},  {7s, {9, 2}},  {4s, {9, 3}},
      {3s, {10, 3}}, {7s, {11, 3}}, {7s, {12, 3}}, {7s, {13, 3}}, {6s, {13, 4}}};
  Duration elapsed{};
  for (const auto& [span, counts] : kSteps) {
    runs.advance(span);
    elapsed += span;
    EXPECT_EQ(runs.counts(), counts) << formatDuration(elapsed);
  }
}

TEST(CheckScheduleTest, IntervalsThatAreEqualAsTimesShareABatch) {
  Runs runs({30s, *parseDuration("30000ms")}, 2);
  runs.play();
  runs.hold(1);
  runs.advance(30s);
  runs.advance(30s);
  EXPECT_EQ(runs.counts(), (Counts{2, 2})) << "one waits for the other";
}

TEST(CheckScheduleTest, AnotherIntervalDoesNotWait) {
  Runs runs({5s, 7s}, 2);
  runs.play();
  runs.hold(0);
  runs.advance(5s);
  runs.advance(2s);
  EXPECT_EQ(runs.counts(), (Counts{2, 2}));
}

TEST(CheckScheduleTest, NoMoreThanConcurrencyRunAtOnce) {
  Runs runs({10s, 10s, 10s, 10s}, 2);
  runs.play();
  EXPECT_EQ(runs.counts(), (Counts{1, 1, 1, 1}));
  for (const std::size_t check : {0, 1, 2, 3}) {
    runs.hold(check);
  }
  runs.advance(10s);
  EXPECT_EQ(runs.running(), 2u);
  EXPECT_EQ(runs.counts(), (Counts{2, 2, 1, 1}));
  runs.releaseAll();
  EXPECT_EQ(runs.counts(), (Counts{2, 2, 2, 2}));
  EXPECT_EQ(runs.mostAtOnce(), 2u);
}

TEST(CheckScheduleTest, ACheckNeverOverlapsItselfAndCatchesUpOnce) {
  Runs runs({5s}, 2);
  runs.play();
  runs.hold(0);
  runs.advance(5s);
  runs.advance(15s);
  EXPECT_EQ(runs.counts(), (Counts{2}));
  runs.release(0);
  EXPECT_EQ(runs.counts(), (Counts{3}));
  runs.advance(4s);
  EXPECT_EQ(runs.counts(), (Counts{3})) << "ticks stay where they were";
  runs.advance(1s);
  EXPECT_EQ(runs.counts(), (Counts{4}));
}

TEST(CheckScheduleTest, OneAtATimeStarvesNobody) {
  Runs runs({7s, 30s}, 1);
  runs.play();
  runs.advance(210s);
  EXPECT_EQ(runs.counts(), (Counts{31, 8}));
}

TEST(CheckScheduleTest, WithoutChecksThereIsNothingToPlan) {
  Runs runs({}, 1);
  runs.play();
  EXPECT_EQ(runs.nextPlan(), kNever);
}

TEST(CheckScheduleTest, SleepsWhileWhatIsDueWaitsForAnEnd) {
  Runs runs({5s}, 1);
  runs.play();
  EXPECT_EQ(runs.nextPlan(), kFirstRun + 5s);
  runs.hold(0);
  runs.advance(5s);
  EXPECT_EQ(runs.nextPlan(), kFirstRun + 10s);
  runs.advance(5s);
  EXPECT_EQ(runs.nextPlan(), kNever);
}

TEST(CheckScheduleTest, AMachineThatSleptRunsEachOnce) {
  CheckSchedule schedule({5s, 7s}, 2, kFirstRun);
  for (const std::size_t check : schedule.plan(kFirstRun)) {
    schedule.finished(check);
  }
  EXPECT_EQ(schedule.plan(kFirstRun + 24h), (std::vector<std::size_t>{0, 1}));
  EXPECT_GT(schedule.nextPlan(), kFirstRun + 24h);
}

}  // namespace
}  // namespace mainstay::agent
