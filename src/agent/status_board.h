// StatusBoard: what the agent shows over HTTP, on the ports and paths of node-problem-detector. Written by
// the agent's loop, read by the servers' threads.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "agent/monitor.h"
#include "api/core.h"
#include "base/http_server.h"
#include "base/metrics.h"

namespace mainstay::agent {

// Thread-safe.
class StatusBoard {
 public:
  void show(const std::vector<api::Condition>& conditions);
  // After a step of the loop: what its monitors' sources are worth.
  void stepped(TimePoint now, std::vector<SourceStatus> sources);

  // What a GET of `target` answers.
  // /healthz: 200 "ok" while the loop is alive, 503 and why when it has not stepped for kStuckAfter; with
  // ?verbose a line for each source, too.
  // /readyz: 503 also before the first step and while a source that is needed does not see; always with these lines.
  // /conditions: a JSON array of {type, status, transition, reason, message}; null before the first.
  HttpResponse answer(const std::string& target, TimePoint now) const;

  // The loop wakes at least every five minutes (heartbeat), and a step ends within its calls' deadlines.
  static constexpr Duration kStuckAfter = std::chrono::minutes(10);

 private:
  HttpResponse health(bool verbose, TimePoint now) const;
  HttpResponse readiness(TimePoint now) const;
  bool stuck(TimePoint now) const;

  mutable std::mutex mutex_;
  std::string conditions_ = "null";    // guarded by mutex_
  TimePoint steppedAt_{};              // guarded by mutex_
  std::vector<SourceStatus> sources_;  // guarded by mutex_
};

// The two servers' handlers; `clock`, `board` and `metrics` outlive them. The metrics server tells the
// health, too: the status server is a part of the Kubernetes exporter, and may be off.
HttpServer::Handler statusHandler(const StatusBoard& board, const Clock& clock);
HttpServer::Handler metricsHandler(const Metrics& metrics, const StatusBoard& board, const Clock& clock);

}  // namespace mainstay::agent
