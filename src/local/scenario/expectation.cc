#include "local/scenario/expectation.h"

#include <algorithm>
#include <set>

#include "local/scenario/views.h"

namespace mainstay::local {
namespace {

using Subject = Expectation::Subject;

struct SubjectForm {
  Subject subject;
  std::string_view key;
  std::initializer_list<std::string_view> keys;
  std::initializer_list<std::string_view> kinds;  // whose changes can change the verdict
};

const std::initializer_list<std::string_view> kNodeKeys = {
    "node",  "exists", "ready",    "phase",    "outcome", "label", "annotation", "condition",
    "taint", "taints", "cordoned", "instance", "from",    "by",    "at"};
const std::initializer_list<std::string_view> kPodKeys = {"pod", "exists", "phase", "on", "from", "by", "at"};
const std::initializer_list<std::string_view> kJobKeys = {"job",  "exists", "suspended", "retry", "condition",
                                                          "pods", "on",     "from",      "by",    "at"};
const std::initializer_list<std::string_view> kRecoveryKeys = {
    "recoveries", "node", "policy", "phase", "outcome", "mode", "message", "evidence", "from", "by", "at"};
const std::initializer_list<std::string_view> kCloudKeys = {
    "cloud", "instance", "status", "calls", "effects", "message", "from", "by", "at"};
const std::initializer_list<std::string_view> kEventKeys = {"event", "on",   "message", "component",
                                                            "count", "from", "by",      "at"};
const std::initializer_list<std::string_view> kNodeKinds = {"nodes", "noderecoveries"};
const std::initializer_list<std::string_view> kPodKinds = {"pods"};
const std::initializer_list<std::string_view> kJobKinds = {"pytorchjobs", "pods"};
const std::initializer_list<std::string_view> kRecoveryKinds = {"noderecoveries"};
const std::initializer_list<std::string_view> kCloudKinds = {kCloudKind};
const std::initializer_list<std::string_view> kEventKinds = {"events"};

const SubjectForm kForms[] = {
    {Subject::kRecoveries, "recoveries", kRecoveryKeys, kRecoveryKinds},
    {Subject::kNode, "node", kNodeKeys, kNodeKinds},
    {Subject::kPod, "pod", kPodKeys, kPodKinds},
    {Subject::kJob, "job", kJobKeys, kJobKinds},
    {Subject::kCloud, "cloud", kCloudKeys, kCloudKinds},
    {Subject::kEvent, "event", kEventKeys, kEventKinds},
};

const SubjectForm& formOf(Subject subject) {
  return *std::ranges::find(kForms, subject, &SubjectForm::subject);
}

// --- Reading ---

void expectShape(const Cursor& in, std::string_view key, const Json& value) {
  static const std::set<std::string_view> flags = {"exists", "ready", "cordoned", "suspended"};
  static const std::set<std::string_view> numbers = {"retry", "pods"};
  static const std::set<std::string_view> maps = {"label", "annotation"};
  static const std::set<std::string_view> texts = {"phase",  "outcome", "mode",     "instance",
                                                   "status", "message", "component"};
  if (flags.contains(key)) {
    in.boolean();  // for the error that it adds
  } else if (numbers.contains(key)) {
    in.integer();
  } else if (texts.contains(key) && !value.is_string()) {
    in.error("expected a text, which may be a pattern with * and ?");
  } else if (maps.contains(key) && !value.is_object()) {
    in.error("expected {key: value}; null means that the key is absent");
  }
}

std::optional<Duration> momentOf(const Cursor& in) {
  return in.exists() ? std::optional(in.duration(Duration(0))) : std::nullopt;
}

std::optional<int> countOf(const Cursor& in) {
  if (!in.exists()) {
    return std::nullopt;
  }
  const std::int64_t count = in.integer();
  if (count < 0 || count > 1'000'000) {
    in.error("expected a count from 0 to 1000000");
    return 0;
  }
  return static_cast<int>(count);
}

// "llama" is default/llama.
std::string withNamespace(const std::string& name) {
  return name.find('/') == std::string::npos ? "default/" + name : name;
}

void readWanted(const Cursor& in, const SubjectForm& form, Expectation& out) {
  static const std::set<std::string_view> notWanted = {"from",  "by",      "at",        "count",
                                                       "calls", "effects", "recoveries"};
  for (const auto& member : in.value().get_object()) {
    const std::string_view key(member.key().data(), member.key().size());
    const bool name = key == form.key && !out.name.empty();
    if (!notWanted.contains(key) && !name) {
      expectShape(in.at(key), key, member.value());
      out.wanted[key] = member.value();
    }
  }
}

void readName(const Cursor& in, const SubjectForm& form, Expectation& out) {
  const Cursor name = in.at(form.key);
  switch (form.subject) {
    case Subject::kNode:
      out.name = name.string();
      break;
    case Subject::kPod:
    case Subject::kJob:
      out.name = withNamespace(name.string());
      break;
    case Subject::kRecoveries:
      out.count = countOf(name);
      break;
    case Subject::kCloud: {
      static const std::set<std::string> known = {"SetInstanceHealth", "LaunchInstance", "TerminateInstance"};
      if (const std::string call = name.string(); !known.contains(call)) {
        name.error("\"" + call +
                   "\" is none of SetInstanceHealth (a call), LaunchInstance, TerminateInstance (what the "
                   "group did)");
      }
      out.count = countOf(in.at("effects").exists() ? in.at("effects") : in.at("calls"));
      if (in.at("effects").exists() || !in.at("calls").exists()) {
        out.wanted["effect"] = true;
      }
      break;
    }
    case Subject::kEvent:
      name.string();  // for the error that it adds
      out.count = countOf(in.at("count"));
      break;
  }
}

// --- Judging ---

// How often it is so: things 0 or 1, rows any number.
int occurrences(const Expectation& e, const World& world) {
  const auto count = [&](const std::vector<JsonObject>& rows) {
    int sum = 0;
    for (const JsonObject& row : rows) {
      const Json* times = row.if_contains("times");
      sum += shows(row, e.wanted) ? (times ? times->to_number<int>() : 1) : 0;
    }
    return sum;
  };
  switch (e.subject) {
    case Subject::kNode:
      return shows(nodeView(world, e.name), e.wanted) ? 1 : 0;
    case Subject::kPod:
      return shows(podView(world, e.name), e.wanted) ? 1 : 0;
    case Subject::kJob:
      return shows(jobView(world, e.name), e.wanted) ? 1 : 0;
    case Subject::kRecoveries:
      return count(recoveryRows(world));
    case Subject::kCloud:
      return count(cloudRows(world));
    case Subject::kEvent:
      return count(eventRows(world));
  }
  return 0;
}

// What it is instead, as far as was asked for.
std::string describe(const Expectation& e, const World& world, int occurrences) {
  JsonObject view;
  switch (e.subject) {
    case Subject::kNode:
      view = nodeView(world, e.name);
      break;
    case Subject::kPod:
      view = podView(world, e.name);
      break;
    case Subject::kJob:
      view = jobView(world, e.name);
      break;
    case Subject::kRecoveries: {
      std::string all;
      for (const JsonObject& row : recoveryRows(world)) {
        all += (all.empty() ? "" : "; ") + flowText(row);
      }
      return std::to_string(occurrences) + " of these: " + (all.empty() ? "none" : all);
    }
    case Subject::kCloud:
    case Subject::kEvent:
      return std::to_string(occurrences) + (occurrences == 1 ? " time" : " times");
  }
  const auto narrowed = [](const auto& self, const Json& seen, const Json& wanted) -> Json {
    if (!wanted.is_object()) {
      return seen;
    }
    JsonObject part;
    for (const auto& member : wanted.get_object()) {
      const Json* shown = findMember(seen, member.key());
      part[member.key()] = shown ? self(self, *shown, member.value()) : Json("none");
    }
    return part;
  };
  const std::string text = flowText(narrowed(narrowed, view, e.wanted));
  return view["exists"] == Json(true) || e.wanted.contains("exists") ? text : "it does not exist; " + text;
}

// Walks through the recording and asks `visit` after each change that may matter, at the settled end of
// `from` first; it goes on while `visit` says so, and gives the world where it stopped.
template <class Visit>
World walk(const Expectation& e, const Recording& recording, TimePoint end, const Visit& visit) {
  const SubjectForm& form = formOf(e.subject);
  World world;
  const TimePoint start = recording.zero + e.from.value_or(Duration(0));
  const auto before = [&](std::size_t i) {
    return e.from ? recording.entries[i].at <= start : i < recording.zeroIndex;
  };
  std::size_t i = 0;
  for (; i < recording.entries.size() && before(i); ++i) {
    world.apply(recording.entries[i]);
  }
  bool goOn = visit(world, start);
  for (; goOn && i < recording.entries.size() && recording.entries[i].at <= end; ++i) {
    const Entry& entry = recording.entries[i];
    world.apply(entry);
    if (std::ranges::find(form.kinds, entry.kind) != form.kinds.end()) {
      goOn = visit(world, entry.at);
    }
  }
  return world;
}

bool countsFromStart(Subject subject) {
  return subject == Subject::kCloud || subject == Subject::kEvent;
}

}  // namespace

Expectation parseExpectation(const Cursor& in) {
  Expectation out;
  const auto form = std::ranges::find_if(kForms, [&](const SubjectForm& f) { return in.at(f.key).exists(); });
  if (form == std::end(kForms)) {
    in.error("expected one of node, pod, job, recoveries, cloud, event to say what this is about");
    return out;
  }
  in.allow(form->keys);
  out.subject = form->subject;
  out.text = flowText(in.value());
  out.from = momentOf(in.at("from"));
  out.by = momentOf(in.at("by"));
  out.at = momentOf(in.at("at"));
  if (out.at && (out.by || out.from)) {
    in.error("`at` looks at one moment; it goes with neither `from` nor `by`");
  }
  readName(in, *form, out);
  readWanted(in, *form, out);
  const bool rows = countsFromStart(out.subject) || out.subject == Subject::kRecoveries;
  if (!rows && out.wanted.empty()) {
    in.error("this says nothing about " + out.name + "; add what it must show");
  }
  return out;
}

Verdict judge(const Expectation& e, bool never, const Recording& recording) {
  const TimePoint end = e.at ? recording.zero + *e.at : e.by ? recording.zero + *e.by : recording.end;
  const bool anyMoment = never || e.by.has_value();
  std::optional<int> base;  // occurrences before the time that is looked at
  int count = 0;
  bool met = false;
  TimePoint seenAt{};
  // A late one is worth telling: only `never` ends at its own time.
  const World last =
      walk(e, recording, never || !e.by ? end : recording.end, [&](const World& world, TimePoint at) {
        const int all = occurrences(e, world);
        base = base.value_or(countsFromStart(e.subject) ? all : 0);
        count = all - *base;
        met = e.count ? count == *e.count : count > 0;
        seenAt = at;
        return !(met && anyMoment);
      });
  const std::string seen = describe(e, last, count);
  if (never) {
    return {!met, met ? "it was so at " + sinceZero(recording, seenAt) + ": " + seen : ""};
  }
  if (!anyMoment) {
    return {met, met ? "" : seen};
  }
  if (met && seenAt <= end) {
    return {true, "at " + sinceZero(recording, seenAt)};
  }
  return {false, met ? "only at " + sinceZero(recording, seenAt) : "never; at the end: " + seen};
}

}  // namespace mainstay::local
