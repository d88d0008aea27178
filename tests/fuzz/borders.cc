#include "borders.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "agent/monitors/plugin/check_run.h"
#include "agent/monitors/plugin/check_schedule.h"
#include "agent/probes/ata_smart.h"
#include "agent/probes/nvml_survey.h"
#include "agent/probes/storage.h"
#include "agent/sources/journal_reader.h"
#include "agent/sources/line_splitter.h"
#include "agent/state_file.h"
#include "agent/stats/collectors.h"
#include "agent/stats/config.h"
#include "agent/stats/disk.h"
#include "agent/tools/log_patterns.h"
#include "cloud/aws/call_error.h"
#include "cloud/aws/shared_files.h"
#include "cloud/aws/xml.h"
#include "fault/clear_request.h"
#include "fault/engine.h"
#include "fault/finding.h"
#include "fault/json_places.h"
#include "fault/line_format.h"
#include "fault/matcher.h"
#include "fault/pack_check.h"
#include "fault/record.h"
#include "fault/rule.h"
#include "fault/shipped_packs.h"
#include "fault/text.h"
#include "sidecar/problems.h"

namespace mainstay::fuzz {
namespace {

void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
  }
}

fault::Matcher matcherOf(const std::vector<std::string>& texts, std::size_t bufferSize) {
  std::vector<fault::Pattern> patterns;
  for (const std::string& text : texts) {
    patterns.push_back(*fault::Pattern::compile(text));
  }
  return {std::move(patterns), bufferSize};
}

}  // namespace

void kmsgRecord(std::string_view input) {
  const auto record = fault::parseKernelRecord(input);
  if (!record) {
    require(fault::sanitizeUtf8(record.error().message()) == record.error().message(),
            "errors are valid UTF-8");
    return;
  }
  require(fault::sanitizeUtf8(record->text) == record->text, "text is valid UTF-8");
  require(fault::trim(record->text) == record->text, "text is trimmed");
  require(fault::cutUtf8(record->text, 7).size() <= 7, "a cut is not longer than its limit");
  fault::Matcher matcher = matcherOf({".* NEURON_HW_ERR=DMA_ERROR .*", "(?s)a.*b", "a|b", "[^x]+"}, 3);
  for (int i = 0; i < 3; ++i) {
    for (const fault::Matcher::Match& match : matcher.push(*record)) {
      require(match.lines >= 1 && match.lines <= matcher.window().size(),
              "a match covers lines of the window");
    }
  }
}

void ruleFile(std::string_view input) {
  const auto config = fault::parseLogMonitorConfig(input, "fuzz.json");
  if (!config) {
    return;
  }
  require(config->bufferSize >= 1 && config->bufferSize <= fault::kMaxBufferSize, "the window is bounded");
  std::vector<std::string> patterns;
  for (const fault::Rule& rule : config->rules) {
    patterns.push_back(rule.pattern);
    require(rule.device.empty() || fault::Extractor::compile(rule.device), "an accepted device compiles");
  }
  fault::Record record;
  record.text = "x NEURON_HW_ERR=DMA_ERROR nd-id=3 y";
  matcherOf(patterns, config->bufferSize).push(record);
}

namespace {

std::string_view takeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

agent::Lines linesOf(std::string_view head, std::string_view rest) {
  agent::LineSplitter splitter;
  agent::Lines lines;
  splitter.take(head, lines);
  splitter.take(rest, lines);
  splitter.finish(lines);
  return lines;
}

}  // namespace

// The first three lines are the config's keys, the rest is the log.
void logLines(std::string_view input) {
  const std::string timestamp(takeLine(input)), message(takeLine(input)), layout(takeLine(input));
  const agent::Lines lines = linesOf(input, "");
  const agent::Lines inTwo = linesOf(input.substr(0, input.size() / 3), input.substr(input.size() / 3));
  require(inTwo.lines == lines.lines && inTwo.tooLong == lines.tooLong,
          "lines do not depend on how their bytes come");
  const TimePoint now = *parseTime("2026-11-29T20:14:07Z");
  const auto format = fault::LineFormat::create({{fault::LineFormat::kTimestamp, timestamp},
                                                 {fault::LineFormat::kMessage, message},
                                                 {fault::LineFormat::kTimeLayout, layout}},
                                                {"audit:"});
  const auto syslog = *fault::LineFormat::create(
      {{fault::LineFormat::kTimestamp, "^.{15}"}, {fault::LineFormat::kTimeLayout, "Jan _2 15:04:05"}}, {});
  for (const std::string& line : lines.lines) {
    require(line.size() <= agent::LineSplitter::kMaxLine, "a line is bounded");
    if (const auto record = syslog.read(line, now)) {
      require(record->time <= now + std::chrono::days(1), "a time without a year is not ahead");
    }
    if (const auto record = format ? format->read(line, now) : fail(Code::kInvalidArgument, "")) {
      require(fault::sanitizeUtf8(record->text) == record->text, "text is valid UTF-8");
    }
  }
  agent::JournalEntry entry;
  entry.message = input;
  const std::string text = agent::recordOf(entry).text;
  require(fault::sanitizeUtf8(fault::trim(text)) == text, "a journal's text is trimmed valid UTF-8");
}

void json(std::string_view input) {
  const auto value = parseJson(input);
  if (!value) {
    return;
  }
  // Not equality: Boost.JSON reads some doubles one bit off.
  const auto again = parseJson(toText(*value));
  require(again && again->kind() == value->kind(), "a document survives its text");
  require(parseJson(toPrettyText(*value)).has_value(), "and its pretty text");
  require(fault::JsonPlaces(input).find("").line >= 1, "its value has a place");
  Json merged = *value;
  mergePatch(merged, *value);
}

void findings(std::string_view input) {
  const auto decoded = fault::decodeFindings(input);
  if (!decoded) {
    return;
  }
  const std::string text = fault::encodeFindings(*decoded);
  require(text.size() <= fault::kMaxFindingsBytes, "the annotation is bounded");
  const auto again = fault::decodeFindings(text);
  require(again && again->size() <= fault::kMaxFindings, "what we write we can read");
}

void agentState(std::string_view input) {
  if (const auto request = fault::decodeClearRequest(input)) {
    require(fault::decodeClearRequest(fault::encodeClearRequest(*request)) == *request, "a request survives");
  }
  const agent::StateOwner nobody{};
  if (const auto state = agent::decodeState(std::string(input), nobody)) {
    const std::string text = agent::encodeState(*state, nobody);
    const auto again = agent::decodeState(text, nobody);
    require(again && agent::encodeState(*again, nobody) == text, "what we write we can read");
  }
}

void awsAnswer(std::string_view input) {
  namespace aws = cloud::aws;
  const aws::CallError error =
      aws::readCallError(aws::kEc2, "X", {.status = 400, .body = std::string(input)});
  const std::string text = error.toString();
  require(fault::sanitizeUtf8(text) == text, "errors are valid UTF-8");
  require(text.find('\n') == text.npos, "and one line");
  if (const auto root = aws::parseXml(input)) {
    require(root->children.empty() || root->text.empty(), "an element has children or text");
  }
}

void awsProfiles(std::string_view input) {
  for (const auto kind : {cloud::aws::SharedFile::kConfig, cloud::aws::SharedFile::kCredentials}) {
    for (const auto& [name, profile] : cloud::aws::parseSharedFile(input, kind)) {
      for (const auto& [key, value] : profile) {
        require(value.find('\n') == value.npos, "a value is within its line");
      }
    }
  }
}

void metricsText(std::string_view input) {
  const std::set<std::string> reasons = {"NeuronHasError_DMA_ERROR", "a\"b\\\n"};
  const sidecar::Problems problems = sidecar::readProblems(input, reasons);
  for (const auto& [reason, seen] : problems.seen) {
    require(reasons.contains(reason), "only what was asked for is kept");
  }
  const auto lines = static_cast<std::size_t>(std::ranges::count(input, '\n')) + 1;
  require(problems.wrongLines <= lines, "a line is wrong once");
  const std::string more = std::string(input) + "\nproblem_counter{reason=\"NeuronHasError_DMA_ERROR\"} 1";
  require(sidecar::readProblems(more, reasons).seen["NeuronHasError_DMA_ERROR"],
          "nothing before a good line hides it");
}

void pluginConfig(std::string_view input) {
  const FakeFileSystem files(std::map<std::string, std::string>{{"/check", ""}});
  const auto config = agent::parsePluginConfig(input, "fuzz.json", files);
  if (!config) {
    return;
  }
  require(config->concurrency >= 1 && config->concurrency <= agent::kMaxConcurrency,
          "so many checks run at once");
  std::vector<Duration> intervals;
  for (const agent::PluginRule& rule : config->rules) {
    require(rule.timeout > Duration(0), "a check has time to run");
    require(rule.path == "/check", "a check exists");
    intervals.push_back(rule.interval);
  }
  const TimePoint now(std::chrono::years(50));
  agent::CheckSchedule schedule(intervals, config->concurrency, now);
  require(schedule.plan(now).size() == std::min(intervals.size(), config->concurrency),
          "all run at the start, as many at once as may");
  require(schedule.nextPlan() > now, "the next time is later");
}

void pluginOutput(std::string_view input) {
  for (const bool timedOut : {false, true}) {
    for (const std::size_t limit : {0u, 7u, 80u, 100000u}) {
      agent::PluginRule rule;
      rule.path = "/check";
      const std::string message =
          agent::interpret(rule, {ExitStatus{}, timedOut, std::string(input)}, limit).message;
      require(message.size() <= limit, "a message is bounded");
      require(fault::sanitizeUtf8(message) == message, "a message is valid UTF-8");
    }
  }
  const auto patterns = agent::parseLogPatterns({"1:x.*y"});
  agent::LineCounter whole(*patterns);
  agent::LineCounter pieces(*patterns);
  whole.take(input);
  for (const char& byte : input) {
    pieces.take({&byte, 1});
  }
  whole.finish();
  pieces.finish();
  require(whole.complaint() == pieces.complaint(), "lines are the same however they come");
}

namespace {

void requireShowable(const Result<agent::stats::Samples>& samples) {
  for (const agent::stats::Sample& sample : samples.value_or(agent::stats::Samples())) {
    require(std::isfinite(sample.value), "a value is a number");
    for (const auto& [label, value] : sample.labels) {
      require(fault::sanitizeUtf8(value) == value, "labels are valid UTF-8");
    }
  }
}

}  // namespace

void statsText(std::string_view input) {
  namespace stats = agent::stats;
  const std::string text = fault::sanitizeUtf8(input);
  requireShowable(stats::loadSamples(text));
  requireShowable(stats::cpuSamples(text));
  requireShowable(stats::memorySamples(text));
  requireShowable(stats::netSamples(text, nullptr));
  requireShowable(stats::hostSamples(text, "6.1", stats::osVersion(text)));
  requireShowable(stats::osFeatureSamples(text, text, {}));
  const stats::DiskTable disks = stats::parseDiskStats(text).value_or(stats::DiskTable());
  requireShowable(stats::diskSamples(disks, std::nullopt, disks, std::chrono::seconds(1)));
  for (const stats::Mount& mount : stats::parseMounts(input, "\text4\n", disks)) {
    requireShowable(stats::usageSamples(mount, {}));
  }
  if (const auto config = stats::parseStatsConfig(input, "fuzz.json")) {
    require(config->interval > Duration{} && config->usageTimeout <= config->interval, "times are in order");
  }
}

void nvmlAnswer(std::string_view input) {
  const auto survey = agent::probes::parseNvmlSurvey(input);
  if (!survey) {
    return;
  }
  require(survey->gpus.size() <= 64, "the number of GPUs is bounded");
  for (const agent::probes::NvmlGpu& gpu : survey->gpus) {
    require(gpu.links.size() <= 64 && gpu.failures.size() <= 16, "and so is what they have");
    for (const std::string& text : {gpu.address, gpu.name, gpu.uuid, gpu.serial}) {
      require(text.size() <= 128 && fault::sanitizeUtf8(text) == text, "names are short and valid UTF-8");
    }
  }
}

// The sense of one command and the sector of another, both from the same bytes.
void ataAnswer(std::string_view input) {
  using namespace agent::probes;
  require(!(refusesSmart(input) && hasDone(input)), "what is refused is not done");
  require(saysItFails(input.substr(0, 8)) == std::nullopt, "a head without registers says nothing");
  std::string sector(input.substr(0, kSmartSector));
  sector.resize(kSmartSector);
  for (const auto& [attribute, count] : badSectors(sector)) {
    require(count <= 0xffffffff, "a count is one of sectors");
  }
}

namespace {

bool anybodyMayTell(const fault::Engine& engine, const std::string& id) {
  return std::ranges::any_of(engine.packs(), [&](const fault::Pack& pack) {
    const auto rule = std::ranges::find(pack.rules, id, &fault::PackRule::id);
    return rule != pack.rules.end() && rule->trust == fault::Trust::kAny;
  });
}

void requireSound(const fault::Outcome& outcome) {
  const fault::Sighting& sighting = outcome.sighting;
  require(sighting.effect != nullptr, "what was seen means something");
  require(sighting.first <= sighting.last, "the first comes first");
  for (const std::string& text : {sighting.id, sighting.device, sighting.name, sighting.lastLine}) {
    require(fault::sanitizeUtf8(text) == text, "words are valid UTF-8");
  }
  for (const auto& [capture, values] : sighting.collected) {
    require(values.size() <= fault::Sighting::kMaxCollected, "what is collected is bounded");
  }
  require(!outcome.event || !sighting.effect->event.empty(), "an Event has a reason");
}

// Each line of the input as a record of the kernel's, or of a program that writes to its log.
void playLog(fault::Engine& engine, std::string_view input, int priority) {
  engine.forget();
  TimePoint now = *parseTime("2026-11-29T20:14:07Z");
  while (!input.empty()) {
    auto record =
        fault::parseKernelRecord(std::to_string(priority) + ",1,1,-;" + std::string(takeLine(input)));
    require(record.has_value(), "a line is the text of a record");
    record->time = now += std::chrono::seconds(1);
    for (const fault::Outcome& outcome : engine.take(*record)) {
      requireSound(outcome);
      require(priority < fault::kUserPriority || outcome.kind == fault::Outcome::Kind::kUntrusted ||
                  anybodyMayTell(engine, outcome.sighting.rule),
              "a program cannot speak for the kernel");
    }
  }
  for (TimePoint due = engine.nextWake(); due != kNever; due = engine.nextWake()) {
    engine.step(due);
    require(engine.nextWake() > due, "what was due is done");
  }
}

}  // namespace

void rulePack(std::string_view input) {
  static const std::vector<fault::Pack> base = {
      *fault::parsePack(fault::shippedPackTexts().at("rules/gaudi.yaml"), "rules/gaudi.yaml")};
  auto pack = fault::parsePack(input, "fuzz.yaml", base);
  if (!pack) {
    require(pack.error().toString().starts_with("fuzz.yaml:"), "a mistake has a place");
    return;
  }
  fault::lintPacks({*pack});
  fault::testPacks({*pack});
  std::string lines;
  for (const fault::PackRule& rule : pack->rules) {
    require(rule.id.starts_with(pack->name + "/") && !rule.patterns.empty(),
            "a rule has a name and a pattern");
    for (const fault::Example& example : rule.examples) {
      lines += example.line + "\n";
    }
  }
  fault::Engine engine({*std::move(pack)});
  playLog(engine, lines + "a x\nb x\nc\nx\nXid (0000:5e:00): 79\n", 3);
}

void packedLine(std::string_view input) {
  static fault::Engine engine(*fault::shippedPacks());
  playLog(engine, input, 3);
  playLog(engine, input, fault::kUserPriority + 3);
}

void mountLine(std::string_view input) {
  if (const auto mount = agent::probes::parseMount(input)) {
    require(fault::sanitizeUtf8(mount->point) == mount->point, "a mount point is valid UTF-8");
    require(mount->options.find(' ') == std::string::npos, "options are one word");
  }
}

}  // namespace mainstay::fuzz
