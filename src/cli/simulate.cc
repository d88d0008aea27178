#include "cli/simulate.h"

#include <algorithm>
#include <cstdio>

#include "base/file_system.h"
#include "local/scenario/simulation.h"

namespace mainstay::cli {
namespace {

constexpr int kAsExpected = 0;
constexpr int kNotAsExpected = 1;
constexpr int kBadPage = 2;
constexpr std::size_t kMaxPage = 1 << 20;  // base/yaml.h reads no more

std::string sinceZero(TimePoint zero, TimePoint at) {
  char text[32];
  std::snprintf(text, sizeof text, "%10.3f s", static_cast<double>((at - zero).count()) / 1e6);
  return text;
}

std::string oneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string timelineText(const local::Report& report, const Palette& palette) {
  Table table({"      time", "who", "what", "why"});
  for (const local::StoryLine& line : report.story) {
    table.add({sinceZero(report.zero, line.at), line.who, oneLine(line.what), oneLine(line.why)});
  }
  const std::string text = table.text();
  const std::size_t head = text.find('\n');
  return palette.paint(Colour::kBold, text.substr(0, head)) + text.substr(head);
}

std::string judgementText(const local::Report& report, const local::Judgement& judgement,
                          const Palette& palette) {
  const local::Expectation& expectation = judgement.expectation;
  const bool ok = judgement.verdict.ok;
  const std::string word = judgement.never ? " never    " : " expect   ";
  std::string text = palette.paint(ok ? Colour::kGreen : Colour::kRed, ok ? " ok     " : " NOT MET") + word;
  text += expectation.text;
  if (!ok) {
    text += "\n                   " + report.file + ":" + std::to_string(expectation.line) + ": " +
            judgement.verdict.seen;
  } else if (!judgement.verdict.seen.empty()) {
    text += palette.paint(Colour::kDim, "  (" + judgement.verdict.seen + ")");
  }
  return text + "\n";
}

std::string reportText(const local::Report& report, const Palette& palette) {
  std::string text = palette.paint(Colour::kBold, report.title) + "\n";
  text += "seed " + std::to_string(report.seed) + ", " + humanDuration(report.span) + " of virtual time\n\n";
  text += timelineText(report, palette) + "\n";
  for (const local::Judgement& judgement : report.judgements) {
    text += judgementText(report, judgement, palette);
  }
  for (const local::Violation& violation : report.violations) {
    text += palette.paint(Colour::kRed, " BROKEN ") + " always   " + violation.rule +
            "\n                   at" + sinceZero(report.zero, violation.at) + ": " + violation.what + "\n";
  }
  const auto met = std::ranges::count_if(report.judgements, [](const auto& one) { return one.verdict.ok; });
  text += "\n " + std::to_string(met) + " of " + std::to_string(report.judgements.size()) + " as expected";
  text += report.violations.empty() ? "; what must always hold, held\n"
                                    : "; what must always hold, was broken " +
                                          std::to_string(report.violations.size()) + " times\n";
  return text;
}

Json secondsSinceZero(const local::Report& report, TimePoint at) {
  return Json(static_cast<double>((at - report.zero).count()) / 1e6);
}

Json reportDocument(const local::Report& report) {
  JsonArray timeline;
  for (const local::StoryLine& line : report.story) {
    timeline.push_back(JsonObject{{"seconds", secondsSinceZero(report, line.at)},
                                  {"who", line.who},
                                  {"what", line.what},
                                  {"why", line.why}});
  }
  JsonArray expectations;
  for (const local::Judgement& judgement : report.judgements) {
    expectations.push_back(JsonObject{{"kind", judgement.never ? "never" : "expect"},
                                      {"text", judgement.expectation.text},
                                      {"line", judgement.expectation.line},
                                      {"ok", judgement.verdict.ok},
                                      {"seen", judgement.verdict.seen}});
  }
  JsonArray violations;
  for (const local::Violation& violation : report.violations) {
    violations.push_back(JsonObject{{"seconds", secondsSinceZero(report, violation.at)},
                                    {"rule", violation.rule},
                                    {"what", violation.what}});
  }
  return JsonObject{{"scenario", report.title},
                    {"file", report.file},
                    {"seed", report.seed},
                    {"ok", report.ok()},
                    {"timeline", std::move(timeline)},
                    {"expectations", std::move(expectations)},
                    {"violations", std::move(violations)}};
}

Result<local::Scenario> readScenario(const std::string& path) {
  MAINSTAY_ASSIGN(const std::string text, RealFileSystem().read(path, kMaxPage));
  return local::parseScenario(text, path);
}

}  // namespace

int simulate(const SimulateOptions& options, std::ostream& out, std::ostream& errors) {
  const Result<local::Scenario> scenario = readScenario(options.scenario);
  if (!scenario) {
    errors << scenario.error().toString() << "\n";
    return kBadPage;
  }
  const std::uint64_t first = options.seed.value_or(scenario->seed);
  const std::uint64_t last = first + static_cast<std::uint64_t>(std::max(options.seeds, 1)) - 1;
  for (std::uint64_t seed = first;; ++seed) {
    const Result<local::Report> report = local::play(*scenario, seed);
    if (!report) {
      errors << options.scenario << ": seed " << seed << ": " << report.error().toString() << "\n";
      return report.error().code() == Code::kInvalidArgument ? kBadPage : kNotAsExpected;
    }
    if (seed == last || !report->ok()) {
      print(out, options.format, reportDocument(*report), reportText(*report, options.palette));
      return report->ok() ? kAsExpected : kNotAsExpected;
    }
  }
}

}  // namespace mainstay::cli
