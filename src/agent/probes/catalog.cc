#include "agent/probes/catalog.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "agent/probes/amd_gaudi.h"
#include "agent/probes/kernel.h"
#include "agent/probes/memory.h"
#include "agent/probes/network.h"
#include "agent/probes/neuron.h"
#include "agent/probes/nvidia.h"
#include "agent/probes/pcie.h"
#include "agent/probes/storage.h"
#include "base/text.h"
#include "base/yaml.h"

namespace mainstay::agent::probes {
namespace {

using namespace std::chrono_literals;

constexpr Duration kMinInterval = 1s;
constexpr Duration kMaxInterval = 1h;
constexpr Duration kMaxPatience = 7 * 24h;
constexpr std::int64_t kMaxLooks = 100;
constexpr double kMaxLimit = 1e15;

std::vector<std::string_view> namesOf(std::span<const ProbeKind* const> kinds) {
  std::vector<std::string_view> names;
  for (const ProbeKind* kind : kinds) {
    names.push_back(kind->name);
  }
  return names;
}

std::vector<std::string_view> reasonsOf(const ProbeKind& kind) {
  std::vector<std::string_view> reasons;
  for (const Check& check : kind.checks) {
    reasons.push_back(check.reason);
  }
  return reasons;
}

Duration durationWithin(const Cursor& at, Duration fallback, Duration least, Duration most) {
  const Duration value = at.duration(fallback);
  if (value < least || value > most) {
    at.error("expected " + formatDuration(least) + " to " + formatDuration(most) + ", found " +
             formatDuration(value));
    return fallback;
  }
  return value;
}

void readCheck(const Cursor& at, CheckSettings& check) {
  at.allow({"off", "limit", "per", "confirm", "confirmFor", "clear"});
  check.on = !at.at("off").boolean(!check.on);
  if (at.at("limit").exists()) {
    const double limit = at.at("limit").number();
    if (limit >= 0 && limit <= kMaxLimit) {
      check.limit.count = limit;
    } else {
      at.at("limit").error("expected a number from 0 to 1e15");
    }
  }
  check.limit.per = durationWithin(at.at("per"), check.limit.per, 0s, kMaxPatience);
  const std::int64_t looks = at.at("confirm").integer(check.patience.looks);
  if (looks < 1 || looks > kMaxLooks) {
    at.at("confirm").error("expected 1 to " + std::to_string(kMaxLooks) + " looks, found " +
                           std::to_string(looks));
  } else {
    check.patience.looks = static_cast<int>(looks);
  }
  check.patience.span = durationWithin(at.at("confirmFor"), check.patience.span, 0s, kMaxPatience);
  check.patience.quiet = durationWithin(at.at("clear"), check.patience.quiet, 0s, kMaxPatience);
}

void readProbe(const Cursor& at, const ProbeKind& kind, ProbeSettings& settings) {
  at.allow({"off", "interval", "deadline", "program", "checks"});
  settings.program = at.at("program").string(settings.program);
  if (at.at("program").exists() && *kind.program == '\0') {
    at.at("program").error("the probe \"" + std::string(kind.name) + "\" runs no program");
  }
  settings.on = !at.at("off").boolean(false);
  settings.interval = durationWithin(at.at("interval"), settings.interval, kMinInterval, kMaxInterval);
  settings.deadline = durationWithin(at.at("deadline"), settings.deadline, kMinInterval, kMaxInterval);
  for (const auto& [reason, check] : at.at("checks").members()) {
    const auto known = settings.checks.find(reason);
    if (known == settings.checks.end()) {
      check.error("the probe \"" + std::string(kind.name) + "\" has no such check" +
                  didYouMean(reason, reasonsOf(kind)));
    } else {
      readCheck(check, known->second);
    }
  }
}

// "> 3 in 1 h", "> 90"; "" when any is too much.
std::string limitText(const Limit& limit) {
  if (limit.count <= 0) {
    return "any";
  }
  const std::string in = limit.per > Duration{} ? " in " + humanDuration(limit.per) : "";
  return "> " + std::to_string(std::llround(limit.count)) + in;
}

std::string patienceText(const Patience& patience) {
  std::string text = std::to_string(patience.looks) + (patience.looks == 1 ? " look" : " looks");
  if (patience.span > Duration{}) {
    text += " over " + humanDuration(patience.span);
  }
  return text;
}

std::string clearText(const Check& check) {
  switch (check.clearOn) {
    case ClearOn::kInstance:
      return "a new instance";
    case ClearOn::kBoot:
      return "seen to be well, or a boot";
    case ClearOn::kEvidence:
      break;
  }
  return check.patience.quiet > Duration{} ? "unseen for " + humanDuration(check.patience.quiet) : "unseen";
}

std::string rowOf(const Check& check) {
  const bool fatal = check.severity == Severity::kFatal;
  const std::string effect =
      fatal ? std::string(check.condition) + ", " + std::string(fault::actionName(check.action)) : "Event";
  return std::string("| `") + check.reason + "` | " + check.meaning + " | " + limitText(check.limit) + " | " +
         effect + " | " + patienceText(check.patience) + " | " + clearText(check) + " | " + check.source +
         ", " + check.date + " |\n";
}

}  // namespace

std::span<const ProbeKind* const> allProbes() {
  static const std::array kAll = {&nvidiaProbe(),  &neuronProbe(),  &amdProbe(),
                                  &gaudiProbe(),   &pcieProbe(),    &memoryProbe(),
                                  &storageProbe(), &networkProbe(), &kernelProbe()};
  return kAll;
}

Result<std::vector<const ProbeKind*>> chooseProbes(const std::vector<std::string>& names) {
  const std::set<std::string_view> wanted(names.begin(), names.end());
  const auto known = namesOf(allProbes());
  for (const std::string_view name : wanted) {
    if (name != "all" && !std::ranges::count(known, name)) {
      return fail(Code::kInvalidArgument, "--probes: there is no probe \"" + std::string(name) + "\"" +
                                              didYouMean(name, known) + "; --probes=help lists them");
    }
  }
  std::vector<const ProbeKind*> chosen;
  for (const ProbeKind* kind : allProbes()) {
    if (wanted.contains("all") || wanted.contains(kind->name)) {
      chosen.push_back(kind);
    }
  }
  return chosen;
}

ProbesConfig defaultProbesConfig() {
  ProbesConfig config;
  for (const ProbeKind* kind : allProbes()) {
    config.probes.emplace(kind->name, kind->defaults());
  }
  return config;
}

Result<ProbesConfig> parseProbesConfig(std::string_view text, const std::string& file) {
  MAINSTAY_ASSIGN(const auto documents, parseYaml(text, file));
  ProbesConfig config = defaultProbesConfig();
  if (documents.empty()) {
    return config;
  }
  if (documents.size() > 1) {
    return fail(Code::kInvalidArgument,
                file + ": expected one document, found " + std::to_string(documents.size()));
  }
  DecodeErrors errors = documents[0].errors();
  const Cursor root(documents[0].value, errors);
  root.allow({"instanceType", "probes"});
  config.instanceType = root.at("instanceType").string("");
  const auto known = namesOf(allProbes());
  for (const auto& [name, probe] : root.at("probes").members()) {
    const auto at = std::ranges::find(known, name);
    if (at == known.end()) {
      probe.error("there is no such probe" + didYouMean(name, known));
    } else {
      readProbe(probe, *allProbes()[static_cast<std::size_t>(at - known.begin())], config.probes.at(name));
    }
  }
  MAINSTAY_TRY(errors.result());
  return config;
}

std::string describeProbes() {
  std::string text;
  for (const ProbeKind* kind : allProbes()) {
    text += std::string("### ") + kind->name + "\n\nReads " + kind->reads + ", every " +
            humanDuration(kind->interval) + ". Needs " +
            (*kind->privilege == '\0' ? "no privilege" : kind->privilege) +
            ".\n\n| reason | what | limit | sets | confirmed by | over when | source "
            "|\n|---|---|---|---|---|---|---|\n";
    for (const Check& check : kind->checks) {
      text += rowOf(check);
    }
    text += "\n";
  }
  return text;
}

}  // namespace mainstay::agent::probes
