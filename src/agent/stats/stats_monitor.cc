#include "agent/stats/stats_monitor.h"

#include <algorithm>

#include "agent/source_health.h"
#include "agent/stats/collectors.h"
#include "base/log.h"
#include "base/text.h"

namespace mainstay::agent::stats {
namespace {

constexpr char kUnreadable[] = "SystemStatsUnreadable";
constexpr std::string_view kStatvfs = "statvfs";

}  // namespace

Result<std::unique_ptr<StatsMonitor>> StatsMonitor::create(const StatsConfig& config, Counters counters,
                                                           const FileSystem& files, Metrics& metrics,
                                                           UsageWatch usage) {
  const double usageTicks = counters == Counters::kTrue ? kTicksPerSecond : 1;
  MAINSTAY_ASSIGN(NodeFiles nodeFiles, NodeFiles::create(config, files, usageTicks));
  return std::unique_ptr<StatsMonitor>(
      new StatsMonitor(config, counters, std::move(nodeFiles), metrics, std::move(usage)));
}

StatsMonitor::StatsMonitor(const StatsConfig& config, Counters counters, NodeFiles files, Metrics& metrics,
                           UsageWatch usage)
    : file_(config.file),
      interval_(config.interval),
      files_(std::move(files)),
      board_(config, counters == Counters::kAsNodeProblemDetector, metrics),
      usage_(std::move(usage)) {
  for (const NodeFiles::Part& part : NodeFiles::parts()) {
    if (board_.wants(part.source)) {
      eyes_[part.source];
    }
  }
  if (board_.wants(kStatvfs)) {
    eyes_[kStatvfs];
  }
}

std::vector<ConditionSpec> StatsMonitor::conditions() const {
  return {monitorDegraded()};
}

std::vector<ReasonSpec> StatsMonitor::reasons() const {
  return {{kMonitorDegraded, kUnreadable, fault::ClearOn::kEvidence, true}};
}

void StatsMonitor::start(Signal& signal) {
  usage_.start(signal);
}

TimePoint StatsMonitor::step(TimePoint now, NodeState& state) {
  if (now >= nextRound_) {
    nextRound_ = now + interval_;
    readFiles(now, state);
    askMounts();
  }
  const TimePoint usageDue = usage_.step(now);
  if (usage_.revision() != shownUsage_) {
    shownUsage_ = usage_.revision();
    showUsage(now, state);
  }
  return std::min(nextRound_, usageDue);
}

void StatsMonitor::readFiles(TimePoint now, NodeState& state) {
  for (const NodeFiles::Part& part : NodeFiles::parts()) {
    const auto eye = eyes_.find(part.source);
    if (eye == eyes_.end()) {
      continue;
    }
    const auto samples = (files_.*part.read)(now);
    board_.show(part.source, samples ? *samples : Samples());
    Troubles troubles;
    if (samples) {
      eye->second.lastNews = now;
    } else {
      troubles[std::string(part.source)] = samples.error().toString();
    }
    tell(eye->second, std::move(troubles), now, state);
  }
}

void StatsMonitor::askMounts() {
  if (!eyes_.contains(kStatvfs)) {
    return;
  }
  mounts_ = files_.mounts();
  std::vector<std::string> mountPoints;
  if (mounts_) {
    std::ranges::transform(*mounts_, std::back_inserter(mountPoints), &Mount::mountPoint);
  }
  usage_.ask(std::move(mountPoints));
}

void StatsMonitor::showUsage(TimePoint now, NodeState& state) {
  Eye& eye = eyes_.at(kStatvfs);
  Samples samples;
  Troubles troubles;
  if (!mounts_) {
    troubles[std::string(kStatvfs)] = mounts_.error().toString();
  }
  for (const Mount& mount : mounts_.value_or(std::vector<Mount>())) {
    const auto answer = usage_.answers().find(mount.mountPoint);
    if (answer != usage_.answers().end() && !answer->second) {
      troubles[sanitizeUtf8(mount.mountPoint)] = sanitizeUtf8(answer->second.error().toString());
    } else if (answer != usage_.answers().end()) {
      std::ranges::copy(usageSamples(mount, *answer->second), std::back_inserter(samples));
      eye.lastNews = now;
    }
  }
  board_.show(kStatvfs, samples);
  tell(eye, std::move(troubles), now, state);
}

void StatsMonitor::tell(Eye& eye, Troubles troubles, TimePoint now, NodeState& state) {
  for (const auto& [what, why] : troubles) {
    if (!eye.troubles.contains(what)) {
      logError("statistics cannot be read, and are tried again",
               {{"config", file_}, {"source", what}, {"error", why}});
      state.report(degraded(
          kUnreadable, deviceOf(what),
          why + ". Its metrics are not shown; it is tried again every " + formatDuration(interval_), now));
    }
  }
  for (const auto& [what, why] : eye.troubles) {
    if (!troubles.contains(what)) {
      logInfo("statistics are read again", {{"config", file_}, {"source", what}});
      mended(kUnreadable, deviceOf(what), now, state);
    }
  }
  eye.troubles = std::move(troubles);
}

std::vector<SourceStatus> StatsMonitor::sources() const {
  std::vector<SourceStatus> all;
  for (const auto& [source, eye] : eyes_) {
    const std::string trouble = eye.troubles.empty() ? "" : eye.troubles.begin()->second;
    all.push_back({deviceOf(std::string(source)), trouble, eye.lastNews, Duration{}});
  }
  return all;
}

}  // namespace mainstay::agent::stats
