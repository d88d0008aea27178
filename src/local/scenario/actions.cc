#include "local/scenario/actions.h"

#include "api/names.h"
#include "jobs/release.h"
#include "local/cluster/objects.h"
#include "recovery/release.h"

namespace mainstay::local {

std::map<std::string, std::string> allocatableWith(int devices) {
  return {{"cpu", "128"},
          {"memory", "512Gi"},
          {"pods", "110"},
          {"aws.amazon.com/neuron", std::to_string(devices)}};
}

Result<> Actions::carryOut(const Action& action) {
  return std::visit([this](const auto& one) { return act(one); }, action);
}

Result<> Actions::act(const KernelLine& line) {
  const auto log = cluster_.kernelLog(line.node);
  if (!log) {
    return fail(Code::kNotFound, "there is no node " + line.node);
  }
  log->print({.level = 3, .text = line.text}, clock_.now());  // as the Neuron driver does, with KERN_ERR
  return {};
}

Result<> Actions::act(const KillNode& kill) {
  return cluster_.killNode(kill.node);
}

Result<> Actions::act(const DestroyInstance& gone) {
  for (const Cluster::NodeState& node : cluster_.nodes()) {
    if (node.name == gone.node) {
      return cluster_.cloud().destroy(cloud::instanceIdOf(node.providerId), "the machine has failed");
    }
  }
  return fail(Code::kNotFound, "there is no node " + gone.node);
}

Result<> Actions::act(const ReturnNode& back) {
  return cluster_.returnNode(back.node);
}

Result<> Actions::act(const CloudChange& change) {
  if (change.capacity) {
    cluster_.cloud().setCapacity(kInstanceType, change.capacity);
  }
  return change.devices ? cluster_.cloud().setAllocatable(group_, allocatableWith(*change.devices))
                        : Result<>();
}

Result<> Actions::act(const ChangeObject& change) {
  kube::Api& api = cluster_.api();
  switch (change.verb) {
    case ChangeObject::Verb::kCreate:
      MAINSTAY_TRY(createObject(api, change.body, kPerson));
      break;
    case ChangeObject::Verb::kPatch:
      MAINSTAY_TRY(kube::patch(api, change.resource, change.ns, change.name, change.kind, change.body,
                               kPerson, change.subresource));
      break;
    case ChangeObject::Verb::kDelete:
      return kube::remove(api, change.resource, change.ns, change.name, "");
  }
  return {};
}

Result<> Actions::act(const TaintNode& taint) {
  MAINSTAY_ASSIGN(const Json node, kube::get(cluster_.api(), api::kNodes, "", taint.node));
  const Json* present = find(node, "spec", "taints");
  JsonArray taints = present && present->is_array() ? present->get_array() : JsonArray();
  taints.push_back(
      JsonObject{{"key", taint.taint.key}, {"value", taint.taint.value}, {"effect", taint.taint.effect}});
  const Json patch = JsonObject{{"spec", JsonObject{{"taints", std::move(taints)}}}};
  MAINSTAY_TRY(
      kube::patch(cluster_.api(), api::kNodes, "", taint.node, kube::Body::kMergePatch, patch, kPerson));
  return {};
}

Result<> Actions::act(const SwitchController& fate) {
  controller_.kill();
  if (fate.runs) {
    controller_.start(fate);
  }
  return {};
}

Result<> Actions::act(const ApiTrouble& trouble) {
  if (trouble.calls > 0) {
    const auto matches = [verb = trouble.verb](const kube::ApiRequest& request) {
      return verb.empty() || (verb == "write" ? request.isWrite() : request.method == verb);
    };
    controller_.api().failMatching(matches, Error(trouble.code, "the scenario lets this call fail"),
                                   trouble.calls);
  }
  if (trouble.compacts) {
    cluster_.server().compact();
  }
  if (trouble.dropWatches) {
    controller_.api().dropWatches();
  }
  return {};
}

Result<> Actions::act(const ReleaseThing& release) {
  kube::Api& api = cluster_.api();
  if (!release.job.empty()) {
    MAINSTAY_TRY(jobs::releaseJob(api, release.ns, release.job, {.reason = release.reason}, clock_.now()));
    return {};
  }
  const recovery::Providers providers{{provider_.name(), &provider_}};
  MAINSTAY_TRY(recovery::releaseNode(api, providers, release.node, {.reason = release.reason}, clock_.now()));
  return {};
}

}  // namespace mainstay::local
