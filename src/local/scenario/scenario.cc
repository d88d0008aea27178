#include "local/scenario/scenario.h"

#include <algorithm>
#include <set>

#include "api/names.h"
#include "base/yaml.h"

namespace mainstay::local {
namespace {

constexpr std::size_t kMaxNodes = 1000;
constexpr int kMaxDevices = 1024;                          // of one node
constexpr Duration kAftermath = std::chrono::minutes(10);  // played after the last thing that is named

template <class T>
std::optional<T> ifThere(const Cursor& in, T value) {
  return in.exists() ? std::optional<T>(std::move(value)) : std::nullopt;
}

int smallNumber(const Cursor& in, int fallback, int least, int most) {
  const std::int64_t number = in.integer(fallback);
  if (number < least || number > most) {
    in.error("expected a number from " + std::to_string(least) + " to " + std::to_string(most));
    return fallback;
  }
  return static_cast<int>(number);
}

// --- The cluster ---

ScenarioNode parseNode(const Cursor& in) {
  in.allow({"name", "providerID", "labels", "taints"});
  ScenarioNode node;
  node.name = in.at("name").string();
  node.providerId = in.at("providerID").string("");
  node.labels = in.at("labels").stringMap();
  for (const Cursor& taint : in.at("taints").elements()) {
    taint.allow({"key", "value", "effect"});
    taint.at("key").string();
    node.taints.push_back(taint.value());
  }
  return node;
}

ScenarioGroup parseGroup(const Cursor& in) {
  in.allow({"name", "min", "max", "launchDelay", "capacity", "devices", "names"});
  ScenarioGroup group;
  group.name = in.at("name").string(group.name);
  const auto size = [&](std::string_view key) {
    return ifThere(in.at(key), smallNumber(in.at(key), 0, 0, static_cast<int>(kMaxNodes)));
  };
  group.min = size("min");
  group.max = size("max");
  group.capacity = size("capacity");
  group.devices = smallNumber(in.at("devices"), group.devices, 0, kMaxDevices);
  group.launchDelay = in.at("launchDelay").duration(group.launchDelay);
  for (const Cursor& name : in.at("names").elements()) {
    group.names.push_back(name.string());
  }
  return group;
}

// RecoveryPolicy.spec over the one that a scenario starts from: every node, the local cloud.
Json policyObject(const Cursor& in) {
  Json spec = JsonObject{{"nodes", JsonObject()}, {"provider", "local"}};
  if (in.exists()) {
    in.members();  // for the error when it is no object
    mergePatch(spec, in.value());
  }
  return JsonObject{{"apiVersion", api::kGroupVersion},
                    {"kind", "RecoveryPolicy"},
                    {"metadata", JsonObject{{"name", "default"}}},
                    {"spec", std::move(spec)}};
}

Json replicaSpec(int replicas, const std::string& runs, int devices) {
  const JsonObject container{
      {"name", "pytorch"},
      {"image", "trainer"},
      {"args", runs.empty() ? JsonArray() : JsonArray{Json("--runs=" + runs)}},
      {"resources", JsonObject{{"limits", JsonObject{{"aws.amazon.com/neuron", std::to_string(devices)}}}}}};
  return JsonObject{{"replicas", replicas},
                    {"restartPolicy", "OnFailure"},
                    {"template", JsonObject{{"spec", JsonObject{{"containers", JsonArray{container}}}}}}};
}

// One Master and pods - 1 Workers, opted in to resume.
Json jobObject(const Cursor& in) {
  in.allow({"name", "namespace", "pods", "devices", "runs", "retries", "autoResume", "labels"});
  const int pods = smallNumber(in.at("pods"), 2, 1, 1000);
  const int devices = smallNumber(in.at("devices"), 16, 0, kMaxDevices);
  in.at("runs").duration(Duration(0));  // for the error when it is no duration
  const std::string runs = in.at("runs").string("");
  JsonObject annotations;
  if (in.at("autoResume").boolean(true)) {
    annotations[api::kAutoResumeAnnotation] = "true";
    annotations[api::kMaxRetryAnnotation] = std::to_string(smallNumber(in.at("retries"), 2, 0, 1000));
  }
  JsonObject labels;
  for (const auto& [key, value] : in.at("labels").stringMap()) {
    labels[key] = value;
  }
  JsonObject replicas{{"Master", replicaSpec(1, runs, devices)}};
  if (pods > 1) {
    replicas["Worker"] = replicaSpec(pods - 1, runs, devices);
  }
  return JsonObject{{"apiVersion", api::kPyTorchJobs.apiVersion()},
                    {"kind", "PyTorchJob"},
                    {"metadata", JsonObject{{"name", in.at("name").string()},
                                            {"namespace", in.at("namespace").string("default")},
                                            {"labels", std::move(labels)},
                                            {"annotations", std::move(annotations)}}},
                    {"spec", JsonObject{{"runPolicy", JsonObject{{"cleanPodPolicy", "None"}}},
                                        {"pytorchReplicaSpecs", std::move(replicas)}}}};
}

std::vector<Cursor> oneOrMore(const Cursor& in) {
  if (!in.exists() || in.value().is_array()) {
    return in.elements();
  }
  return {in};
}

std::optional<api::Resource> kindOf(const Cursor& in) {
  const std::string kind = in.string();
  const auto resource = resourceOfKind(kind);
  if (!resource && !kind.empty()) {
    in.error(
        "\"" + kind +
        "\" is no kind that a scenario knows: Node, Pod, PodDisruptionBudget, PyTorchJob, RecoveryPolicy, "
        "NodeRecovery, Namespace, Event, Lease");
  }
  return resource;
}

// A whole object; its namespace is filled in.
Json wholeObject(const Cursor& in) {
  in.at("apiVersion").string();
  in.at("metadata").at("name").string();
  const auto resource = kindOf(in.at("kind"));
  Json object = in.exists() ? in.value() : Json(JsonObject());
  if (resource && resource->namespaced && findString(object, "metadata", "namespace").empty()) {
    mergePatch(object, JsonObject{{"metadata", JsonObject{{"namespace", "default"}}}});
  }
  return object;
}

// --- What happens ---

std::string nodeName(const Cursor& in) {
  in.allow({"node"});
  return in.at("node").string();
}

Action parseKernelLine(const Cursor& in) {
  in.allow({"node", "text"});
  return KernelLine{in.at("node").string(), in.at("text").string()};
}

Action parseKill(const Cursor& in) {
  return KillNode{nodeName(in)};
}

Action parseDestroy(const Cursor& in) {
  return DestroyInstance{nodeName(in)};
}

Action parseReturn(const Cursor& in) {
  return ReturnNode{nodeName(in)};
}

Action parseCloud(const Cursor& in) {
  in.allow({"capacity", "devices"});
  CloudChange change;
  change.capacity =
      ifThere(in.at("capacity"), smallNumber(in.at("capacity"), 0, 0, static_cast<int>(kMaxNodes)));
  change.devices = ifThere(in.at("devices"), smallNumber(in.at("devices"), 0, 0, kMaxDevices));
  if (!change.capacity && !change.devices) {
    in.error("expected capacity or devices");
  }
  return change;
}

ChangeObject namedObject(const Cursor& in, ChangeObject::Verb verb) {
  ChangeObject change;
  change.verb = verb;
  change.resource = kindOf(in.at("kind")).value_or(api::kNodes);
  change.name = in.at("name").string();
  change.ns = change.resource.namespaced ? in.at("namespace").string("default") : "";
  return change;
}

Action parsePatch(const Cursor& in) {
  in.allow({"kind", "namespace", "name", "subresource", "merge", "strategic"});
  ChangeObject change = namedObject(in, ChangeObject::Verb::kPatch);
  change.subresource = in.at("subresource").string("");
  const bool strategic = in.at("strategic").exists();
  change.kind = strategic ? kube::Body::kStrategicMergePatch : kube::Body::kMergePatch;
  const Cursor patch = in.at(strategic ? "strategic" : "merge");
  if (patch.members().empty() || (strategic && in.at("merge").exists())) {
    patch.error("expected one patch, merge or strategic, such as {spec: {unschedulable: true}}");
  } else {
    change.body = patch.value();
  }
  return change;
}

Action parseDelete(const Cursor& in) {
  in.allow({"kind", "namespace", "name"});
  return namedObject(in, ChangeObject::Verb::kDelete);
}

Action parseCreate(const Cursor& in) {
  ChangeObject change;
  change.verb = ChangeObject::Verb::kCreate;
  change.body = wholeObject(in);
  change.resource = resourceOfKind(findString(change.body, "kind")).value_or(api::kNodes);
  change.ns = findString(change.body, "metadata", "namespace");
  change.name = findString(change.body, "metadata", "name");
  return change;
}

Action parseTaint(const Cursor& in) {
  in.allow({"node", "key", "value", "effect"});
  return TaintNode{in.at("node").string(),
                   {in.at("key").string(), in.at("value").string(""), in.at("effect").string("NoSchedule")}};
}

Action parseController(const Cursor& in) {
  SwitchController change;
  if (in.value().is_string()) {
    const std::string state = in.string();
    if (state != "killed" && state != "started") {
      in.error("expected killed, started, or {diesAtWrite: N}");
    }
    change.runs = state == "started";
    return change;
  }
  in.allow({"diesAtWrite", "before", "restarts"});
  in.at("diesAtWrite").integer();  // for the error when it is missing
  change.diesAtWrite = smallNumber(in.at("diesAtWrite"), 1, 1, 1'000'000);
  change.before = in.at("before").boolean(false);
  change.restarts = in.at("restarts").duration(change.restarts);
  return change;
}

Action parseApi(const Cursor& in) {
  in.allow({"fails", "calls", "verb", "dropWatches", "compacts"});
  static const std::map<std::string, Code> kinds = {{"unavailable", Code::kUnavailable},
                                                    {"conflict", Code::kConflict},
                                                    {"timeout", Code::kDeadlineExceeded},
                                                    {"tooManyRequests", Code::kResourceExhausted}};
  static const std::set<std::string> verbs = {"", "GET", "POST", "PUT", "PATCH", "DELETE", "write"};
  ApiTrouble trouble;
  trouble.dropWatches = in.at("dropWatches").boolean(false);
  trouble.compacts = in.at("compacts").boolean(false);
  const bool fails = in.at("fails").exists() || !(trouble.dropWatches || trouble.compacts);
  trouble.calls = smallNumber(in.at("calls"), fails ? 1 : 0, fails ? 1 : 0, 1'000'000);
  trouble.verb = in.at("verb").string("");
  if (const auto kind = fails ? kinds.find(in.at("fails").string()) : kinds.begin(); kind != kinds.end()) {
    trouble.code = kind->second;
  } else {
    in.at("fails").error("expected unavailable, conflict, timeout or tooManyRequests");
  }
  if (!verbs.contains(trouble.verb)) {
    in.at("verb").error("expected GET, POST, PUT, PATCH, DELETE, or write for all but GET");
  }
  return trouble;
}

Action parseRelease(const Cursor& in) {
  in.allow({"node", "job", "namespace", "reason"});
  ReleaseThing release;
  release.node = in.at("node").string("");
  release.job = in.at("job").string("");
  release.ns = in.at("namespace").string("default");
  release.reason = in.at("reason").string("by the scenario");
  if (release.node.empty() == release.job.empty()) {
    in.error("expected a node or a job to release");
  }
  return release;
}

struct ActionForm {
  std::string_view key;
  Action (*parse)(const Cursor&);
};
constexpr ActionForm kActions[] = {
    {"kmsg", parseKernelLine},       {"kill", parseKill},     {"destroy", parseDestroy},
    {"return", parseReturn},         {"cloud", parseCloud},   {"patch", parsePatch},
    {"create", parseCreate},         {"delete", parseDelete}, {"taint", parseTaint},
    {"controller", parseController}, {"api", parseApi},       {"release", parseRelease}};

TimelineEntry parseEntry(const Cursor& in) {
  in.allow({"at", "kmsg", "kill", "destroy", "return", "cloud", "patch", "create", "delete", "taint",
            "controller", "api", "release"});
  TimelineEntry entry;
  if (!in.at("at").exists()) {
    in.at("at").error("expected when this happens, such as 5s");
  }
  entry.at = in.at("at").duration(Duration(0));
  int actions = 0;
  for (const ActionForm& form : kActions) {
    if (const Cursor action = in.at(form.key); action.exists()) {
      ++actions;
      entry.action = form.parse(action);
      entry.text = std::string(form.key) + " " + flowText(action.value());
    }
  }
  if (actions != 1) {
    in.error(
        "expected exactly one of kmsg, kill, destroy, return, cloud, patch, create, delete, taint, "
        "controller, api, "
        "release");
  }
  if (entry.at < Duration(0)) {
    in.at("at").error("time zero is when the cluster has settled; nothing happens before");
  }
  return entry;
}

// --- The whole ---

Duration lastMoment(const Scenario& scenario) {
  Duration last = scenario.timeline.empty() ? Duration(0) : scenario.timeline.back().at;
  Duration named{};
  for (const auto* list : {&scenario.expectations, &scenario.nevers}) {
    for (const Expectation& e : *list) {
      named = std::max({named, e.by.value_or(Duration(0)), e.at.value_or(Duration(0))});
    }
  }
  return std::max(last + kAftermath, named);
}

int lineOf(const YamlDocument& document, const Cursor& at) {
  const auto place = document.places.find(at.path());
  return place == document.places.end() ? 0 : place->second.line;
}

std::vector<Expectation> parseExpectations(const Cursor& in, const YamlDocument& document) {
  std::vector<Expectation> all;
  for (const Cursor& element : in.elements()) {
    all.push_back(parseExpectation(element));
    all.back().line = lineOf(document, element);
  }
  return all;
}

void parseNodes(const Cursor& in, Scenario& scenario) {
  std::set<std::string> names;
  for (const Cursor& element : in.elements()) {
    scenario.nodes.push_back(parseNode(element));
    if (!names.insert(scenario.nodes.back().name).second) {
      element.at("name").error("two nodes are called " + scenario.nodes.back().name);
    }
  }
  if (scenario.nodes.empty() || scenario.nodes.size() > kMaxNodes) {
    in.error("expected 1 to " + std::to_string(kMaxNodes) + " nodes");
  }
}

Scenario parsePage(const Cursor& root, const YamlDocument& document) {
  root.allow({"scenario", "seed", "until", "nodes", "group", "policy", "job", "objects", "timeline", "expect",
              "never"});
  Scenario scenario;
  scenario.file = document.file;
  scenario.title = root.at("scenario").string();
  scenario.seed = static_cast<std::uint64_t>(root.at("seed").integer(1));
  parseNodes(root.at("nodes"), scenario);
  scenario.group = parseGroup(root.at("group"));
  scenario.objects.push_back(policyObject(root.at("policy")));
  for (const Cursor& job : oneOrMore(root.at("job"))) {
    scenario.objects.push_back(jobObject(job));
  }
  for (const Cursor& object : root.at("objects").elements()) {
    scenario.objects.push_back(wholeObject(object));
  }
  for (const Cursor& entry : root.at("timeline").elements()) {
    scenario.timeline.push_back(parseEntry(entry));
    scenario.timeline.back().line = lineOf(document, entry);
  }
  std::ranges::stable_sort(scenario.timeline, {}, &TimelineEntry::at);
  scenario.expectations = parseExpectations(root.at("expect"), document);
  scenario.nevers = parseExpectations(root.at("never"), document);
  if (scenario.expectations.empty() && scenario.nevers.empty()) {
    root.at("expect").error("a scenario that expects nothing proves nothing; say what must follow");
  }
  scenario.until = root.at("until").duration(lastMoment(scenario));
  if (scenario.until < lastMoment(scenario) - kAftermath) {
    root.at("until").error("this is before the last thing that happens");
  }
  return scenario;
}

}  // namespace

std::optional<api::Resource> resourceOfKind(std::string_view kind) {
  for (const api::Resource* resource :
       {&api::kNodes, &api::kPods, &api::kPodDisruptionBudgets, &api::kPyTorchJobs, &api::kRecoveryPolicies,
        &api::kNodeRecoveries, &api::kNamespaces, &api::kEvents, &api::kLeases}) {
    if (resource->kind == kind) {
      return *resource;
    }
  }
  return std::nullopt;
}

Result<Scenario> parseScenario(std::string_view yaml, const std::string& file) {
  MAINSTAY_ASSIGN(const std::vector<YamlDocument> documents, parseYaml(yaml, file));
  if (documents.size() != 1) {
    return fail(Code::kInvalidArgument,
                file + ":1:1: expected one document, found " + std::to_string(documents.size()));
  }
  DecodeErrors errors = documents.front().errors();
  Scenario scenario = parsePage(Cursor(documents.front().value, errors), documents.front());
  MAINSTAY_TRY(errors.result());
  return scenario;
}

}  // namespace mainstay::local
