#include "agent/bad_files.h"

#include <algorithm>

#include "agent/source_health.h"

namespace mainstay::agent {
namespace {

std::string baseName(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

// A line of /readyz and a cell of a table have no room for more than one.
std::string inOneLine(const std::string& lines) {
  std::string text;
  for (const char c : lines) {
    text += c == '\n' ? "; " : std::string(1, c);
  }
  return text;
}

}  // namespace

std::vector<ConditionSpec> BadFilesMonitor::conditions() const {
  return {monitorDegraded()};
}

std::vector<ReasonSpec> BadFilesMonitor::reasons() const {
  std::vector<ReasonSpec> specs;
  for (const BadFile& file : files_) {
    specs.push_back({kMonitorDegraded, kBadRuleFile, fault::ClearOn::kEvidence, true, true, deviceOf(file)});
  }
  return specs;
}

TimePoint BadFilesMonitor::step(TimePoint now, NodeState& state) {
  if (!told_) {
    told_ = true;
    state.expectUndeclared();
    for (const BadFile& file : files_) {
      state.report(degraded(kBadRuleFile, deviceOf(file),
                            inOneLine(file.why) + ". Meanwhile " + file.instead +
                                "; all other monitors run. Mend the file and restart the agent, which reads "
                                "it at its start only",
                            now));
    }
  }
  return kNever;
}

std::vector<SourceStatus> BadFilesMonitor::sources() const {
  std::vector<SourceStatus> all;
  for (const BadFile& file : files_) {
    all.push_back({.name = file.path, .trouble = inOneLine(file.why), .lastNews = {}, .needed = false});
  }
  return all;
}

// The file's name, as in the ids of rules; its path where two have one name.
std::string BadFilesMonitor::deviceOf(const BadFile& file) const {
  const std::string name = baseName(file.path);
  const bool taken = std::ranges::any_of(
      files_, [&](const BadFile& other) { return other.path != file.path && baseName(other.path) == name; });
  return taken ? file.path : name;
}

}  // namespace mainstay::agent
