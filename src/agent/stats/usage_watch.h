// UsageWatch: how full filesystems are, without ever waiting for one: statvfs does not return while the disk
// or server behind a mount hangs. Each is asked in a thread of its own, one after the other; one that hangs
// is left to itself, and not asked again before it has answered, so that there are never more threads than
// hanging mounts, and one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/stats/disk.h"
#include "base/signal.h"

namespace mainstay::agent::stats {

// The figures of one mount point; may never return.
using ReadUsage = std::function<Result<Usage>(const std::string& mountPoint)>;
Result<Usage> readUsage(const std::string& mountPoint);  // statvfs

// Runs `work` in a thread that nobody waits for.
using Launch = std::function<void(std::function<void()> work)>;
void launchThread(std::function<void()> work);

// Owned and used by one loop.
class UsageWatch {
 public:
  // `deadline`: for how long one may be silent before it counts as hanging.
  explicit UsageWatch(Duration deadline, ReadUsage read = readUsage, Launch launch = launchThread);
  UsageWatch(UsageWatch&&) noexcept = default;
  ~UsageWatch();

  // Raised when there is an answer; outlives the watch.
  void start(Signal& signal);
  // Begins a round. What is known of other mount points is forgotten.
  void ask(std::vector<std::string> mountPoints);
  // Takes up answers and asks the next; never waits. Returns when to call again, unless the signal is raised
  // before.
  TimePoint step(TimePoint now);

  // By mount point. An error when the call failed or hangs; nothing before the first answer.
  const std::map<std::string, Result<Usage>>& answers() const { return answers_; }
  // Rises when answers() may have changed.
  std::uint64_t revision() const { return revision_; }

 private:
  struct Mailbox;
  void takeAnswers();
  bool waitsForAnswer(TimePoint now);
  void askNext(TimePoint now);
  void setAnswer(const std::string& mountPoint, Result<Usage> answer);
  Error hangs(const std::string& mountPoint) const;

  const Duration deadline_;
  const ReadUsage read_;
  const Launch launch_;
  std::shared_ptr<Mailbox> mailbox_;  // shared with the threads, which may outlive us
  std::deque<std::string> waiting_;
  std::map<std::string, TimePoint> asked_;  // calls that have not come back, since when
  std::optional<std::string> current_;      // the one that we wait for
  std::map<std::string, Result<Usage>> answers_;
  std::uint64_t revision_ = 0;
};

}  // namespace mainstay::agent::stats
