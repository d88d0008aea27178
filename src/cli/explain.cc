#include "cli/explain.h"

#include "agent/probes/neuron_witness.h"
#include "agent/replay.h"
#include "base/file_system.h"
#include "base/log.h"
#include "cli/rules.h"
#include "fault/shipped_packs.h"

namespace mainstay::cli {
namespace {

using agent::Replayed;
using agent::ReplayedFinding;

constexpr std::size_t kMaxLog = 256u << 20;
constexpr std::size_t kMaxContext = 1u << 20;

struct Context {
  bool trustUserSpace = false;
  std::optional<Duration> handledUntil;
  std::map<std::pair<std::string, std::string>, std::uint64_t> neuronCounters;  // by device and counter
};

void readNeuronCounters(const Cursor& at, Context& context) {
  for (const auto& [device, counters] : at.members()) {
    for (const auto& [counter, value] : counters.members()) {
      const std::int64_t count = value.integer();
      if (count < 0) {
        value.error("expected a count, found " + std::to_string(count));
      }
      context.neuronCounters[{device, counter}] =
          static_cast<std::uint64_t>(std::max<std::int64_t>(count, 0));
    }
  }
}

// What the context does not tell, nobody can read. It outlives the witness.
fault::Witness witnessOf(const Context& context) {
  return [&counters = context.neuronCounters](const fault::Sighting& sighting) {
    return agent::probes::neuronTestimony(
        [&](const std::string& device, const std::string& counter) {
          const auto at = counters.find({device, counter});
          return at == counters.end() ? std::nullopt : std::optional(at->second);
        },
        sighting);
  };
}

Result<Context> readContext(const std::string& path, const FileSystem& files) {
  if (path.empty()) {
    return Context();
  }
  Context context;
  MAINSTAY_ASSIGN(const std::string text, files.read(path, kMaxContext));
  MAINSTAY_ASSIGN(const Json document, parseJson(text, path));
  DecodeErrors errors(path);
  const Cursor root(document, errors);
  context.trustUserSpace = root.at("test_mode").boolean(false);
  readNeuronCounters(root.at("neuron_counters"), context);
  const Cursor saved = root.at("saved_state");
  if (saved.exists() && saved.at("boot_id").string("") == root.at("boot_id").string("") &&
      saved.at("recovered_at_usec").exists()) {
    context.handledUntil = Duration(saved.at("recovered_at_usec").integer());
  }
  MAINSTAY_TRY(errors.result());
  return context;
}

Result<Replayed> replayFiles(const ExplainOptions& options) {
  const RealFileSystem files;
  MAINSTAY_ASSIGN(const Context context, readContext(options.context, files));
  std::vector<std::string> names{"shipped"};
  names.insert(names.end(), options.rules.begin(), options.rules.end());
  MAINSTAY_ASSIGN(std::vector<fault::Pack> packs, fault::loadPacks(names, files));
  if (context.trustUserSpace) {
    for (fault::Pack& pack : packs) {
      for (fault::PackRule& rule : pack.rules) {
        rule.trust = fault::Trust::kAny;
      }
    }
  }
  MAINSTAY_ASSIGN(std::string kmsg, files.read(options.kmsg, kMaxLog));
  auto replayed = agent::replay(
      {std::move(kmsg), std::move(packs), TimePoint{}, context.handledUntil, witnessOf(context)});
  if (!replayed) {
    return fail(std::move(replayed.error()).with(options.kmsg));
  }
  return replayed;
}

double seconds(TimePoint time) {
  return static_cast<double>(time.time_since_epoch().count()) / 1e6;
}

Json findingJson(const ReplayedFinding& finding) {
  const fault::Sighting& sighting = finding.sighting;
  const fault::Effect& effect = *sighting.effect;
  JsonObject object{{"id", sighting.id},
                    {"rule", sighting.rule},
                    {"state", agent::stateName(finding.state)},
                    {"name", sighting.name},
                    {"device", sighting.device},
                    {"code", sighting.code},
                    {"class", effect.faultClass},
                    {"scope", fault::scopeName(effect.scope)},
                    {"severity", fault::severityName(effect.severity)},
                    {"condition", sighting.condition},
                    {"reason", sighting.reason},
                    {"event", effect.event},
                    {"action", fault::actionName(sighting.action)},
                    {"advice", effect.advice},
                    {"hyperpod", foreignJson(effect.hyperpod, "type", sighting.code)},
                    {"eks", foreignJson(effect.eks, "condition", sighting.code)},
                    {"count", sighting.count},
                    {"seq", sighting.seq},
                    {"first", seconds(sighting.first)},
                    {"last", seconds(sighting.last)},
                    {"line", sighting.line}};
  JsonObject collected;
  for (const auto& [capture, values] : sighting.collected) {
    collected[capture] = JsonArray(values.begin(), values.end());
  }
  object["collected"] = std::move(collected);
  object["reasons"] = JsonArray(finding.reasons.begin(), finding.reasons.end());
  return object;
}

Json replayedJson(const Replayed& replayed) {
  JsonArray findings;
  for (const ReplayedFinding& finding : replayed.findings) {
    findings.push_back(findingJson(finding));
  }
  JsonArray conditions;
  for (const fault::Finding& finding : replayed.published) {
    conditions.push_back(JsonObject{{"type", finding.type},
                                    {"status", "True"},
                                    {"subject", finding.device},
                                    {"reason", finding.reason},
                                    {"action", fault::actionName(finding.action)},
                                    {"finding", finding.id}});
  }
  JsonArray events;
  for (const agent::NodeEvent& event : replayed.events) {
    events.push_back(JsonObject{{"type", event.warning ? "Warning" : "Normal"},
                                {"reason", event.reason},
                                {"condition", event.condition},
                                {"message", event.message}});
  }
  return JsonObject{{"records", replayed.records},
                    {"findings", std::move(findings)},
                    {"conditions", std::move(conditions)},
                    {"events", std::move(events)},
                    {"action", JsonObject{{"action", fault::actionName(replayed.proposal.action)},
                                          {"finding", replayed.proposal.finding},
                                          {"why", replayed.proposal.why}}}};
}

std::string since(TimePoint time) {
  return humanDuration(time.time_since_epoch());
}

std::string findingsText(const Replayed& replayed, const Palette& palette) {
  if (replayed.findings.empty()) {
    return "Nothing was found.\n";
  }
  Table table({"since boot", "device", "finding", "severity", "action", "state", "what"});
  for (const ReplayedFinding& finding : replayed.findings) {
    const fault::Sighting& sighting = finding.sighting;
    const std::string times = sighting.count > 1 ? " (" + std::to_string(sighting.count) + " times)" : "";
    table.add({since(sighting.first), sighting.device.empty() ? "node" : sighting.device, sighting.id,
               std::string(fault::severityName(sighting.effect->severity)),
               std::string(fault::actionName(sighting.action)), std::string(agent::stateName(finding.state)),
               sighting.name + times});
  }
  const std::string text = table.text();
  const std::size_t head = text.find('\n');
  return palette.paint(Colour::kBold, text.substr(0, head)) + text.substr(head);
}

std::string replayedText(const Replayed& replayed, const Palette& palette) {
  std::string text = findingsText(replayed, palette);
  text +=
      replayed.published.empty() ? "\nNo condition would be True.\n" : "\nConditions that would be True:\n";
  for (const fault::Finding& finding : replayed.published) {
    text += "  " + finding.type + "  " + finding.reason +
            (finding.device.empty() ? "" : "  " + finding.device) + "\n";
  }
  text += replayed.events.empty() ? "" : "\nEvents:\n";
  for (const agent::NodeEvent& event : replayed.events) {
    text += "  " + event.reason + "  " + event.message + "\n";
  }
  text +=
      "\nAction: " + palette.paint(Colour::kBold, std::string(fault::actionName(replayed.proposal.action))) +
      "\n  " + replayed.proposal.why + "\n";
  return text;
}

}  // namespace

int explain(const ExplainOptions& options, std::ostream& out, std::ostream& errors) {
  configureLog(LogFormat::kLogfmt, LogLevel::kError);  // what it finds is in its output
  const auto replayed = replayFiles(options);
  if (!replayed) {
    errors << "mainstay explain: " << replayed.error().toString() << "\n";
    return 2;
  }
  print(out, options.format, replayedJson(*replayed), replayedText(*replayed, options.palette));
  return 0;
}

}  // namespace mainstay::cli
