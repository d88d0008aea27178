#include "agent/monitors/plugin/check_schedule.h"

#include <algorithm>
#include <iterator>

namespace mainstay::agent {

CheckSchedule::CheckSchedule(const std::vector<Duration>& intervals, std::size_t concurrency, TimePoint start)
    : concurrency_(concurrency), openAtStart_(intervals.size()) {
  for (std::size_t check = 0; check < intervals.size(); ++check) {
    auto group = std::ranges::find(groups_, intervals[check], &Group::interval);
    if (group == groups_.end()) {
      group = groups_.insert(groups_.end(), Group());
      group->interval = intervals[check];
      group->nextTick = start + intervals[check];
    }
    group->checks.push_back(check);
    groupOf_.push_back(static_cast<std::size_t>(group - groups_.begin()));
    waiting_.push_back(check);
  }
}

std::vector<std::size_t> CheckSchedule::plan(TimePoint now) {
  for (Group& group : groups_) {
    if (now >= group.nextTick) {
      group.due = true;
      group.nextTick += group.interval * ((now - group.nextTick) / group.interval + 1);
    }
    if (group.due && group.open == 0 && openAtStart_ == 0) {
      group.due = false;
      group.open = group.checks.size();
      std::ranges::copy(group.checks, std::back_inserter(waiting_));
    }
  }
  std::vector<std::size_t> starting;
  while (running_ < concurrency_ && !waiting_.empty()) {
    starting.push_back(waiting_.front());
    waiting_.pop_front();
    ++running_;
  }
  return starting;
}

void CheckSchedule::finished(std::size_t check) {
  --running_;
  std::size_t& open = openAtStart_ > 0 ? openAtStart_ : groups_[groupOf_[check]].open;
  --open;
}

TimePoint CheckSchedule::nextPlan() const {
  TimePoint next = kNever;
  for (const Group& group : groups_) {
    next = group.due ? next : std::min(next, group.nextTick);
  }
  return next;
}

}  // namespace mainstay::agent
