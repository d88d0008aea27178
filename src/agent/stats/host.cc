#include <cmath>
#include <map>

#include "agent/proc_text.h"
#include "agent/stats/collectors.h"
#include "fault/text.h"

namespace mainstay::agent::stats {
namespace {

std::string withoutQuotes(std::string_view value) {
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  return std::string(quoted ? value.substr(1, value.size() - 2) : value);
}

std::map<std::string, std::string, std::less<>> assignmentsOf(std::string_view osRelease) {
  std::map<std::string, std::string, std::less<>> values;
  for (const std::string_view line : linesOf(osRelease)) {
    const std::string_view text = fault::trim(line);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && !text.starts_with('#')) {
      values[std::string(text.substr(0, equals))] = withoutQuotes(text.substr(equals + 1));
    }
  }
  return values;
}

}  // namespace

std::string osVersion(std::string_view osRelease) {
  auto values = assignmentsOf(osRelease);
  const std::string id = values["ID"];
  if (id.empty()) {
    return "unknown";
  }
  // Container-Optimized OS has its milestone in VERSION, and no more than that. Rolling distributions have no
  // VERSION.
  const std::string version = id == "cos" ? values["VERSION"] + "-" + values["BUILD_ID"] : values["VERSION"];
  return version.empty() ? id : id + " " + version;
}

Result<Samples> hostSamples(std::string_view uptime, const std::string& kernelVersion,
                            const std::string& osVersion) {
  const auto words = wordsOf(uptime);
  const auto seconds = words.empty() ? std::nullopt : numberOf(words[0]);
  if (!seconds) {
    return notAsExpected("uptime", "seconds", uptime);
  }
  return Samples{
      {"host/uptime", {{"kernel_version", kernelVersion}, {"os_version", osVersion}}, std::floor(*seconds)}};
}

}  // namespace mainstay::agent::stats
