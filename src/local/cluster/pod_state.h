// The state of one pod's containers as its kubelet knows it, and the pod status that it writes from it. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

struct EndedContainer {
  int code = 0;
  std::string reason;  // Completed, Error, StartError, ContainerStatusUnknown
  std::string message;
  TimePoint started{};
  TimePoint finished{};
};

struct ContainerRecord {
  enum class State { kWaiting, kRunning, kEnded };
  std::string name;
  std::string image;
  State state = State::kWaiting;
  std::string waitingReason = "ContainerCreating";
  std::string waitingMessage;
  std::string id;  // the runtime's, while running
  TimePoint started{};
  std::optional<EndedContainer> ended;  // the last end; while it waits or runs again: lastState
  int restarts = 0;
};

struct PodRecord {
  std::string restartPolicy = "Always";
  std::string podAddress;
  std::string hostAddress;
  TimePoint started{};
  std::vector<ContainerRecord> containers;
  // Refused by the kubelet (UnexpectedAdmissionError ...): Failed, and nothing was ever started.
  std::string refusedReason;
  std::string refusedMessage;
};

// What a kubelet that starts finds: restart counts survive, and whatever was running has ended with exit code
// 137, reason ContainerStatusUnknown.
PodRecord readPodRecord(const Json& pod, TimePoint now);

// Does the restart policy start this container again?
bool wantsRestart(const PodRecord& pod, const ContainerRecord& container);
std::string phaseOf(const PodRecord& pod);
// The object for `status` of a strategic merge patch; conditions keep the transition times of `before` (null
// or a list).
Json podStatus(const PodRecord& record, const Json* before, TimePoint now);

}  // namespace mainstay::local
