// The feeds of log monitors: which logs the configs of node-problem-detector read, and who shares one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/assembly.h"
#include "agent/log_feed.h"
#include "fault/rule.h"

namespace mainstay::agent {

struct SharedLog;  // a log and all who read it

// One feed per log: the kernel log; the journal of one program; a text file, where configs that take its lines apart in
// the same way share it.
class LogFeeds {
 public:
  LogFeeds(std::string kmsgPath, const Surroundings& surroundings);
  ~LogFeeds();

  // One more reader of its log. When its plugin is not known, the error says so with the place, and nothing is added.
  // REQUIRES: `config` comes from parseLogMonitorConfig.
  Result<> add(fault::LogMonitorConfig config);
  void addKernelLogReader(std::unique_ptr<RecordMonitor> reader);
  // Called once, at the end.
  std::vector<std::unique_ptr<Monitor>> build();

 private:
  const std::string kmsgPath_;
  const Surroundings surroundings_;
  std::vector<SharedLog> logs_;
};

}  // namespace mainstay::agent
