#include "fault/finding.h"

#include <algorithm>
#include <array>

#include "fault/text.h"

namespace mainstay::fault {
namespace {

constexpr std::array<std::string_view, 5> kActionNames = {"none", "restart-app", "reset", "reboot",
                                                          "replace"};
constexpr std::array<std::string_view, 5> kSeverityNames = {"unknown", "info", "warning", "error", "fatal"};
constexpr std::array<std::string_view, 3> kClearOnNames = {"evidence", "boot", "instance"};

// aws/eks-node-monitoring-agent 1.7, pkg/conditions.
constexpr std::array<std::string_view, 5> kReadyConditions = {
    "AcceleratedHardwareReady", "ContainerRuntimeReady", "KernelReady", "NetworkingReady", "StorageReady"};

template <class Enum, std::size_t N>
std::optional<Enum> fromName(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() ? std::nullopt : std::optional(static_cast<Enum>(at - names.begin()));
}

// JSON numbers above 2^63 arrive as another kind; both are counts to us.
std::uint64_t unsignedOf(const Cursor& cursor, std::uint64_t fallback) {
  if (cursor.exists() && cursor.value().is_uint64()) {
    return cursor.value().get_uint64();
  }
  const std::int64_t number = cursor.integer(static_cast<std::int64_t>(fallback));
  if (number < 0) {
    cursor.error("expected a count, found " + std::to_string(number));
    return fallback;
  }
  return static_cast<std::uint64_t>(number);
}

}  // namespace

bool isReadyCondition(std::string_view type) {
  return std::ranges::find(kReadyConditions, type) != kReadyConditions.end();
}

bool Finding::isToldBy(std::string_view conditionType) const {
  return type == conditionType || std::ranges::find(also, conditionType, &ForeignName::type) != also.end();
}

bool isWorse(const Finding& a, const Finding& b) {
  return a.action > b.action || (a.action == b.action && a.first < b.first);
}

std::string findingId(const std::string& rule, const std::string& device) {
  return rule + "@" + device;
}

std::string_view actionName(RepairAction action) {
  return kActionNames.at(static_cast<std::size_t>(action));
}

std::optional<RepairAction> parseAction(std::string_view name) {
  return fromName<RepairAction>(kActionNames, name);
}

std::string_view severityName(Severity severity) {
  return kSeverityNames.at(static_cast<std::size_t>(severity));
}

std::optional<Severity> parseSeverity(std::string_view name) {
  return fromName<Severity>(kSeverityNames, name);
}

std::string_view clearOnName(ClearOn clearOn) {
  return kClearOnNames.at(static_cast<std::size_t>(clearOn));
}

std::optional<ClearOn> parseClearOn(std::string_view name) {
  return fromName<ClearOn>(kClearOnNames, name);
}

JsonObject encodeFinding(const Finding& finding) {
  JsonObject object{{"id", finding.id},
                    {"type", finding.type},
                    {"reason", finding.reason},
                    {"class", finding.faultClass},
                    {"device", finding.device},
                    {"action", actionName(finding.action)},
                    {"rule", finding.rule},
                    {"seq", finding.seq},
                    {"bootID", finding.bootId},
                    {"instance", finding.instance},
                    {"first", formatMicroTime(finding.first)},
                    {"last", formatMicroTime(finding.last)},
                    {"count", finding.count},
                    {"line", cutUtf8(finding.line, kMaxFindingLine)}};
  if (!finding.also.empty()) {
    JsonArray also;
    for (const ForeignName& name : finding.also) {
      also.push_back(JsonObject{{"type", name.type}, {"reason", name.reason}});
    }
    object["also"] = std::move(also);
  }
  return object;
}

Finding decodeFinding(const Cursor& element) {
  Finding finding;
  finding.id = element.at("id").string();
  finding.type = element.at("type").string();
  finding.reason = element.at("reason").string();
  finding.faultClass = element.at("class").string("");
  finding.device = element.at("device").string("");
  const std::string action = element.at("action").string("none");
  if (const auto parsed = parseAction(action)) {
    finding.action = *parsed;
  } else {
    element.at("action").error("unknown action \"" + action + "\"");
  }
  finding.rule = element.at("rule").string("");
  finding.seq = unsignedOf(element.at("seq"), 0);
  finding.bootId = element.at("bootID").string("");
  finding.instance = element.at("instance").string("");
  finding.first = element.at("first").time().value_or(TimePoint{});
  finding.last = element.at("last").time().value_or(finding.first);
  finding.count = unsignedOf(element.at("count"), 1);
  finding.line = element.at("line").string("");
  for (const Cursor& name : element.at("also").elements()) {
    finding.also.push_back({name.at("type").string(), name.at("reason").string("")});
  }
  return finding;
}

std::string encodeFindings(std::vector<Finding> findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.last < b.last; });
  std::vector<std::string> newestFirst;
  std::size_t bytes = 1;  // "[" and "]", less the comma that the first element does not have
  for (auto it = findings.rbegin(); it != findings.rend() && newestFirst.size() < kMaxFindings; ++it) {
    std::string text = toText(encodeFinding(*it));
    if (bytes + text.size() + 1 > kMaxFindingsBytes) {
      break;
    }
    bytes += text.size() + 1;
    newestFirst.push_back(std::move(text));
  }
  std::string out = "[";
  for (auto it = newestFirst.rbegin(); it != newestFirst.rend(); ++it) {
    out.append(out.size() > 1 ? "," : "").append(*it);
  }
  return out + "]";
}

Result<std::vector<Finding>> decodeFindings(std::string_view annotation) {
  if (annotation.empty()) {
    return std::vector<Finding>();
  }
  MAINSTAY_ASSIGN(const Json document, parseJson(annotation));
  DecodeErrors errors;
  std::vector<Finding> findings;
  for (const Cursor& element : Cursor(document, errors).elements()) {
    findings.push_back(decodeFinding(element));
  }
  MAINSTAY_TRY(errors.result());
  return findings;
}

}  // namespace mainstay::fault
