#include "local/cluster/cluster_http.h"

#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

HttpResponse jsonAnswer(int status, const Json& body) {
  return {status, {{"Content-Type", "application/json"}}, toText(body)};
}

HttpResponse messageAnswer(int status, const std::string& message) {
  return jsonAnswer(status, {{"message", message}});
}

HttpResponse errorAnswer(const Error& error) {
  switch (error.code()) {
    case Code::kNotFound:
      return messageAnswer(404, error.toString());
    case Code::kInvalidArgument:
      return messageAnswer(400, error.toString());
    case Code::kFailedPrecondition:
    case Code::kAlreadyExists:
      return messageAnswer(409, error.toString());
    default:
      return messageAnswer(503, error.toString());
  }
}

HttpResponse doneAnswer(const Result<>& result) {
  return result ? jsonAnswer(200, JsonObject()) : errorAnswer(result.error());
}

// A path in its parts, and what the handlers below share.
struct ClusterCall {
  Cluster& cluster;
  const HttpRequest& request;
  std::vector<std::string> parts;  // after the version: {"instances", "i-0b41", "health"}
  bool is(std::string_view method, std::size_t size) const {
    return request.method == method && parts.size() == size;
  }
};

HttpResponse setInstanceHealth(const ClusterCall& call) {
  Cloud& cloud = call.cluster.cloud();
  const auto body = parseJson(call.request.body);
  const std::string health = body ? findString(*body, "healthStatus") : "";
  if (health != "Healthy" && health != "Unhealthy") {
    return messageAnswer(400, "healthStatus: expected Healthy or Unhealthy, found \"" + health + "\"");
  }
  const std::string& id = call.parts[1];
  const auto set = cloud.setHealth(id, health == "Healthy", findString(*body, "token"));
  const auto instance = cloud.instance(id);
  return set && instance ? jsonAnswer(200, encodeInstance(*instance)) : doneAnswer(set);
}

HttpResponse setCapacity(const ClusterCall& call) {
  const auto body = parseJson(call.request.body);
  const std::string type = body ? findString(*body, "instanceType") : "";
  if (type.empty()) {
    return messageAnswer(400, "expected {\"instanceType\": ..., \"left\": a number or null}");
  }
  const auto left = integerAt(*body, "left");
  call.cluster.cloud().setCapacity(type, left ? std::optional(static_cast<int>(*left)) : std::nullopt);
  return jsonAnswer(200, JsonObject());
}

Json encodeEffects(const Cloud& cloud) {
  JsonArray effects;
  for (const CloudEffect& effect : cloud.effects()) {
    effects.push_back({{"at", formatMicroTime(effect.at)},
                       {"action", effect.action},
                       {"instance", effect.instance},
                       {"group", effect.group},
                       {"detail", effect.detail},
                       {"token", effect.token}});
  }
  return effects;
}

HttpResponse answerCloud(const ClusterCall& call) {
  Cloud& cloud = call.cluster.cloud();
  const std::string& what = call.parts[0];
  if (what == "instances" && call.is("GET", 2)) {
    const auto instance = cloud.instance(call.parts[1]);
    return instance ? jsonAnswer(200, encodeInstance(*instance)) : messageAnswer(404, "no such instance");
  }
  if (what == "instances" && call.is("POST", 3) && call.parts[2] == "health") {
    return setInstanceHealth(call);
  }
  if (what == "groups" && call.is("GET", 2)) {
    const auto group = cloud.group(call.parts[1]);
    return group ? jsonAnswer(200, encodeGroup(*group)) : messageAnswer(404, "no such group");
  }
  if (what == "effects" && call.is("GET", 1)) {
    return jsonAnswer(200, encodeEffects(cloud));
  }
  if (what == "capacity" && call.is("POST", 1)) {
    return setCapacity(call);
  }
  return messageAnswer(404, "the local cloud does not know this path");
}

Json encodeNodes(const Cluster& cluster) {
  JsonArray nodes;
  for (const Cluster::NodeState& node : cluster.nodes()) {
    nodes.push_back({{"name", node.name},
                     {"providerId", node.providerId},
                     {"bootId", node.bootId},
                     {"alive", node.alive},
                     {"kubelet", node.kubelet}});
  }
  return nodes;
}

std::optional<HttpResponse> answerNodes(const ClusterCall& call) {
  if (call.is("GET", 1)) {
    return jsonAnswer(200, encodeNodes(call.cluster));
  }
  if (!call.is("POST", 3)) {
    return std::nullopt;
  }
  const std::string& node = call.parts[1];
  const std::string& action = call.parts[2];
  if (action == "kmsg") {
    return doneAnswer(call.cluster.writeKernelLog(node, call.request.body));
  }
  if (action == "kill") {
    return doneAnswer(call.cluster.killNode(node));
  }
  if (action == "silence") {
    return doneAnswer(call.cluster.silenceKubelet(node));
  }
  if (action == "return") {
    return doneAnswer(call.cluster.returnNode(node));
  }
  return std::nullopt;
}

}  // namespace

std::optional<HttpResponse> answerClusterRequest(Cluster& cluster, const HttpRequest& request) {
  std::vector<std::string> parts =
      splitPath(std::string_view(request.target).substr(0, request.target.find('?')));
  if (parts.size() < 3 || parts[1] != "v1") {
    return std::nullopt;
  }
  const std::string area = parts[0];
  parts.erase(parts.begin(), parts.begin() + 2);
  const ClusterCall call{cluster, request, std::move(parts)};
  if (area == "cloud") {
    return answerCloud(call);
  }
  return area == "local" && call.parts[0] == "nodes" ? answerNodes(call) : std::nullopt;
}

Json encodeInstance(const cloud::Instance& instance) {
  return {{"id", instance.id},
          {"providerId", instance.providerId},
          {"group", instance.group},
          {"lifecycle", instance.lifecycle},
          {"healthStatus", instance.healthy ? "Healthy" : "Unhealthy"},
          {"launchTime", formatMicroTime(instance.launched)}};
}

Json encodeGroup(const cloud::Group& group) {
  JsonArray instances;
  for (const cloud::Instance& instance : group.instances) {
    instances.push_back(encodeInstance(instance));
  }
  JsonArray activities;
  for (const cloud::ScalingActivity& activity : group.activities) {
    activities.push_back({{"status", activity.status},
                          {"statusMessage", activity.statusMessage},
                          {"startTime", formatMicroTime(activity.started)}});
  }
  return {{"name", group.name},
          {"minSize", group.min},
          {"maxSize", group.max},
          {"desiredCapacity", group.desired},
          {"instances", std::move(instances)},
          {"activities", std::move(activities)}};
}

}  // namespace mainstay::local
