#include "local/cluster/pod_state.h"

#include <algorithm>

#include "local/api/json_access.h"
#include "local/cluster/conditions.h"

namespace mainstay::local {
namespace {

using State = ContainerRecord::State;

TimePoint timeAt(const Json& object, std::string_view key, TimePoint fallback) {
  return parseTime(findString(object, key)).value_or(fallback);
}

EndedContainer readEnded(const Json& terminated, TimePoint now) {
  return {static_cast<int>(integerAt(terminated, "exitCode").value_or(0)), findString(terminated, "reason"),
          findString(terminated, "message"), timeAt(terminated, "startedAt", now),
          timeAt(terminated, "finishedAt", now)};
}

void readContainerStatus(ContainerRecord& record, const Json& status, TimePoint now) {
  record.restarts = static_cast<int>(integerAt(status, "restartCount").value_or(0));
  if (const Json* running = find(status, "state", "running")) {
    record.ended = {137, "ContainerStatusUnknown",
                    "The container could not be found after its node came back",
                    timeAt(*running, "startedAt", now), now};
  } else if (const Json* terminated = find(status, "state", "terminated")) {
    record.ended = readEnded(*terminated, now);
  } else if (const Json* last = find(status, "lastState", "terminated")) {
    record.ended = readEnded(*last, now);
  }
  if (record.ended) {
    record.state = State::kEnded;
  }
}

Json terminatedObject(const EndedContainer& ended) {
  JsonObject object{{"exitCode", ended.code},
                    {"reason", ended.reason},
                    {"startedAt", formatTime(ended.started)},
                    {"finishedAt", formatTime(ended.finished)}};
  if (!ended.message.empty()) {
    object["message"] = ended.message;
  }
  return {{"terminated", object}};
}

Json stateObject(const ContainerRecord& container) {
  switch (container.state) {
    case State::kRunning:
      return {{"running", {{"startedAt", formatTime(container.started)}}}};
    case State::kEnded:
      return terminatedObject(*container.ended);
    case State::kWaiting:
      break;
  }
  JsonObject waiting{{"reason", container.waitingReason}};
  if (!container.waitingMessage.empty()) {
    waiting["message"] = container.waitingMessage;
  }
  return {{"waiting", waiting}};
}

Json containerStatus(const ContainerRecord& container) {
  const bool running = container.state == State::kRunning;
  JsonObject status{{"name", container.name},
                    {"image", container.image},
                    {"imageID", ""},
                    {"ready", running},
                    {"started", running},
                    {"restartCount", container.restarts},
                    {"state", stateObject(container)}};
  const bool again = container.ended && container.state != State::kEnded;
  status["lastState"] = again ? terminatedObject(*container.ended) : Json(JsonObject());
  if (!container.id.empty()) {
    status["containerID"] = "local://" + container.id;
  }
  return status;
}

JsonArray podConditions(const PodRecord& record, const std::string& phase, const Json* before,
                        TimePoint now) {
  const auto isRunning = [](const ContainerRecord& container) { return container.state == State::kRunning; };
  const bool ready = phase == "Running" && std::ranges::all_of(record.containers, isRunning);
  const std::string reason = ready                                       ? ""
                             : phase == "Succeeded" || phase == "Failed" ? "PodCompleted"
                                                                         : "ContainersNotReady";
  const std::string status = ready ? "True" : "False";
  JsonArray conditions = {conditionObject(before, {"Initialized", "True", "", ""}, now),
                          conditionObject(before, {"ContainersReady", status, reason, ""}, now),
                          conditionObject(before, {"Ready", status, reason, ""}, now)};
  for (Json& condition : conditions) {
    condition.get_object().emplace("reason", nullptr);  // a patch keeps what it does not name
  }
  return conditions;
}

}  // namespace

PodRecord readPodRecord(const Json& pod, TimePoint now) {
  PodRecord record;
  if (const std::string policy = findString(pod, "spec", "restartPolicy"); !policy.empty()) {
    record.restartPolicy = policy;
  }
  record.podAddress = findString(pod, "status", "podIP");
  record.started = parseTime(findString(pod, "status", "startTime")).value_or(now);
  for (const Json& container : arrayAt(pod, "spec", "containers")) {
    ContainerRecord& added = record.containers.emplace_back();
    added.name = findString(container, "name");
    added.image = findString(container, "image");
    for (const Json& status : arrayAt(pod, "status", "containerStatuses")) {
      if (findString(status, "name") == added.name) {
        readContainerStatus(added, status, now);
      }
    }
  }
  return record;
}

bool wantsRestart(const PodRecord& pod, const ContainerRecord& container) {
  return container.state == State::kEnded &&
         (pod.restartPolicy == "Always" || (pod.restartPolicy == "OnFailure" && container.ended->code != 0));
}

std::string phaseOf(const PodRecord& pod) {
  if (!pod.refusedReason.empty()) {
    return "Failed";
  }
  bool failed = false;
  bool open = false;  // something runs, or will run again
  for (const ContainerRecord& container : pod.containers) {
    if (container.state == State::kWaiting && !container.ended) {
      return "Pending";
    }
    open = open || container.state != State::kEnded || wantsRestart(pod, container);
    failed = failed || (container.ended && container.ended->code != 0);
  }
  return open ? "Running" : failed ? "Failed" : "Succeeded";
}

Json podStatus(const PodRecord& record, const Json* before, TimePoint now) {
  const std::string phase = phaseOf(record);
  JsonObject status{{"phase", phase}, {"startTime", formatTime(record.started)}};
  if (!record.refusedReason.empty()) {
    status["reason"] = record.refusedReason;
    status["message"] = record.refusedMessage;
    return status;
  }
  status["hostIP"] = record.hostAddress;
  status["podIP"] = record.podAddress;
  status["podIPs"] = JsonArray{{{"ip", record.podAddress}}};
  status["conditions"] = podConditions(record, phase, before, now);
  JsonArray containers;
  for (const ContainerRecord& container : record.containers) {
    containers.push_back(containerStatus(container));
  }
  status["containerStatuses"] = std::move(containers);
  return status;
}

}  // namespace mainstay::local
