// CheckSchedule: when each check of a config runs, as node-problem-detector has it. All run once at the
// start, as one batch; then checks of one interval run as a batch at every tick of it, counted from the
// start. A batch begins when the one before it has ended; ticks missed meanwhile are made up for by one.
// Pure: what runs is told to it.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/time.h"

namespace mainstay::agent {

class CheckSchedule {
 public:
  // `intervals`: one per check, above zero. `concurrency`: checks that run at once, of all batches together.
  CheckSchedule(const std::vector<Duration>& intervals, std::size_t concurrency, TimePoint start);

  // The checks to start now, in order. Each runs until finished() is told of it, and is not started again
  // before.
  std::vector<std::size_t> plan(TimePoint now);
  void finished(std::size_t check);
  // When plan() has something to say though nothing has finished; kNever: not before.
  TimePoint nextPlan() const;

 private:
  struct Group {
    Duration interval{};
    std::vector<std::size_t> checks;
    TimePoint nextTick{};
    bool due = false;      // ticked, and not begun yet
    std::size_t open = 0;  // checks of its batch that have not finished
  };

  const std::size_t concurrency_;
  std::vector<Group> groups_;
  std::vector<std::size_t> groupOf_;  // by check
  std::deque<std::size_t> waiting_;   // for one of the others to finish, first come first served
  std::size_t running_ = 0;
  std::size_t openAtStart_;  // checks of the first batch that have not finished; no other begins before
};

}  // namespace mainstay::agent
