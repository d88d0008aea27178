#include "local/cluster/cloud.h"

#include <algorithm>

namespace mainstay::local {
namespace {

constexpr char kPending[] = "Pending";
constexpr char kInService[] = "InService";
constexpr char kTerminating[] = "Terminating";
constexpr char kTerminated[] = "Terminated";

// AWS's own words.
std::string noCapacityMessage(const std::string& instanceType, const std::string& zone) {
  return "We currently do not have sufficient " + instanceType +
         " capacity in the Availability Zone you requested (" + zone +
         "). Our system will be working on provisioning additional capacity. You can currently get " +
         instanceType +
         " capacity by not specifying an Availability Zone in your request. Launching EC2 instance failed.";
}

tl::unexpected<Error> noSuchInstance(const std::string& id) {
  return fail(Code::kNotFound, "the cloud has no instance " + id);
}

tl::unexpected<Error> noSuchGroup(const std::string& name) {
  return fail(Code::kNotFound, "the cloud has no group " + name);
}

}  // namespace

Cloud::Cloud(CloudOptions options, const Clock& clock, Machines& machines)
    : options_(std::move(options)), clock_(clock), machines_(machines), random_(options_.seed) {
  for (const GroupOptions& group : options_.groups) {
    groups_[group.name].options = group;
  }
}

TimePoint Cloud::step(TimePoint now) {
  Turn turn;
  TimePoint wake = kNever;
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, machine] : instances_) {
      wake = std::min(wake, advance(machine, now, turn));
    }
    std::erase_if(instances_, [&](const auto& entry) {
      return entry.second.instance.lifecycle == kTerminated && entry.second.due <= now;
    });
    for (auto& [name, group] : groups_) {
      wake = std::min(wake, scale(group, now));
    }
  }
  for (const cloud::Instance& instance : turn.off) {
    machines_.powerOff(instance);
  }
  for (const auto& [instance, launch] : turn.on) {
    machines_.powerOn(instance, launch);
  }
  return wake;
}

TimePoint Cloud::advance(Machine& machine, TimePoint now, Turn& turn) {
  cloud::Instance& instance = machine.instance;
  if (instance.lifecycle == kPending && machine.due <= now) {
    instance.lifecycle = kInService;
    machine.due = kNever;
    turn.on.emplace_back(instance, groups_[instance.group].options.launch);
  }
  if (instance.lifecycle == kTerminating && machine.due <= now) {
    instance.lifecycle = kTerminated;
    machine.due = now + kRemembered;
  }
  // It ends in a later step than it begins, so that nobody hears of the end before the machine is off.
  if (!instance.healthy && !instance.ending()) {
    terminate(machine, "an instance was taken out of service in response to a health check", now, turn);
  }
  return machine.due;
}

TimePoint Cloud::scale(State& group, TimePoint now) {
  // A terminating instance still counts: its successor is launched when it is gone.
  while (members(group.options.name) < group.options.desired && group.launchNotBefore <= now) {
    if (!launch(group, now)) {
      group.launchNotBefore = now + options_.capacityRetry;
    }
  }
  TimePoint wake = members(group.options.name) < group.options.desired ? group.launchNotBefore : kNever;
  for (const auto& [id, machine] : instances_) {
    if (machine.instance.lifecycle == kPending) {
      wake = std::min(wake, machine.due);
    }
  }
  return wake;
}

bool Cloud::launch(State& group, TimePoint now) {
  cloud::ScalingActivity activity{"Successful", "", now};
  const std::string& type = group.options.launch.instanceType;
  const auto left = capacity_.find(type);
  const bool refused = left != capacity_.end() && left->second <= 0;
  if (refused) {
    activity.status = "Failed";
    activity.statusMessage = noCapacityMessage(type, options_.zone);
  } else {
    if (left != capacity_.end()) {
      --left->second;
    }
    const std::string id = newId();
    Machine& machine = instances_[id];
    machine.instance = {id, "aws:///" + options_.zone + "/" + id, group.options.name, kPending, true, now};
    machine.due = now + options_.launchDelay;
    note(now, "LaunchInstance", machine, type);
  }
  record(group, activity);
  return !refused;
}

void Cloud::record(State& group, const cloud::ScalingActivity& activity) {
  group.activities.push_front(activity);
  if (group.activities.size() > kMaxActivities) {
    group.activities.pop_back();
  }
}

void Cloud::terminate(Machine& machine, const std::string& why, TimePoint now, Turn& turn) {
  machine.instance.lifecycle = kTerminating;
  machine.due = now + options_.terminateDelay;
  note(now, "TerminateInstance", machine, why);
  record(groups_[machine.instance.group], {"Successful", "", now});
  turn.off.push_back(machine.instance);
}

int Cloud::members(const std::string& group) const {
  return static_cast<int>(std::ranges::count_if(instances_, [&](const auto& entry) {
    return entry.second.instance.group == group && entry.second.instance.lifecycle != kTerminated;
  }));
}

std::string Cloud::newId() {
  constexpr int kDigits = 17;
  std::string id = "i-0";
  while (id.size() < kDigits + 2) {
    id += "0123456789abcdef"[random_() % 16];
  }
  return id;
}

void Cloud::note(TimePoint now, const std::string& action, const Machine& machine, const std::string& detail,
                 const std::string& token) {
  effects_.push_back({now, action, machine.instance.id, machine.instance.group, detail, token});
  if (effects_.size() > kMaxEffects) {
    effects_.pop_front();
  }
}

std::optional<cloud::Instance> Cloud::instance(const std::string& id) const {
  std::lock_guard lock(mutex_);
  const auto entry = instances_.find(id);
  return entry == instances_.end() ? std::nullopt : std::optional(entry->second.instance);
}

std::optional<cloud::Group> Cloud::group(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto entry = groups_.find(name);
  if (entry == groups_.end()) {
    return std::nullopt;
  }
  const GroupOptions& options = entry->second.options;
  cloud::Group group{name, options.min, options.max, options.desired, {}, {}};
  for (const auto& [id, machine] : instances_) {
    if (machine.instance.group == name && machine.instance.lifecycle != kTerminated) {
      group.instances.push_back(machine.instance);
    }
  }
  group.activities.assign(entry->second.activities.begin(), entry->second.activities.end());
  return group;
}

Result<> Cloud::setHealth(const std::string& id, bool healthy, const std::string& token) {
  std::lock_guard lock(mutex_);
  const auto entry = instances_.find(id);
  if (entry == instances_.end()) {
    return noSuchInstance(id);
  }
  cloud::Instance& instance = entry->second.instance;
  if (instance.ending()) {
    return fail(Code::kFailedPrecondition,
                "instance " + id + " is " + instance.lifecycle + ": its health can no longer be set");
  }
  if (instance.healthy != healthy) {
    instance.healthy = healthy;
    note(clock_.now(), "SetInstanceHealth", entry->second, healthy ? "Healthy" : "Unhealthy", token);
    signal().notify();
  }
  return {};
}

Result<> Cloud::setDesired(const std::string& name, int desired) {
  std::lock_guard lock(mutex_);
  const auto entry = groups_.find(name);
  if (entry == groups_.end()) {
    return noSuchGroup(name);
  }
  GroupOptions& options = entry->second.options;
  if (desired < options.desired || desired > options.max) {
    return fail(Code::kInvalidArgument, "desired capacity " + std::to_string(desired) + " of group " + name +
                                            ": it can be raised from " + std::to_string(options.desired) +
                                            " to " + std::to_string(options.max) +
                                            "; scaling in is not modelled");
  }
  options.desired = desired;
  signal().notify();
  return {};
}

void Cloud::setCapacity(const std::string& instanceType, std::optional<int> left) {
  std::lock_guard lock(mutex_);
  if (left) {
    capacity_[instanceType] = *left;
  } else {
    capacity_.erase(instanceType);
  }
}

Result<> Cloud::setAllocatable(const std::string& name, std::map<std::string, std::string> allocatable) {
  std::lock_guard lock(mutex_);
  const auto entry = groups_.find(name);
  if (entry == groups_.end()) {
    return noSuchGroup(name);
  }
  entry->second.options.launch.allocatable = std::move(allocatable);
  return {};
}

Result<> Cloud::destroy(const std::string& id, const std::string& why) {
  std::lock_guard lock(mutex_);
  const auto entry = instances_.find(id);
  if (entry == instances_.end()) {
    return noSuchInstance(id);
  }
  cloud::Instance& instance = entry->second.instance;
  if (!instance.ending()) {
    note(clock_.now(), "InstanceFailed", entry->second, why);
    instance.healthy = false;
    signal().notify();
  }
  return {};
}

std::vector<CloudEffect> Cloud::effects() const {
  std::lock_guard lock(mutex_);
  return {effects_.begin(), effects_.end()};
}

// --- DirectProvider ---

Result<std::optional<cloud::Instance>> DirectProvider::describe(const std::string& providerId) {
  const std::string id = cloud::instanceIdOf(providerId);
  if (id.empty()) {
    return fail(Code::kInvalidArgument, "\"" + providerId + "\" is not a provider id");
  }
  auto instance = cloud_.instance(id);
  if (instance && instance->providerId != providerId) {
    return fail(Code::kFailedPrecondition,
                "instance " + id + " is " + instance->providerId + ", not " + providerId);
  }
  return instance;
}

Result<cloud::Group> DirectProvider::describeGroup(const std::string& group) {
  if (auto found = cloud_.group(group)) {
    return *std::move(found);
  }
  return noSuchGroup(group);
}

Result<> DirectProvider::markUnhealthy(const std::string& providerId, const std::string& token) {
  return mark(providerId, false, token);
}

Result<> DirectProvider::markHealthy(const std::string& providerId) {
  return mark(providerId, true, "");
}

Result<> DirectProvider::mark(const std::string& providerId, bool healthy, const std::string& token) {
  MAINSTAY_ASSIGN(const std::optional<cloud::Instance> present, describe(providerId));
  if (!present || present->ending() || present->healthy == healthy) {
    return {};
  }
  return cloud_.setHealth(present->id, healthy, token);
}

}  // namespace mainstay::local
