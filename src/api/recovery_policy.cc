#include "api/recovery_policy.h"

#include <algorithm>
#include <charconv>

namespace mainstay::api {
namespace {

// Neuron's rules call every fault of theirs NeuronHasError_*; two minutes outlast a kubelet's restart.
constexpr char kNeuronHealth[] = "NeuronHealth";
constexpr char kNeuronReasons[] = "NeuronHasError_*";
constexpr Duration kNodeLostConfirm = std::chrono::minutes(2);

bool globMatches(std::string_view glob, std::string_view text) {
  std::size_t g = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last * seen, and where its text began
  std::size_t starText = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      starText = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++starText;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

// "20%" or 3.
void decodeMax(const Cursor& in, Limit& limit) {
  if (!in.exists()) {
    return;
  }
  if (!in.value().is_string()) {
    limit.percent = false;
    limit.max = static_cast<int>(std::clamp<std::int64_t>(in.integer(), 0, 1'000'000));
    return;
  }
  const std::string text = in.string();
  int share = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  const bool whole = error == std::errc() && std::string_view(end) == "%";
  if (!whole || share < 0 || share > 100) {
    in.error("\"" + text + "\" is neither a share such as \"20%\" nor a number");
    return;
  }
  limit.max = share;
  limit.percent = true;
}

void decodeLimit(const Cursor& in, Limit& limit) {
  in.allow({"max", "atLeast"});
  decodeMax(in.at("max"), limit);
  const std::int64_t atLeast = in.at("atLeast").integer(limit.atLeast);
  if (atLeast < 0) {
    in.at("atLeast").error("must not be negative");
  }
  limit.atLeast = static_cast<int>(std::clamp<std::int64_t>(atLeast, 0, 1'000'000));
}

void decodeLimits(const Cursor& in, RecoveryPolicy& policy) {
  in.allow({"isolated", "inRecovery", "perHour"});
  decodeLimit(in.at("isolated"), policy.isolated);
  decodeLimit(in.at("inRecovery"), policy.inRecovery);
  if (const Cursor perHour = in.at("perHour"); perHour.exists()) {
    policy.perHour = static_cast<int>(std::clamp<std::int64_t>(perHour.integer(), 0, 1'000'000));
  }
}

FaultRule decodeFault(const Cursor& in) {
  in.allow({"match", "confirm", "ladder"});
  const Cursor match = in.at("match");
  match.allow({"type", "reason"});
  FaultRule rule;
  rule.type = match.at("type").string();
  rule.reason = match.at("reason").string("*");
  rule.confirm = in.at("confirm").duration(rule.type == kNodeLost ? kNodeLostConfirm : Duration{});
  const std::vector<Cursor> ladder = in.at("ladder").elements();
  if (ladder.size() != 1) {
    in.at("ladder").error("this release climbs ladders of exactly one step: [{action: replace}]");
  }
  for (const Cursor& step : ladder) {
    step.allow({"action"});
    if (const std::string action = step.at("action").string(); action != "replace") {
      step.at("action").error("\"" + action + "\" is not implemented in this release; it can only replace");
    }
  }
  return rule;
}

void decodeFaults(const Cursor& in, RecoveryPolicy& policy) {
  if (!in.exists()) {
    return;
  }
  policy.faults.clear();
  for (const Cursor& fault : in.elements()) {
    policy.faults.push_back(decodeFault(fault));
  }
}

void decodeResume(const Cursor& in, RecoveryPolicy& policy) {
  in.allow({"enabled", "maxRetries"});
  policy.resume = in.at("enabled").boolean(policy.resume);
  if (const Cursor cap = in.at("maxRetries"); cap.exists()) {
    policy.maxRetries = static_cast<int>(std::clamp<std::int64_t>(cap.integer(), 1, 1'000'000));
    if (cap.value().is_int64() && cap.value().get_int64() < 1) {
      cap.error("must be at least 1; to leave jobs alone set resume.enabled: false");
    }
  }
}

void decodeSpec(const Cursor& in, RecoveryPolicy& policy) {
  in.allow({"nodes", "mode", "provider", "limits", "faults", "drain", "resume"});
  if (!in.at("nodes").exists()) {
    in.at("nodes").error("expected a label selector; {} selects every node");
  }
  in.at("nodes").allow({"matchLabels", "matchExpressions"});
  policy.nodes = decodeLabelSelector(in.at("nodes"));
  const std::string mode = in.at("mode").string("Observe");
  policy.mode = mode == "Enforce" ? Mode::kEnforce : Mode::kObserve;
  if (mode != "Enforce" && mode != "Observe") {
    in.at("mode").error("\"" + mode + "\" is neither Observe nor Enforce");
  }
  policy.provider = in.at("provider").string("");
  if (!policy.provider.empty() && policy.provider != "local" && policy.provider != "aws") {
    in.at("provider")
        .error("\"" + policy.provider + "\" is not implemented in this release; it knows: local, aws");
  }
  if (policy.mode == Mode::kEnforce && policy.provider.empty()) {
    in.at("provider").error("mode Enforce needs a provider, who replaces the instances");
  }
  decodeLimits(in.at("limits"), policy);
  decodeFaults(in.at("faults"), policy);
  in.at("drain").allow({"deadline"});
  policy.drainDeadline = in.at("drain").at("deadline").duration(policy.drainDeadline);
  decodeResume(in.at("resume"), policy);
}

TakenSlot decodeSlot(const Cursor& in) {
  TakenSlot taken;
  const std::string slot = in.at("slot").string();
  if (slot != slotName(Slot::kIsolated) && slot != slotName(Slot::kInRecovery)) {
    in.at("slot").error("\"" + slot + "\" is neither Isolated nor InRecovery");
  }
  taken.slot = slot == slotName(Slot::kInRecovery) ? Slot::kInRecovery : Slot::kIsolated;
  taken.recovery = in.at("recovery").string();
  taken.node = in.at("node").string("");
  taken.since = in.at("since").time().value_or(TimePoint{});
  return taken;
}

}  // namespace

std::string_view modeName(Mode mode) {
  return mode == Mode::kEnforce ? "Enforce" : "Observe";
}

int Limit::of(int nodes) const {
  const auto share = static_cast<int>(static_cast<std::int64_t>(nodes) * max / 100);
  return std::max(atLeast, percent ? share : max);
}

bool FaultRule::matches(std::string_view faultType, std::string_view faultReason) const {
  return type == faultType && globMatches(reason, faultReason);
}

std::vector<FaultRule> defaultFaults() {
  return {{.type = kNeuronHealth, .reason = kNeuronReasons},
          {.type = kNodeLost, .confirm = kNodeLostConfirm}};
}

std::string_view slotName(Slot slot) {
  return slot == Slot::kIsolated ? "Isolated" : "InRecovery";
}

Result<RecoveryPolicy> decodeRecoveryPolicy(const Json& object) {
  DecodeErrors errors("recoverypolicy " + findString(object, "metadata", "name"));
  const Cursor root(object, errors);
  RecoveryPolicy policy;
  policy.meta = decodeMeta(root);
  decodeSpec(root.at("spec"), policy);
  for (const Cursor& slot : root.at("status").at("active").elements()) {
    policy.active.push_back(decodeSlot(slot));
  }
  MAINSTAY_TRY(errors.result());
  return policy;
}

Json encodeSlots(const std::vector<TakenSlot>& slots) {
  JsonArray list;
  for (const TakenSlot& taken : slots) {
    list.push_back(JsonObject{{"slot", slotName(taken.slot)},
                              {"recovery", taken.recovery},
                              {"node", taken.node},
                              {"since", formatMicroTime(taken.since)}});
  }
  return list;
}

}  // namespace mainstay::api
