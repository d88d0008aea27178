#include "local/api/table.h"

#include <algorithm>
#include <map>

#include "local/api/json_access.h"
#include "local/api/json_path.h"

namespace mainstay::local {
namespace {

constexpr char kNothing[] = "<none>";
constexpr char kUnknown[] = "<unknown>";

struct TableColumn {
  std::string name;
  std::string type;
  int priority;  // 1: only with -o wide
  std::function<Json(const Json& object, TimePoint now)> cell;
};
using TableColumns = std::vector<TableColumn>;

std::string textOr(const std::string& text, const std::string& fallback) {
  return text.empty() ? fallback : text;
}

std::string ageSince(const std::string& time, TimePoint now) {
  const auto at = parseTime(time);
  return at ? shortAge(now - *at) : kUnknown;
}

// --- Columns that many kinds have ---

TableColumn textColumn(std::string name, int priority, std::function<std::string(const Json&)> text) {
  return {std::move(name), "string", priority,
          [text = std::move(text)](const Json& object, TimePoint) { return Json(text(object)); }};
}

TableColumn nameColumn() {
  return textColumn("Name", 0, [](const Json& object) { return findString(object, "metadata", "name"); });
}

TableColumn ageColumn() {
  return {"Age", "string", 0, [](const Json& object, TimePoint now) {
            return Json(ageSince(findString(object, "metadata", "creationTimestamp"), now));
          }};
}

TableColumn pathColumn(std::string name, int priority, std::string path, std::string fallback = kNothing) {
  return textColumn(
      std::move(name), priority, [path = std::move(path), fallback = std::move(fallback)](const Json& o) {
        const auto found = findByPath(o, path);
        if (found.empty()) {
          return fallback;
        }
        return found.front()->is_string() ? textOr(std::string(found.front()->get_string()), fallback)
                                          : toText(*found.front());
      });
}

TableColumn countColumn(std::string name, std::string member) {
  return {std::move(name), "integer", 0, [member = std::move(member)](const Json& object, TimePoint) {
            const Json* data = findMember(object, member);
            return Json(data && data->is_object() ? static_cast<std::int64_t>(data->get_object().size()) : 0);
          }};
}

// --- Nodes ---

std::string nodeStatus(const Json& node) {
  std::string text = "Unknown";
  for (const Json& condition : arrayAt(node, "status", "conditions")) {
    if (findString(condition, "type") == "Ready") {
      text = findString(condition, "status") == "True" ? "Ready" : "NotReady";
    }
  }
  const Json* cordoned = find(node, "spec", "unschedulable");
  return cordoned && cordoned->is_bool() && cordoned->get_bool() ? text + ",SchedulingDisabled" : text;
}

std::string nodeRoles(const Json& node) {
  static constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::string roles;
  const Json* labels = find(node, "metadata", "labels");
  if (labels && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      const std::string_view name(key);
      if (name.starts_with(kPrefix) && name.size() > kPrefix.size()) {
        roles += (roles.empty() ? "" : ",") + std::string(name.substr(kPrefix.size()));
      }
    }
  }
  return textOr(roles, kNothing);
}

TableColumns nodeColumns() {
  return {nameColumn(),
          textColumn("Status", 0, nodeStatus),
          textColumn("Roles", 0, nodeRoles),
          ageColumn(),
          pathColumn("Version", 0, ".status.nodeInfo.kubeletVersion", ""),
          pathColumn("Internal-IP", 1, ".status.addresses[?(@.type==\"InternalIP\")].address"),
          pathColumn("External-IP", 1, ".status.addresses[?(@.type==\"ExternalIP\")].address"),
          pathColumn("OS-Image", 1, ".status.nodeInfo.osImage", kUnknown),
          pathColumn("Kernel-Version", 1, ".status.nodeInfo.kernelVersion", kUnknown),
          pathColumn("Container-Runtime", 1, ".status.nodeInfo.containerRuntimeVersion", kUnknown)};
}

// --- Pods ---

std::string podReady(const Json& pod) {
  std::int64_t ready = 0;
  for (const Json& status : arrayAt(pod, "status", "containerStatuses")) {
    const Json* flag = findMember(status, "ready");
    ready += flag && flag->is_bool() && flag->get_bool() ? 1 : 0;
  }
  return std::to_string(ready) + "/" + std::to_string(arrayAt(pod, "spec", "containers").size());
}

// Why a container does not run: "CrashLoopBackOff", "Error", "ExitCode:3"; "" when it does.
std::string containerTrouble(const Json& status) {
  if (const std::string waiting = findString(status, "state", "waiting", "reason"); !waiting.empty()) {
    return waiting;
  }
  const Json* ended = find(status, "state", "terminated");
  if (!ended) {
    return "";
  }
  if (const std::string reason = findString(*ended, "reason"); !reason.empty()) {
    return reason;
  }
  const std::int64_t signal = integerAt(*ended, "signal").value_or(0);
  return signal != 0 ? "Signal:" + std::to_string(signal)
                     : "ExitCode:" + std::to_string(integerAt(*ended, "exitCode").value_or(0));
}

std::string podStatus(const Json& pod) {
  std::string text = textOr(findString(pod, "status", "reason"), findString(pod, "status", "phase"));
  bool running = false;
  const JsonArray& statuses = arrayAt(pod, "status", "containerStatuses");
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    const std::string trouble = containerTrouble(*status);
    text = trouble.empty() ? text : trouble;
    running = running || find(*status, "state", "running");
  }
  if (text == "Completed" && running) {
    text = "Running";
  }
  if (isDeleting(pod)) {
    return findString(pod, "status", "reason") == "NodeLost" ? "Unknown" : "Terminating";
  }
  return text;
}

Json podRestarts(const Json& pod, TimePoint now) {
  std::int64_t restarts = 0;
  std::string last;
  for (const Json& status : arrayAt(pod, "status", "containerStatuses")) {
    restarts += integerAt(status, "restartCount").value_or(0);
    last = std::max(last, findString(status, "lastState", "terminated", "finishedAt"));
  }
  const std::string count = std::to_string(restarts);
  return Json(restarts == 0 || last.empty() ? count : count + " (" + ageSince(last, now) + " ago)");
}

TableColumns podColumns() {
  return {nameColumn(),
          textColumn("Ready", 0, podReady),
          textColumn("Status", 0, podStatus),
          {"Restarts", "string", 0, podRestarts},
          ageColumn(),
          pathColumn("IP", 1, ".status.podIP"),
          pathColumn("Node", 1, ".spec.nodeName"),
          pathColumn("Nominated Node", 1, ".status.nominatedNodeName"),
          textColumn("Readiness Gates", 1, [](const Json&) { return std::string(kNothing); })};
}

// --- Events ---

std::string eventObject(const Json& event) {
  std::string kind = findString(event, "involvedObject", "kind");
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return kind + "/" + findString(event, "involvedObject", "name");
}

std::string eventTime(const Json& event, std::string_view key) {
  return textOr(findString(event, key),
                textOr(findString(event, "eventTime"), findString(event, "metadata", "creationTimestamp")));
}

std::string eventSource(const Json& event) {
  const std::string component =
      textOr(findString(event, "source", "component"), findString(event, "reportingComponent"));
  const std::string host =
      textOr(findString(event, "source", "host"), findString(event, "reportingInstance"));
  return host.empty() ? component : component + ", " + host;
}

TableColumns eventColumns() {
  return {{"Last Seen", "string", 0,
           [](const Json& event, TimePoint now) {
             return Json(ageSince(eventTime(event, "lastTimestamp"), now));
           }},
          pathColumn("Type", 0, ".type", ""),
          pathColumn("Reason", 0, ".reason", ""),
          textColumn("Object", 0, eventObject),
          pathColumn("Subobject", 1, ".involvedObject.fieldPath", ""),
          textColumn("Source", 1, eventSource),
          pathColumn("Message", 0, ".message", ""),
          {"First Seen", "string", 1,
           [](const Json& event, TimePoint now) {
             return Json(ageSince(eventTime(event, "firstTimestamp"), now));
           }},
          {"Count", "integer", 1,
           [](const Json& event, TimePoint) { return Json(integerAt(event, "count").value_or(1)); }},
          pathColumn("Name", 1, ".metadata.name", "")};
}

// --- The others ---

std::string servicePorts(const Json& service) {
  std::string text;
  for (const Json& port : arrayAt(service, "spec", "ports")) {
    text += (text.empty() ? "" : ",") + std::to_string(integerAt(port, "port").value_or(0)) + "/" +
            textOr(findString(port, "protocol"), "TCP");
  }
  return textOr(text, kNothing);
}

// "a=b,c=d"
TableColumn pairsColumn(std::string name, int priority, std::string path) {
  return textColumn(std::move(name), priority, [path = std::move(path)](const Json& object) {
    std::string text;
    const auto found = findByPath(object, path);
    if (!found.empty() && found.front()->is_object()) {
      for (const auto& [key, value] : found.front()->get_object()) {
        const std::string pair =
            std::string(key) + "=" + (value.is_string() ? std::string(value.get_string()) : "");
        text += (text.empty() ? "" : ",") + pair;
      }
    }
    return textOr(text, kNothing);
  });
}

TableColumn numberColumn(std::string name, std::string member) {
  return {std::move(name), "integer", 0, [member = std::move(member)](const Json& object, TimePoint) {
            return Json(integerAt(object, "status", member).value_or(0));
          }};
}

// One of each container of the template.
TableColumn containersColumn(std::string name, std::string member) {
  return textColumn(std::move(name), 1, [member = std::move(member)](const Json& object) {
    std::string text;
    for (const Json& container : arrayAt(object, "spec", "template", "spec", "containers")) {
      text += (text.empty() ? "" : ",") + findString(container, member);
    }
    return text;
  });
}

TableColumns daemonSetColumns() {
  return {nameColumn(),
          numberColumn("Desired", "desiredNumberScheduled"),
          numberColumn("Current", "currentNumberScheduled"),
          numberColumn("Ready", "numberReady"),
          numberColumn("Up-to-date", "updatedNumberScheduled"),
          numberColumn("Available", "numberAvailable"),
          pairsColumn("Node Selector", 0, ".spec.template.spec.nodeSelector"),
          ageColumn(),
          containersColumn("Containers", "name"),
          containersColumn("Images", "image"),
          pairsColumn("Selector", 1, ".spec.selector.matchLabels")};
}

const std::map<std::string, TableColumns>& builtInColumns() {
  static const std::map<std::string, TableColumns> kColumns = {
      {"nodes", nodeColumns()},
      {kPodShelf, podColumns()},
      {"events", eventColumns()},
      {"leases.coordination.k8s.io",
       {nameColumn(), pathColumn("Holder", 0, ".spec.holderIdentity", ""), ageColumn()}},
      {kNamespaceShelf, {nameColumn(), pathColumn("Status", 0, ".status.phase", ""), ageColumn()}},
      {"configmaps", {nameColumn(), countColumn("Data", "data"), ageColumn()}},
      {"secrets", {nameColumn(), pathColumn("Type", 0, ".type"), countColumn("Data", "data"), ageColumn()}},
      {"services",
       {nameColumn(), pathColumn("Type", 0, ".spec.type"), pathColumn("Cluster-IP", 0, ".spec.clusterIP"),
        pathColumn("External-IP", 0, ".spec.externalIPs[0]"), textColumn("Port(s)", 0, servicePorts),
        ageColumn(), pairsColumn("Selector", 1, ".spec.selector")}},
      {"daemonsets.apps", daemonSetColumns()},
      {kBudgetShelf,
       {nameColumn(), pathColumn("Min Available", 0, ".spec.minAvailable", "N/A"),
        pathColumn("Max Unavailable", 0, ".spec.maxUnavailable", "N/A"),
        pathColumn("Allowed Disruptions", 0, ".status.disruptionsAllowed", "0"), ageColumn()}},
      {kCrdShelf, {nameColumn(), pathColumn("Created At", 0, ".metadata.creationTimestamp", "")}},
  };
  return kColumns;
}

TableColumns customColumns(const Kind& kind) {
  TableColumns columns{nameColumn()};
  for (const PrinterColumn& column : kind.columns) {
    columns.push_back(
        {column.name, column.type, column.priority,
         [path = column.jsonPath, date = column.type == "date"](const Json& object, TimePoint now) {
           const auto found = findByPath(object, path);
           if (found.empty()) {
             return Json();
           }
           return date && found.front()->is_string()
                      ? Json(ageSince(std::string(found.front()->get_string()), now))
                      : *found.front();
         }});
  }
  if (kind.columns.empty()) {
    columns.push_back(ageColumn());
  }
  return columns;
}

TableColumns columnsFor(const Kind& kind) {
  const auto known = builtInColumns().find(kind.shelf());
  return known != builtInColumns().end() ? known->second : customColumns(kind);
}

JsonArray definitionsOf(const TableColumns& columns) {
  JsonArray definitions;
  for (const TableColumn& column : columns) {
    const bool isName = column.name == "Name";
    definitions.push_back(JsonObject{{"name", column.name},
                                     {"type", column.type},
                                     {"format", isName ? "name" : ""},
                                     {"description", ""},
                                     {"priority", column.priority}});
  }
  return definitions;
}

JsonObject rowOf(const TableColumns& columns, const Json& object, const TableOptions& options) {
  JsonArray cells;
  for (const TableColumn& column : columns) {
    cells.push_back(column.cell(object, options.now));
  }
  if (options.wholeObjects) {
    return {{"cells", std::move(cells)}, {"object", object}};
  }
  const Json* metadata = findMember(object, "metadata");
  return {{"cells", std::move(cells)},
          {"object", JsonObject{{"kind", "PartialObjectMetadata"},
                                {"apiVersion", "meta.k8s.io/v1"},
                                {"metadata", metadata ? *metadata : Json(JsonObject())}}}};
}

}  // namespace

Json toTable(const Kind& kind, const Json& objectOrList, const TableOptions& options) {
  const TableColumns columns = columnsFor(kind);
  const bool isList = findString(objectOrList, "kind") == kind.resource.kind + "List";
  JsonArray rows;
  if (isList) {
    for (const Json& item : arrayAt(objectOrList, "items")) {
      rows.push_back(rowOf(columns, item, options));
    }
  } else {
    rows.push_back(rowOf(columns, objectOrList, options));
  }
  Json metadata = JsonObject{{"resourceVersion", findString(objectOrList, "metadata", "resourceVersion")}};
  if (const Json* whole = findMember(objectOrList, "metadata"); isList && whole) {
    metadata = *whole;
  }
  JsonArray definitions = options.header ? definitionsOf(columns) : JsonArray();
  return JsonObject{{"kind", "Table"},
                    {"apiVersion", "meta.k8s.io/v1"},
                    {"metadata", std::move(metadata)},
                    {"columnDefinitions", std::move(definitions)},
                    {"rows", std::move(rows)}};
}

// k8s.io/apimachinery/pkg/util/duration.HumanDuration.
std::string shortAge(Duration age) {
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  const auto two = [](std::int64_t big, const char* bigUnit, std::int64_t small, const char* smallUnit) {
    const std::string text = std::to_string(big) + bigUnit;
    return small == 0 ? text : text + std::to_string(small) + smallUnit;
  };
  if (seconds < 120) {
    return seconds < -1 ? "<invalid>" : std::to_string(std::max<std::int64_t>(seconds, 0)) + "s";
  }
  if (minutes < 180) {
    return minutes < 10 ? two(minutes, "m", seconds % 60, "s") : std::to_string(minutes) + "m";
  }
  if (hours < 48) {
    return hours < 8 ? two(hours, "h", minutes % 60, "m") : std::to_string(hours) + "h";
  }
  if (days < 730) {
    return days < 8 ? two(days, "d", hours % 24, "h") : std::to_string(days) + "d";
  }
  return days < 8 * 365 ? two(days / 365, "y", days % 365, "d") : std::to_string(days / 365) + "y";
}

}  // namespace mainstay::local
