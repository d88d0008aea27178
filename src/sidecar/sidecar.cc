#include "sidecar/sidecar.h"

#include "base/log.h"

namespace mainstay::sidecar {
namespace {

// Why the instance is marked, for the provider's own record.
constexpr char kToken[] = "mainstay-recovery";

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ",") + word;
  }
  return text;
}

}  // namespace

Sidecar::Sidecar(Parts parts, Settings settings, TimePoint start)
    : parts_(std::move(parts)), settings_(std::move(settings)), start_(start), recoverAt_(start) {}

TimePoint Sidecar::step(TimePoint now) {
  if (now < start_) {
    return start_;
  }
  const std::optional<Problems> problems = look();
  publish(problems, now);
  if (settings_.recover && !memory_.errors.empty() && now >= recoverAt_) {
    tell("recovering", recover(now));
  }
  return now + settings_.interval;
}

std::optional<Problems> Sidecar::look() {
  const Result<std::string> page = parts_.readMetrics();
  tell("reading the detector's metrics", page.map([](const std::string&) {}));
  if (!page) {
    return std::nullopt;
  }
  Problems problems = readProblems(*page, settings_.counters);
  note(problems);
  return problems;
}

void Sidecar::note(const Problems& problems) {
  if (problems.wrongLines != wrongLines_) {
    wrongLines_ = problems.wrongLines;
    logWarning("lines of the detector's metrics are no samples and were skipped", {{"lines", wrongLines_}});
  }
  std::set<std::string> unknown = settings_.counters;
  for (const auto& [reason, seen] : problems.seen) {
    unknown.erase(reason);
  }
  if (unknown != unknown_) {
    unknown_ = unknown;
    // The rule for hangs is not in every release of the rule file; that none is known is a mistake.
    if (problems.seen.empty()) {
      logWarning(
          "the detector knows none of the counters: does it run with the Neuron rule file, and is this its "
          "address?",
          {{"counters", joined(unknown)}});
    } else {
      logInfo("counters that the detector knows",
              {{"known", problems.seen.size()}, {"unknown", joined(unknown)}});
    }
  }
  const Memory before = std::exchange(memory_, remember(memory_, problems));
  for (const std::string& reason : memory_.errors) {
    if (!before.errors.contains(reason)) {
      logError("the hardware has an error", {{"reason", reason}, {"recovery", settings_.recover}});
    }
  }
}

void Sidecar::publish(const std::optional<Problems>& problems, TimePoint now) {
  const std::vector<Value> values = valuesDue(memory_, problems, settings_, now);
  if (values.empty()) {
    return;
  }
  // Also when it fails: the next try is a publish interval away, unless another error comes.
  memory_.publishedAt = now;
  memory_.published = memory_.errors;
  tell("publishing", parts_.publish(values));
}

Result<> Sidecar::recover(TimePoint now) {
  recoverAt_ = now + settings_.groupInterval;
  MAINSTAY_ASSIGN(const Surroundings before, surroundings());
  Judgement judgement = judge(before, settings_, lookBack_);
  if (judgement.verdict == Verdict::kMark) {
    say(judgement);
    lookBack_ = true;  // from now on, because an error may hide that the mark was made
    MAINSTAY_TRY(parts_.provider->markUnhealthy(providerId_, kToken));
    MAINSTAY_ASSIGN(const Surroundings after, surroundings());
    judgement = judge(after, settings_, lookBack_);
  }
  say(judgement);
  if (judgement.verdict == Verdict::kWithdraw) {
    MAINSTAY_TRY(parts_.provider->markHealthy(providerId_));
    recoverAt_ = now + waitAfterWithdrawal(providerId_, ++withdrawals_, settings_);
  }
  lookBack_ = false;
  return {};
}

Result<Surroundings> Sidecar::surroundings() {
  if (providerId_.empty()) {
    MAINSTAY_ASSIGN(providerId_, parts_.identify());
    logInfo("this instance", {{"providerID", providerId_}});
  }
  Surroundings around;
  MAINSTAY_ASSIGN(around.instance, parts_.provider->describe(providerId_));
  if (around.instance && !around.instance->group.empty()) {
    MAINSTAY_ASSIGN(around.group, parts_.provider->describeGroup(around.instance->group));
  }
  return around;
}

void Sidecar::say(const Judgement& judgement) {
  const char* sentence = sentenceOf(judgement.verdict);
  if (sentence + judgement.why != said_) {
    said_ = sentence + judgement.why;
    logInfo(sentence, {{"why", judgement.why}, {"errors", joined(memory_.errors)}});
  }
}

// Failures of one activity: told when they begin and change, and when they are over.
void Sidecar::tell(std::string_view activity, const Result<>& result) {
  std::string& trouble = troubles_[activity];
  const std::string now = result ? "" : result.error().toString();
  if (now == trouble) {
    return;
  }
  trouble = now;
  if (result) {
    logInfo("works again", {{"what", activity}});
  } else {
    logWarning("does not work, and is tried again", {{"what", activity}, {"error", now}});
  }
}

}  // namespace mainstay::sidecar
