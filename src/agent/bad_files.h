// Config files that cannot be used. Each is told as a finding of MonitorDegraded while all that the other files ask for
// runs: one mistake must not blind the node.
#pragma once

#include <string>
#include <vector>

#include "agent/monitor.h"

namespace mainstay::agent {

inline constexpr char kBadRuleFile[] = "BadRuleFile";

struct BadFile {
  std::string path;     // as the command line names it
  std::string why;      // every mistake with its place, a line each
  std::string instead;  // "none of its rules runs"
};

class BadFilesMonitor final : public Monitor {
 public:
  explicit BadFilesMonitor(std::vector<BadFile> files) : files_(std::move(files)) {}

  std::vector<ConditionSpec> conditions() const override;
  // One for each file: a file that has been mended has none, and so its finding of an earlier run is over.
  std::vector<ReasonSpec> reasons() const override;
  void start(Signal&) override {}
  // Files are read at the start of the agent only: all is told in the first step.
  TimePoint step(TimePoint now, NodeState& state) override;
  std::vector<SourceStatus> sources() const override;

 private:
  std::string deviceOf(const BadFile& file) const;

  const std::vector<BadFile> files_;
  bool told_ = false;
};

}  // namespace mainstay::agent
