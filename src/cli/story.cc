#include "cli/story.h"

#include <algorithm>
#include <cstdio>

#include "api/names.h"

namespace mainstay::cli {

namespace {

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", value);
  return text;
}

std::string seconds(std::optional<double> value) {
  return value ? seconds(*value) : "not seen";
}

Json secondsOrNull(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

bool carriesHealthTaint(const api::Node& node) {
  return std::ranges::any_of(node.taints,
                             [](const api::Taint& taint) { return taint.key == api::kHealthTaintKey; });
}

std::string firstSentence(const std::string& text) {
  const auto newline = text.find('\n');
  return newline == std::string::npos ? text : text.substr(0, newline);
}

}  // namespace

void Story::fault(TimePoint at, const std::string& line, int step) {
  fault_ = at;
  stepAtFault_ = step;
  add(at, node_, "kernel log line at step " + std::to_string(step), line);
}

void Story::add(TimePoint at, std::string who, std::string what, std::string why) {
  rows_.push_back({at, std::move(who), std::move(what), firstSentence(why), ""});
}

void Story::addPhase(TimePoint at, std::string what, std::string phase) {
  rows_.push_back({at, "controller", std::move(what), "", std::move(phase)});
}

std::vector<StoryRow> Story::rows() const {
  std::vector<StoryRow> rows = rows_;
  for (StoryRow& row : rows) {
    if (const auto reason = reasons_.find(row.phase); reason != reasons_.end()) {
      row.why = firstSentence(reason->second);
    }
  }
  std::ranges::stable_sort(rows, {}, &StoryRow::at);
  return rows;
}

void Story::sawNode(const Json& object, TimePoint at) {
  const Result<api::Node> node = api::decodeNode(object);
  if (!node || !fault_) {
    return;
  }
  if (node->meta.name == node_) {
    sawFaultyNode(*node, at);
    return;
  }
  const bool schedulable = node->meta.label(api::kHealthStatusLabel) == api::kSchedulable;
  if (node->meta.created >= std::chrono::floor<std::chrono::seconds>(*fault_) && node->ready() &&
      first("joined " + node->meta.name)) {
    add(at, "cloud", node->meta.name + " joined and is Ready", "instance " + node->providerId);
  }
  if (schedulable) {
    schedulableSince_.try_emplace(node->meta.name, at);
    sawReplacement();
  }
}

// The node and the incident that names it as the replacement are seen in either order.
void Story::sawReplacement() {
  const auto since = schedulableSince_.find(replacement_);
  if (since != schedulableSince_.end() && first("schedulable")) {
    schedulable_ = since->second;
    addPhase(since->second, replacement_ + " Schedulable", "Validating");
  }
}

void Story::sawFaultyNode(const api::Node& node, TimePoint at) {
  for (const api::Condition& condition : node.conditions) {
    if (api::tellsFault(condition) && node.meta.annotations.contains(api::kFindingsAnnotation) &&
        first("condition")) {
      detected_ = at;
      add(at, "agent", condition.type + " = " + condition.status, condition.reason);
    }
  }
  if (node.unschedulable && carriesHealthTaint(node) && first("isolated")) {
    isolated_ = at;
    addPhase(at, node_ + " isolated (label, taint, cordon)", "Isolated");
  }
}

void Story::sawRecovery(const Json& object, TimePoint at) {
  const Result<api::NodeRecovery> recovery = api::decodeNodeRecovery(object);
  if (!recovery || recovery->node.name != node_) {
    return;
  }
  for (const api::Transition& transition : recovery->status.transitions) {
    const std::string phase(api::phaseName(transition.phase));
    reasons_[phase] = transition.reason;
    const bool toldElsewhere = phase == "Isolated" || phase == "Validating";
    if (!toldElsewhere && first("phase " + phase + formatMicroTime(transition.at))) {
      add(transition.at, "controller", "incident " + phase, transition.reason);
    }
  }
  replacement_ = recovery->status.replacement.name;
  if (!replacement_.empty() && first("claimed")) {
    add(recovery->status.replacement.claimed.value_or(at), "controller",
        replacement_ + " claimed as the replacement");
  }
  sawReplacement();
  if (!recovery->open()) {
    closed_ = true;
    outcome_ = recovery->status.outcome;
  }
}

void Story::sawJob(const Json& object, TimePoint at) {
  if (findString(object, "metadata", "name") != job_ || !fault_) {
    return;
  }
  const Json* suspend = find(object, "spec", "runPolicy", "suspend");
  const bool suspended = suspend && suspend->is_bool() && suspend->get_bool();
  if (const auto ours = parseJson(findString(object, "metadata", "annotations", api::kResumeAnnotation))) {
    if (const Json* retry = find(*ours, "retry"); retry && retry->is_int64()) {
      retry_ = static_cast<int>(retry->get_int64());
    }
  }
  if (suspended && first("stopped")) {
    add(at, "controller", "job " + job_ + " stopped as one group", "retry " + std::to_string(retry_));
  }
  if (!suspended && seen_.contains("stopped") && first("started")) {
    add(at, "controller", "job " + job_ + " started as one group", "every pod has a healthy node");
  }
}

void Story::sawCloud(const std::string& call, const std::string& instance, const std::string& detail,
                     TimePoint at) {
  if (!fault_ || at < *fault_) {
    return;
  }
  terminated_ += call == "TerminateInstance" ? 1 : 0;
  add(at, "cloud", call + " " + instance, detail);
}

void Story::sawProgress(const Json& line) {
  const std::string event = findString(line, "event");
  const Json* number = find(line, "step");
  const auto at = parseTime(findString(line, "time"));
  if (!number || !number->is_int64() || !at) {
    return;
  }
  const int step = static_cast<int>(number->get_int64());
  if (event == "resumed") {
    resumedFrom_ = step;
    stepReached_ = step_;
    step_ = step;
    add(*at, "job", "resumed from step " + std::to_string(step), "newest complete checkpoint");
  } else if (event == "step") {
    step_ = step;
    sawResumedStep(step, *at);
  } else if (event == "finished") {
    const Json* loss = find(line, "loss");
    finished_ = loss && loss->is_number() ? loss->to_number<double>() : 0;
    sha256_ = findString(line, "sha256");
    step_ = step;
    add(*at, "job", "finished at step " + std::to_string(step));
  }
}

void Story::sawResumedStep(int step, TimePoint at) {
  if (resumedFrom_ && first("next step")) {
    nextStep_ = at;
    add(at, "job", "step " + std::to_string(step));
  }
}

std::string Story::timeline(const Palette& palette) const {
  Table table({" since fault", "who", "what", "why"});
  for (const StoryRow& row : rows()) {
    char since[32];
    std::snprintf(since, sizeof since, "%10.3f s",
                  static_cast<double>((row.at - fault_.value_or(row.at)).count()) / 1e6);
    table.add({since, row.who, row.what, row.why.size() > 110 ? row.why.substr(0, 107) + "..." : row.why});
  }
  const std::string text = table.text();
  const auto headEnd = text.find('\n');
  return palette.paint(Colour::kBold, text.substr(0, headEnd)) + text.substr(headEnd);
}

std::optional<double> Story::span(std::optional<TimePoint> from, std::optional<TimePoint> to) {
  return from && to ? std::optional(static_cast<double>((*to - *from).count()) / 1e6) : std::nullopt;
}

std::vector<std::string> Story::failures(const Expected& expected) const {
  std::vector<std::string> failures;
  const auto check = [&](bool ok, const std::string& sentence) {
    if (!ok) {
      failures.push_back(sentence);
    }
  };
  const auto recovered = span(fault_, nextStep_);
  check(detected_.has_value(), "the condition was never seen on " + node_);
  check(isolated_.has_value(), node_ + " was never isolated");
  check(schedulable_.has_value(), "no replacement became Schedulable");
  check(resumedFrom_ == expected.checkpoint, "training resumed from step " +
                                                 (resumedFrom_ ? std::to_string(*resumedFrom_) : "(never)") +
                                                 " instead of " + std::to_string(expected.checkpoint));
  check(recovered && *recovered <= static_cast<double>(expected.faultToStep.count()) / 1e6,
        "the next training step came " + seconds(recovered) + " after the fault; the budget is " +
            humanDuration(expected.faultToStep));
  check(finished_.has_value(), "training did not finish");
  check(!sha256_.empty() && sha256_ == expected.sha256,
        "the parameters differ from those of an unbroken run: " + sha256_ + " instead of " + expected.sha256);
  check(closed_ && outcome_ == "Replaced",
        "the incident did not end as Replaced but as \"" + outcome_ + "\"");
  check(retry_ == 1, "the job used " + std::to_string(retry_) + " retries instead of 1");
  check(terminated_ == 1, std::to_string(terminated_) + " instances were terminated instead of 1");
  return failures;
}

std::string Story::summary(const Expected& expected) const {
  const int repeated = resumedFrom_ ? stepReached_ - *resumedFrom_ : 0;
  char loss[32];
  std::snprintf(loss, sizeof loss, "%.3f", finished_.value_or(0));
  std::string text = " finished at step " + std::to_string(step_) + ", loss " + loss + "\n";
  text += " parameters equal those of an unbroken run: ";
  text += sha256_ == expected.sha256 && !sha256_.empty() ? "yes (sha256 " + sha256_.substr(0, 16) + "...)\n"
                                                         : "NO\n";
  text += " cost of the fault: detect " + seconds(span(fault_, detected_)) + ", isolate " +
          seconds(span(detected_, isolated_)) + ", replace " + seconds(span(isolated_, schedulable_)) +
          ", resume " + seconds(span(schedulable_, nextStep_)) + ", in all " +
          seconds(span(fault_, nextStep_)) + "; " + std::to_string(repeated) + " steps repeated\n";
  return text;
}

Json Story::document(const Expected& expected) const {
  JsonArray timeline;
  for (const StoryRow& row : rows()) {
    timeline.push_back(JsonObject{
        {"time", formatMicroTime(row.at)}, {"who", row.who}, {"what", row.what}, {"why", row.why}});
  }
  JsonArray failed;
  for (const std::string& failure : failures(expected)) {
    failed.push_back(Json(failure));
  }
  return JsonObject{{"timeline", timeline},
                    {"detectSeconds", secondsOrNull(span(fault_, detected_))},
                    {"isolateSeconds", secondsOrNull(span(detected_, isolated_))},
                    {"replaceSeconds", secondsOrNull(span(isolated_, schedulable_))},
                    {"resumeSeconds", secondsOrNull(span(schedulable_, nextStep_))},
                    {"faultToNextStepSeconds", secondsOrNull(span(fault_, nextStep_))},
                    {"stepAtFault", stepAtFault_},
                    {"stepReached", stepReached_},
                    {"resumedFrom", resumedFrom_ ? Json(*resumedFrom_) : Json(nullptr)},
                    {"finalStep", step_},
                    {"finalLoss", finished_ ? Json(*finished_) : Json(nullptr)},
                    {"sha256", sha256_},
                    {"sha256Unbroken", expected.sha256},
                    {"failures", failed}};
}

}  // namespace mainstay::cli
