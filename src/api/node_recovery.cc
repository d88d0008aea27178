#include "api/node_recovery.h"

#include <algorithm>
#include <iterator>

#include "api/names.h"

namespace mainstay::api {
namespace {

constexpr std::string_view kPhaseNames[] = {"",           "Held",      "Isolated", "Draining", "Replacing",
                                            "Validating", "Escalated", "Resolved", "Stale"};

Json timeOrNull(const std::optional<TimePoint>& time) {
  return time ? Json(formatMicroTime(*time)) : Json(nullptr);
}

Json textOrNull(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

// Whole units where there are any: "16", "500m".
std::string quantityText(std::int64_t thousandths) {
  return thousandths % 1000 == 0 ? std::to_string(thousandths / 1000) : std::to_string(thousandths) + "m";
}

Json encodeTransitions(const std::vector<Transition>& transitions) {
  JsonArray list;
  const std::size_t skip =
      transitions.size() > kMaxTransitions ? transitions.size() - kMaxTransitions : std::size_t{0};
  for (std::size_t i = skip; i < transitions.size(); ++i) {
    list.push_back(JsonObject{{"phase", phaseName(transitions[i].phase)},
                              {"at", formatMicroTime(transitions[i].at)},
                              {"reason", transitions[i].reason}});
  }
  return list;
}

Json encodeProvider(const ProviderRecord& provider) {
  if (provider.name.empty()) {
    return nullptr;
  }
  return JsonObject{{"name", provider.name},
                    {"instance", textOrNull(provider.instance)},
                    {"group", textOrNull(provider.group)},
                    {"token", textOrNull(provider.token)},
                    {"intent", timeOrNull(provider.intent)},
                    {"marked", timeOrNull(provider.marked)},
                    {"gone", timeOrNull(provider.gone)},
                    {"message", textOrNull(provider.message)}};
}

Json encodeReplacement(const Replacement& replacement) {
  if (replacement.name.empty()) {
    return nullptr;
  }
  return JsonObject{{"name", replacement.name},
                    {"uid", replacement.uid},
                    {"providerID", replacement.providerId},
                    {"claimed", timeOrNull(replacement.claimed)}};
}

Json encodePhaseSeconds(const std::map<std::string, double>& seconds) {
  JsonObject object;
  for (const auto& [phase, value] : seconds) {
    object[phase] = value;
  }
  return object.empty() ? Json(nullptr) : Json(std::move(object));
}

// The wire form of findings is the annotation's; one codec serves both.
Json encodeEvidence(const std::vector<fault::Finding>& evidence) {
  const Result<Json> list = parseJson(fault::encodeFindings(evidence));
  return list ? *list : Json(JsonArray());
}

std::vector<fault::Finding> decodeEvidence(const Cursor& in) {
  if (!in.exists()) {
    return {};
  }
  Result<std::vector<fault::Finding>> evidence = fault::decodeFindings(toText(in.value()));
  if (!evidence) {
    in.error(evidence.error().toString());
    return {};
  }
  return *std::move(evidence);
}

Phase decodePhase(const Cursor& in) {
  const std::string name = in.string("");
  const std::optional<Phase> phase = parsePhase(name);
  if (!phase) {
    in.error("\"" + name + "\" is not a phase that this release knows");
  }
  return phase.value_or(Phase::kNew);
}

std::vector<Transition> decodeTransitions(const Cursor& list) {
  std::vector<Transition> transitions;
  for (const Cursor& in : list.elements()) {
    transitions.push_back(
        {decodePhase(in.at("phase")), in.at("at").time().value_or(TimePoint{}), in.at("reason").string("")});
  }
  return transitions;
}

ProviderRecord decodeProvider(const Cursor& in) {
  ProviderRecord provider;
  provider.name = in.at("name").string("");
  provider.instance = in.at("instance").string("");
  provider.group = in.at("group").string("");
  provider.token = in.at("token").string("");
  provider.intent = in.at("intent").time();
  provider.marked = in.at("marked").time();
  provider.gone = in.at("gone").time();
  provider.message = in.at("message").string("");
  return provider;
}

std::vector<TouchedJob> decodeTouchedJobs(const Cursor& list) {
  std::vector<TouchedJob> jobs;
  for (const Cursor& in : list.elements()) {
    TouchedJob job;
    job.ns = in.at("namespace").string("");
    job.name = in.at("name").string();
    job.kind = in.at("kind").string("");
    job.uid = in.at("uid").string("");
    job.retry = static_cast<int>(std::clamp<std::int64_t>(in.at("retry").integer(0), 0, 1'000'000));
    job.state = in.at("state").string("");
    job.message = in.at("message").string("");
    for (const Cursor& pod : in.at("lost").elements()) {
      job.lost.push_back(pod.string());
    }
    job.stopped = in.at("stopped").time();
    job.resumed = in.at("resumed").time();
    jobs.push_back(std::move(job));
  }
  return jobs;
}

NodeRecoveryStatus decodeStatus(const Cursor& in) {
  NodeRecoveryStatus status;
  status.phase = decodePhase(in.at("phase"));
  status.message = in.at("message").string("");
  status.outcome = in.at("outcome").string("");
  status.mode = in.at("mode").string("") == modeName(Mode::kEnforce) ? Mode::kEnforce : Mode::kObserve;
  status.action = in.at("action").string("");
  status.fault = in.at("fault").string("");
  status.evidence = decodeEvidence(in.at("evidence"));
  status.transitions = decodeTransitions(in.at("transitions"));
  status.since = in.at("since").time();
  status.isolated = in.at("isolated").time();
  status.started = in.at("started").time();
  status.deadline = in.at("deadline").time();
  status.closed = in.at("closed").time();
  status.provider = decodeProvider(in.at("provider"));
  const Cursor replacement = in.at("replacement");
  status.replacement = {replacement.at("name").string(""), replacement.at("uid").string(""),
                        replacement.at("providerID").string(""), replacement.at("claimed").time()};
  for (const auto& [phase, seconds] : in.at("phaseSeconds").members()) {
    status.phaseSeconds[phase] = seconds.number();
  }
  status.jobs = decodeTouchedJobs(in.at("jobs"));
  return status;
}

}  // namespace

std::string_view phaseName(Phase phase) {
  return kPhaseNames[static_cast<std::size_t>(phase)];
}

std::optional<Phase> parsePhase(std::string_view name) {
  const auto at = std::ranges::find(kPhaseNames, name);
  if (at == std::end(kPhaseNames)) {
    return std::nullopt;
  }
  return static_cast<Phase>(std::distance(std::begin(kPhaseNames), at));
}

Result<NodeRecovery> decodeNodeRecovery(const Json& object) {
  DecodeErrors errors("noderecovery " + findString(object, "metadata", "name"));
  const Cursor root(object, errors);
  NodeRecovery recovery;
  recovery.meta = decodeMeta(root);
  const Cursor node = root.at("spec").at("node");
  recovery.node = {node.at("name").string(), node.at("uid").string(), node.at("providerID").string(""),
                   node.at("bootID").string("")};
  for (const auto& [name, value] : node.at("allocatable").members()) {
    if (const auto quantity = parseQuantity(value.string())) {
      recovery.allocatable[name] = *quantity;
    } else {
      value.error("expected a quantity such as \"16\"");
    }
  }
  recovery.policy = root.at("spec").at("policy").string();
  recovery.status = decodeStatus(root.at("status"));
  MAINSTAY_TRY(errors.result());
  return recovery;
}

Json encodeNodeRecovery(const std::string& name, const NodeIdentity& node, const Resources& allocatable,
                        const std::string& policy) {
  JsonObject quantities;
  for (const auto& [resource, amount] : allocatable) {
    quantities[resource] = quantityText(amount);
  }
  return JsonObject{{"apiVersion", kGroupVersion},
                    {"kind", kNodeRecoveries.kind},
                    {"metadata", JsonObject{{"name", name}}},
                    {"spec", JsonObject{{"node", JsonObject{{"name", node.name},
                                                            {"uid", node.uid},
                                                            {"providerID", node.providerId},
                                                            {"bootID", node.bootId},
                                                            {"allocatable", std::move(quantities)}}},
                                        {"policy", policy}}}};
}

JsonObject encodeStatus(const NodeRecoveryStatus& status) {
  return {{"phase", phaseName(status.phase)},
          {"message", textOrNull(status.message)},
          {"outcome", textOrNull(status.outcome)},
          {"mode", modeName(status.mode)},
          {"action", textOrNull(status.action)},
          {"fault", textOrNull(status.fault)},
          {"evidence", encodeEvidence(status.evidence)},
          {"transitions", encodeTransitions(status.transitions)},
          {"since", timeOrNull(status.since)},
          {"isolated", timeOrNull(status.isolated)},
          {"started", timeOrNull(status.started)},
          {"deadline", timeOrNull(status.deadline)},
          {"closed", timeOrNull(status.closed)},
          {"provider", encodeProvider(status.provider)},
          {"replacement", encodeReplacement(status.replacement)},
          {"phaseSeconds", encodePhaseSeconds(status.phaseSeconds)}};
}

Json encodeTouchedJobs(const std::vector<TouchedJob>& jobs) {
  JsonArray list;
  const std::size_t count = std::min(jobs.size(), kMaxTouchedJobs);
  for (std::size_t i = 0; i < count; ++i) {
    const TouchedJob& job = jobs[i];
    JsonObject entry{{"namespace", job.ns}, {"name", job.name},   {"kind", job.kind},
                     {"uid", job.uid},      {"retry", job.retry}, {"state", job.state}};
    if (!job.message.empty()) {
      entry["message"] = job.message;
    }
    if (!job.lost.empty()) {
      entry["lost"] = JsonArray(job.lost.begin(), job.lost.end());
    }
    for (const auto& [key, time] : {std::pair{"stopped", job.stopped}, {"resumed", job.resumed}}) {
      if (time) {
        entry[key] = formatMicroTime(*time);
      }
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace mainstay::api
