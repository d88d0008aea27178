// ProbeThread: a thread on which one probe looks, because it may hang. It is asked, answers, and raises its
// owner's signal; it can be left behind.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/probes/probe.h"
#include "base/signal.h"

namespace mainstay::agent::probes {

struct Answer {
  Look look;
  std::string plannedWork;  // "" = none
};

// Used by one thread, the loop's.
class ProbeThread {
 public:
  using Ask = std::function<Answer(TimePoint now)>;

  // `signal` outlives it.
  ProbeThread(const std::string& name, Ask ask, Signal& signal);
  // A look that does not end within kPatience is left to its thread, which then owns what it uses.
  ~ProbeThread();
  ProbeThread(const ProbeThread&) = delete;
  ProbeThread& operator=(const ProbeThread&) = delete;

  // REQUIRES: every look that was asked for was answered.
  void ask(TimePoint now);
  // Once per look, when it is done; never waits.
  std::optional<Answer> answer();

  static constexpr Duration kPatience = std::chrono::seconds(1);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace mainstay::agent::probes
