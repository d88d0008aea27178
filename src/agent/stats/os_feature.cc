#include <charconv>
#include <cstdint>
#include <map>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"
#include "fault/npd_json.h"
#include "fault/text.h"

namespace mainstay::agent::stats {
namespace {

// Blanks within double quotes do not end an argument.
std::vector<std::string_view> argumentsOf(std::string_view cmdline) {
  std::vector<std::string_view> arguments;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= cmdline.size(); ++i) {
    const bool ends = i == cmdline.size() || (!quoted && cmdline[i] == ' ');
    if (ends && i > begin) {
      arguments.push_back(cmdline.substr(begin, i - begin));
    }
    begin = ends ? i + 1 : begin;
    quoted = quoted != (i < cmdline.size() && cmdline[i] == '"');
  }
  return arguments;
}

// What an argument "key=1" or "key="1"" says; 0 without one, or when it is no number. The last one counts.
double argumentValue(std::string_view cmdline, std::string_view key) {
  double value = 0;
  for (const std::string_view argument : argumentsOf(cmdline)) {
    if (!argument.starts_with(key) || argument.substr(key.size(), 1) != "=") {
      continue;
    }
    std::string_view text = argument.substr(key.size() + 1);
    while (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
      text.remove_prefix(1);
    }
    while (!text.empty() && (text.back() == '"' || text.back() == '\'')) {
      text.remove_suffix(1);
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    value = error == std::errc() && end == text.data() + text.size() ? static_cast<double>(number) : 0;
  }
  return value;
}

struct ModulesSeen {
  bool gpu = false;
  std::string unknown;  // comma-separated
};

// "nvidia 56012800 1 nvidia_uvm, Live 0x0000000000000000 (PO)": the seventh word is why the module taints the
// kernel.
ModulesSeen judgeModules(std::string_view modules, const std::set<std::string, std::less<>>& known) {
  ModulesSeen seen;
  for (const std::string_view line : linesOf(modules)) {
    const auto words = wordsOf(line);
    if (words.empty()) {
      continue;
    }
    const bool foreign = words.size() > 6 && words[6].find_first_of("PO") != std::string_view::npos;
    if (words[0].find("nvidia") != std::string_view::npos) {
      seen.gpu = true;
    } else if (foreign && !known.contains(words[0])) {
      seen.unknown += (seen.unknown.empty() ? "" : ",") + std::string(words[0]);
    }
  }
  return seen;
}

}  // namespace

Samples osFeatureSamples(std::string_view cmdline, std::string_view modules,
                         const std::set<std::string, std::less<>>& known) {
  const std::string_view line = fault::trim(cmdline);
  const ModulesSeen seen = judgeModules(modules, known);
  const bool integrity =
      argumentValue(line, "module.sig_enforce") == 1 && argumentValue(line, "loadpin.enabled") == 1;
  const auto feature = [](const char* name, const std::string& value, double enabled) {
    return Sample{"system/os_feature", {{"os_feature", name}, {"value", value}}, enabled};
  };
  return {feature("KTD", "", argumentValue(line, "csm.enabled")),
          feature("UnifiedCgroupHierarchy", "", argumentValue(line, "systemd.unified_cgroup_hierarchy")),
          feature("KernelModuleIntegrity", "", integrity ? 1 : 0),
          feature("UnknownModules", seen.unknown, seen.unknown.empty() ? 0 : 1),
          feature("GPUSupport", "", seen.gpu ? 1 : 0)};
}

Result<std::set<std::string, std::less<>>> parseKnownModules(std::string_view json, const std::string& file) {
  MAINSTAY_ASSIGN(const fault::NpdDocument document, fault::parseNpdJson(json, file));
  DecodeErrors errors = document.errors();
  std::set<std::string, std::less<>> known;
  for (const Cursor& module : Cursor(document.value, errors).elements()) {
    known.insert(fault::field(module, "moduleName").string(""));
  }
  MAINSTAY_TRY(errors.result());
  return known;
}

}  // namespace mainstay::agent::stats
