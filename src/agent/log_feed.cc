#include "agent/log_feed.h"

#include <algorithm>

#include "base/log.h"

namespace mainstay::agent {
namespace {

// Lines of other programs are in many logs, with every line of theirs.
constexpr Duration kUnparsedWarnings = std::chrono::minutes(10);

}  // namespace

LogFeed::LogFeed(SourceName name, MakeSource makeSource, std::vector<std::unique_ptr<RecordMonitor>> readers,
                 Metrics& metrics, std::optional<LogMark> told)
    : name_(std::move(name)),
      makeSource_(std::move(makeSource)),
      metrics_(metrics),
      readers_(std::move(readers)),
      health_(name_),
      status_{name_.source, "", std::nullopt, Duration{}, told},
      recalling_(told) {
  countRecords(0, 0);
}

void LogFeed::start(Signal& signal) {
  source_ = makeSource_(signal);
}

std::vector<ConditionSpec> LogFeed::conditions() const {
  std::vector<ConditionSpec> all;
  for (const auto& reader : readers_) {
    std::ranges::copy(reader->conditions(), std::back_inserter(all));
  }
  all.push_back(monitorDegraded());
  return all;
}

std::vector<ReasonSpec> LogFeed::reasons() const {
  std::vector<ReasonSpec> all;
  for (const auto& reader : readers_) {
    std::ranges::copy(reader->reasons(), std::back_inserter(all));
  }
  std::ranges::copy(health_.reasons(), std::back_inserter(all));
  return all;
}

std::vector<RuleNames> LogFeed::names() const {
  std::vector<RuleNames> all;
  for (const auto& reader : readers_) {
    std::ranges::copy(reader->names(), std::back_inserter(all));
  }
  return all;
}

TimePoint LogFeed::step(TimePoint now, NodeState& state) {
  std::size_t records = 0;
  std::uint64_t lost = 0;
  for (const SourceNews& news : source_->poll(now)) {
    take(news, now, state);
    records += std::holds_alternative<fault::Record>(news) ? 1 : 0;
    lost += std::holds_alternative<RecordsLost>(news) ? std::get<RecordsLost>(news).count : 0;
  }
  if (records > 0 || lost > 0) {
    countRecords(records, lost);
  }
  TimePoint wake = std::min(source_->nextPoll(), health_.step(now, state));
  if (recalling_) {
    return wake;  // what comes due is told when it is known that it was not
  }
  for (const auto& reader : readers_) {
    wake = std::min(wake, reader->step(now, state));
  }
  if (status_.told) {
    status_.told->until = now;
  }
  return wake;
}

void LogFeed::take(const SourceNews& news, TimePoint now, NodeState& state) {
  if (const auto* record = std::get_if<fault::Record>(&news)) {
    takeRecord(*record, now, state);
  } else if (const auto* lost = std::get_if<RecordsLost>(&news)) {
    logWarning("records lost", {{"source", name_.source}, {"count", lost->count}, {"what", lost->what}});
    health_.onLost(*lost, now, state);
  } else if (const auto* unparsed = std::get_if<LinesUnparsed>(&news)) {
    takeUnparsed(*unparsed, now);
  } else if (const auto* blind = std::get_if<SourceBlind>(&news)) {
    if (status_.trouble != blind->why) {
      logError("a source cannot be read, and is tried again",
               {{"source", name_.source}, {"error", blind->why}});
    }
    status_.trouble = blind->why;
    health_.onBlind(*blind, now, state);
  } else {
    logInfo("reading", {{"source", name_.source}});
    status_.trouble.clear();
    health_.onReading();
  }
}

void LogFeed::takeRecord(const fault::Record& record, TimePoint now, NodeState& state) {
  status_.lastNews = now;
  status_.lag = now - record.time;
  if (recalling_ && recalling_->covers(record)) {
    for (const auto& reader : readers_) {
      reader->recall(record);
    }
    if (record.seq == recalling_->seq) {
      endRecall();
    }
    return;
  }
  endRecall();
  for (const auto& reader : readers_) {
    reader->take(record, state);
  }
  if (name_.numbered) {
    const Duration newest = status_.told ? status_.told->stamp : Duration{};
    status_.told = LogMark{record.seq, std::max(newest, record.sinceBoot), now};
  }
}

void LogFeed::endRecall() {
  if (!recalling_) {
    return;
  }
  for (const auto& reader : readers_) {
    reader->recallUntil(recalling_->until);
  }
  recalling_.reset();
}

void LogFeed::takeUnparsed(const LinesUnparsed& lines, TimePoint now) {
  metrics_.count("mainstay_agent_lines_unparsed_total",
                 "Lines of a text log that are not in the form that the config gives, and were passed over.",
                 {{"source", name_.source}}, static_cast<double>(lines.count));
  unparsed_ += lines.count;
  if (now >= nextUnparsedWarning_) {
    logWarning("lines that are not in the form of the config were passed over",
               {{"source", name_.source}, {"count", unparsed_}, {"example", lines.example}});
    unparsed_ = 0;
    nextUnparsedWarning_ = now + kUnparsedWarnings;
  }
}

std::vector<SourceStatus> LogFeed::sources() const {
  return {status_};
}

void LogFeed::countRecords(std::size_t records, std::uint64_t lost) {
  const MetricLabels labels{{"source", name_.source}};
  metrics_.count("mainstay_agent_records_total", "Records read from a log.", labels,
                 static_cast<double>(records));
  metrics_.count("mainstay_agent_records_lost_total",
                 "Records of a log that were overwritten before they could be read, or were unreadable.",
                 labels, static_cast<double>(lost));
}

}  // namespace mainstay::agent
