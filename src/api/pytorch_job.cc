#include "api/pytorch_job.h"

#include <algorithm>

namespace mainstay::api {
namespace {

// The training operator's own default.
constexpr char kDefaultRestartPolicy[] = "OnFailure";

// A template is a pod without a name.
Pod decodeTemplate(const Cursor& in, const ObjectMeta& job) {
  JsonObject object = in.exists() && in.value().is_object() ? in.value().get_object() : JsonObject();
  Json& meta = object["metadata"];
  if (!meta.is_object()) {
    meta = JsonObject();
  }
  meta.get_object()["name"] = job.name;
  meta.get_object()["namespace"] = job.ns;
  Result<Pod> pod = decodePod(object);
  if (!pod) {
    in.error(pod.error().toString());
    return {};
  }
  return *std::move(pod);
}

PyTorchReplica decodeReplica(const std::string& type, const Cursor& in, const ObjectMeta& job) {
  PyTorchReplica replica;
  replica.type = type;
  const std::int64_t count = in.at("replicas").integer(1);
  if (count < 0 || count > kMaxReplicas) {
    in.at("replicas").error("expected 0 to " + std::to_string(kMaxReplicas));
  }
  replica.count = static_cast<int>(std::clamp<std::int64_t>(count, 0, kMaxReplicas));
  replica.restartPolicy = in.at("restartPolicy").string(kDefaultRestartPolicy);
  replica.pod = decodeTemplate(in.at("template"), job);
  return replica;
}

JsonObject conditionOf(std::string_view type, std::string_view status, const std::string& reason,
                       const std::string& message, TimePoint now) {
  return {{"type", type},
          {"status", status},
          {"reason", reason},
          {"message", message},
          {"lastUpdateTime", formatTime(now)},
          {"lastTransitionTime", formatTime(now)}};
}

}  // namespace

bool PyTorchJob::finished() const {
  const auto succeeded = conditions.find("Succeeded");
  return failed() || (succeeded != conditions.end() && succeeded->second == "True");
}

bool PyTorchJob::failed() const {
  const auto at = conditions.find("Failed");
  return at != conditions.end() && at->second == "True";
}

Result<PyTorchJob> decodePyTorchJob(const Json& object) {
  DecodeErrors errors("pytorchjob " + findString(object, "metadata", "namespace") + "/" +
                      findString(object, "metadata", "name"));
  const Cursor root(object, errors);
  PyTorchJob job;
  job.meta = decodeMeta(root);
  job.suspend = root.at("spec").at("runPolicy").at("suspend").boolean(false);
  for (const auto& [type, replica] : root.at("spec").at("pytorchReplicaSpecs").members()) {
    job.replicas.push_back(decodeReplica(type, replica, job.meta));
  }
  std::ranges::stable_sort(job.replicas, {}, [](const PyTorchReplica& r) { return r.type != "Master"; });
  for (const Cursor& condition : root.at("status").at("conditions").elements()) {
    job.conditions[condition.at("type").string()] = condition.at("status").string();
  }
  MAINSTAY_TRY(errors.result());
  return job;
}

JsonObject suspendPyTorchJob(bool suspend) {
  return {{"spec", JsonObject{{"runPolicy", JsonObject{{"suspend", suspend}}}}}};
}

Json failPyTorchJob(const Json& job, const std::string& reason, const std::string& message, TimePoint now) {
  JsonArray conditions;
  const Json* present = find(job, "status", "conditions");
  if (present && present->is_array()) {
    for (const Json& condition : present->get_array()) {
      const std::string type = findString(condition, "type");
      if (type != "Failed" && type != "Running") {
        conditions.push_back(condition);
      }
    }
  }
  conditions.push_back(conditionOf("Running", "False", reason, message, now));
  conditions.push_back(conditionOf("Failed", "True", reason, message, now));
  return JsonObject{
      {"metadata", JsonObject{{"resourceVersion", findString(job, "metadata", "resourceVersion")}}},
      {"status", JsonObject{{"conditions", std::move(conditions)}, {"completionTime", formatTime(now)}}}};
}

}  // namespace mainstay::api
