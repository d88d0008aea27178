#include "recovery/node_marks.h"

#include "api/names.h"

namespace mainstay::recovery {
namespace {

constexpr std::size_t kMaxLabelValue = 63;

bool alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// What a label value may hold: 63 characters, letters, digits, - _ . inside.
std::string labelValue(std::string text) {
  text.resize(std::min(text.size(), kMaxLabelValue));
  for (char& c : text) {
    c = alphanumeric(c) || c == '-' || c == '.' ? c : '_';
  }
  while (!text.empty() && !alphanumeric(text.back())) {
    text.pop_back();
  }
  const auto first = std::find_if(text.begin(), text.end(), alphanumeric);
  text.erase(text.begin(), first);
  return text;
}

bool cordoned(const Json& node) {
  const Json* value = find(node, "spec", "unschedulable");
  return value && value->is_bool() && value->get_bool();
}

api::Taint healthTaint() {
  return {.key = api::kHealthTaintKey, .value = api::kHealthTaintValue, .effect = "NoSchedule"};
}

bool isMarked(const Json& node) {
  return !findString(node, "metadata", "annotations", api::kRecoveryAnnotation).empty();
}

// The API server notes for each field manager which labels it wrote.
bool wroteHealthLabel(const Json& node) {
  const Json* managers = find(node, "metadata", "managedFields");
  if (!managers || !managers->is_array()) {
    return false;
  }
  const std::string field = std::string("f:") + api::kHealthStatusLabel;
  for (const Json& entry : managers->get_array()) {
    const Json* labels = find(entry, "fieldsV1", "f:metadata", "f:labels");
    if (findString(entry, "manager") == api::kRecoveryManager && labels && findMember(*labels, field)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string faultDetails(const std::vector<fault::Finding>& faults) {
  JsonArray list;
  for (const fault::Finding& fault : faults) {
    list.push_back(JsonObject{{"timestamp", formatTime(fault.last)},
                              {"type", fault.type},
                              {"reason", fault.reason},
                              {"message", fault.line}});
  }
  return toText(list);
}

kube::NodeChange isolation(const Json& node, const std::string& incident,
                           const std::vector<fault::Finding>& faults) {
  kube::NodeChange change;
  change.labels[api::kHealthStatusLabel] = api::kPendingReplacement;
  if (!faults.empty()) {
    change.labels[api::kFaultTypesLabel] = labelValue(faults.front().type);
    change.labels[api::kFaultReasonsLabel] = labelValue(faults.front().reason);
  }
  change.annotations[api::kFaultDetailsAnnotation] = faultDetails(faults);
  change.annotations[api::kRecoveryAnnotation] = incident;
  change.addTaints.push_back(healthTaint());
  if (!cordoned(node)) {
    change.unschedulable = true;
    change.annotations[api::kCordonedAnnotation] = "true";
  }
  return change;
}

kube::NodeChange restoration(const Json& node, const std::optional<std::string>& label) {
  kube::NodeChange change;
  const bool marked = isMarked(node);
  if (label && marked) {
    change.labels[api::kHealthStatusLabel] = *label;
  } else if (!label && (marked || wroteHealthLabel(node))) {
    change.labels[api::kHealthStatusLabel] = std::nullopt;
  }
  if (!marked) {
    return change;
  }
  change.labels[api::kFaultTypesLabel] = std::nullopt;
  change.labels[api::kFaultReasonsLabel] = std::nullopt;
  change.annotations[api::kFaultDetailsAnnotation] = std::nullopt;
  change.annotations[api::kRecoveryAnnotation] = std::nullopt;
  change.annotations[api::kCordonedAnnotation] = std::nullopt;
  change.removeTaints.push_back(healthTaint());
  if (findString(node, "metadata", "annotations", api::kCordonedAnnotation) == "true") {
    change.unschedulable = false;
  }
  return change;
}

bool bearsOurMarks(const Json& node) {
  return isMarked(node) || wroteHealthLabel(node);
}

}  // namespace mainstay::recovery
