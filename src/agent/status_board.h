// StatusBoard: what the agent shows over HTTP, on the ports and paths of node-problem-detector. Written by
// the agent's loop, read by the servers' threads.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "api/core.h"
#include "base/http_server.h"
#include "base/metrics.h"

namespace mainstay::agent {

// Thread-safe.
class StatusBoard {
 public:
  void show(const std::vector<api::Condition>& conditions);
  void stepped(TimePoint now);

  // GET /healthz: 200 "ok" while the loop is alive, 503 and why when it has not stepped for kStuckAfter.
  // GET /conditions: a JSON array of {type, status, transition, reason, message}; null before the first.
  HttpResponse answer(const std::string& path, TimePoint now) const;

  // The loop wakes at least every five minutes (heartbeat), and a step ends within its calls' deadlines.
  static constexpr Duration kStuckAfter = std::chrono::minutes(10);

 private:
  mutable std::mutex mutex_;
  std::string conditions_ = "null";  // guarded by mutex_
  TimePoint steppedAt_{};            // guarded by mutex_
};

// The two servers' handlers; `clock`, `board` and `metrics` outlive them.
HttpServer::Handler statusHandler(const StatusBoard& board, const Clock& clock);
HttpServer::Handler metricsHandler(const Metrics& metrics);

}  // namespace mainstay::agent
