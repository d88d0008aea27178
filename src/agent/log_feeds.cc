#include "agent/log_feeds.h"

#include <algorithm>
#include <functional>

#include "agent/log_monitor.h"
#include "agent/sources/file_reader.h"
#include "agent/sources/journal_reader.h"
#include "agent/sources/kmsg_reader.h"
#include "agent/sources/source_thread.h"

namespace mainstay::agent {

struct SharedLog {
  std::string key;  // the same for configs that share it
  SourceName name;
  std::string thread;
  std::function<std::unique_ptr<WaitableSource>(TimePoint since)> makeReader;
  TimePoint since = kNever;       // the oldest record that one of them wants
  std::optional<LogMark> told{};  // by an earlier run
  std::vector<std::unique_ptr<RecordMonitor>> readers;
};

namespace {

// Where the kernel log is, and how far an earlier run has told it.
struct KernelLogPlace {
  std::string path;
  std::optional<LogMark> told;
};

SharedLog kernelLog(const fault::LogMonitorConfig&, const KernelLogPlace& place) {
  SharedLog log;
  log.key = "kmsg";
  log.name = kernelLogName();
  log.thread = "kmsg";
  log.told = place.told;
  log.makeReader = [place](TimePoint) {
    return std::make_unique<KmsgReader>([path = place.path] { return openKernelLog(path); }, monotonicTime,
                                        place.told);
  };
  return log;
}

SharedLog programJournal(const fault::LogMonitorConfig& config, const KernelLogPlace&) {
  const JournalSelection selection{.folder = config.logPath,
                                   .identifier = config.pluginConfig.at(fault::kJournalSource)};
  SharedLog log;
  log.key = "journald\n" + selection.identifier + "\n" + selection.folder;
  log.name = {"journald:" + selection.identifier, "journal of " + selection.identifier, "Journal"};
  log.thread = "journal";
  log.makeReader = [selection](TimePoint since) {
    return std::make_unique<JournalReader>(
        [selection](TimePoint from, const std::string& cursor) {
          return openJournal(selection, from, cursor);
        },
        since);
  };
  return log;
}

SharedLog textFile(const fault::LogMonitorConfig& config, const KernelLogPlace&) {
  SharedLog log;
  log.key = "filelog\n" + config.logPath;
  for (const auto& [key, value] : config.pluginConfig) {
    log.key += "\n" + key + "=" + value;
  }
  for (const std::string& text : config.skipList) {
    log.key += "\n" + text;
  }
  log.name = {config.logPath, "log file " + config.logPath, "File"};
  log.thread = "logfile";
  log.makeReader = [path = config.logPath, keys = config.pluginConfig,
                    skipList = config.skipList](TimePoint) {
    return std::make_unique<FileReader>(path, *fault::LineFormat::create(keys, skipList));
  };
  return log;
}

struct LogPlugin {
  std::string_view name;
  SharedLog (*describe)(const fault::LogMonitorConfig& config, const KernelLogPlace& place);
};
constexpr LogPlugin kPlugins[] = {{"kmsg", kernelLog}, {"journald", programJournal}, {"filelog", textFile}};

tl::unexpected<Error> unknownPlugin(const fault::LogMonitorConfig& config) {
  DecodeErrors errors(config.file, [&](const std::string&) { return config.pluginPlace; });
  errors.add("plugin", "expected \"kmsg\", \"journald\" or \"filelog\", found \"" + config.plugin + "\"");
  return fail(errors.result().error());
}

Result<SharedLog> describe(const fault::LogMonitorConfig& config, const KernelLogPlace& place) {
  const auto plugin = std::ranges::find(kPlugins, config.plugin, &LogPlugin::name);
  if (plugin == std::end(kPlugins)) {
    return unknownPlugin(config);
  }
  return plugin->describe(config, place);
}

// The log among those that are known, or as a new one. Logs are told apart by their names, too.
SharedLog& shared(SharedLog log, const std::string& file, std::vector<SharedLog>& logs) {
  if (const auto known = std::ranges::find(logs, log.key, &SharedLog::key); known != logs.end()) {
    return *known;
  }
  const bool taken =
      std::ranges::any_of(logs, [&](const SharedLog& other) { return other.name.source == log.name.source; });
  if (taken) {
    log.name.source += " (" + file + ")";
  }
  return logs.emplace_back(std::move(log));
}

std::unique_ptr<Monitor> feedOf(SharedLog log, const Surroundings& surroundings) {
  auto make = [thread = std::move(log.thread), makeReader = std::move(log.makeReader), since = log.since,
               &clock = surroundings.clock](Signal& signal) -> std::unique_ptr<Source> {
    return std::make_unique<SourceThread>(thread, makeReader(since), clock, signal);
  };
  return std::make_unique<LogFeed>(std::move(log.name), std::move(make), std::move(log.readers),
                                   surroundings.metrics, log.told);
}

}  // namespace

LogFeeds::LogFeeds(std::string kmsgPath, const Surroundings& surroundings)
    : kmsgPath_(std::move(kmsgPath)), surroundings_(surroundings) {}

LogFeeds::~LogFeeds() = default;

Result<> LogFeeds::add(fault::LogMonitorConfig config) {
  const TimePoint now = surroundings_.clock.now();
  MAINSTAY_ASSIGN(SharedLog described, describe(config, {kmsgPath_, surroundings_.kernelLogTold}));
  const Duration lookback = described.told ? surroundings_.kernelLookback(config.lookback) : config.lookback;
  const TimePoint start = startTime(now, surroundings_.uptime, lookback, config.delay);
  const std::string file = config.file;
  MAINSTAY_ASSIGN(LogMonitor monitor, LogMonitor::create(std::move(config), start));
  SharedLog& log = shared(std::move(described), file, logs_);
  log.readers.push_back(std::make_unique<LogMonitor>(std::move(monitor)));
  log.since = std::min({log.since, start, now});
  return {};
}

void LogFeeds::addKernelLogReader(std::unique_ptr<RecordMonitor> reader) {
  SharedLog log = kernelLog({}, {kmsgPath_, surroundings_.kernelLogTold});
  shared(std::move(log), kmsgPath_, logs_).readers.push_back(std::move(reader));
}

std::vector<std::unique_ptr<Monitor>> LogFeeds::build() {
  std::vector<std::unique_ptr<Monitor>> feeds;
  for (SharedLog& log : logs_) {
    feeds.push_back(feedOf(std::move(log), surroundings_));
  }
  return feeds;
}

}  // namespace mainstay::agent
