#include "sidecar/plan.h"

#include <algorithm>

namespace mainstay::sidecar {
namespace {

constexpr std::size_t kNamedInstances = 3;  // in a sentence; the others are counted
constexpr std::size_t kWaitSlots = 16;      // intervals among which sidecars that collided are spread

bool inService(const cloud::Instance& instance) {
  return instance.healthy && instance.lifecycle == "InService";
}

std::string stateOf(const cloud::Instance& instance) {
  return std::string(instance.healthy ? "Healthy" : "Unhealthy") + " and " + instance.lifecycle;
}

// What the group lacks beside our instance.
struct Lacking {
  std::size_t count = 0;
  std::string words;  // "i-0b is Unhealthy and InService, 1 not yet launched"
};

Lacking lackingBeside(const cloud::Instance& own, const cloud::Group& group) {
  Lacking lacking;
  const auto add = [&](const std::string& words) {
    lacking.words += (lacking.words.empty() ? "" : ", ") + words;
  };
  for (const cloud::Instance& other : group.instances) {
    if (other.id != own.id && !inService(other) && ++lacking.count <= kNamedInstances) {
      add(other.id + " is " + stateOf(other));
    }
  }
  if (lacking.count > kNamedInstances) {
    add(std::to_string(lacking.count - kNamedInstances) + " more");
  }
  // Between the end of one instance and the launch of the next the group is short of one that nobody lists.
  const int missing = group.desired - static_cast<int>(group.instances.size());
  if (missing > 0) {
    lacking.count += static_cast<std::size_t>(missing);
    add(std::to_string(missing) + " not yet launched");
  }
  return lacking;
}

}  // namespace

Memory remember(Memory memory, const Problems& problems) {
  for (const auto& [reason, seen] : problems.seen) {
    if (seen) {
      memory.errors.insert(reason);
    }
  }
  return memory;
}

std::vector<Value> valuesDue(const Memory& memory, const std::optional<Problems>& problems,
                             const Settings& settings, TimePoint now) {
  const bool again = !memory.publishedAt || now >= *memory.publishedAt + settings.publishInterval;
  if (!again && memory.errors == memory.published) {
    return {};
  }
  std::vector<Value> values;
  for (const std::string& reason : settings.counters) {
    if (memory.errors.contains(reason)) {
      values.push_back({reason, 1});
    } else if (settings.publishZeros && problems && problems->seen.contains(reason)) {
      values.push_back({reason, 0});
    }
  }
  return values;
}

const char* sentenceOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kMark:
      return "marking the instance unhealthy";
    case Verdict::kWithdraw:
      return "taking the mark back";
    case Verdict::kWait:
      return "the instance is not marked";
    case Verdict::kNothing:
      return "nothing is left to do";
  }
  return "";
}

Judgement judge(const Surroundings& around, const Settings& settings, bool lookBack) {
  if (!around.instance) {
    return {Verdict::kNothing, "the cloud knows no such instance (any more)"};
  }
  const cloud::Instance& own = *around.instance;
  if (!around.group) {
    return {Verdict::kWait, own.id +
                                " is in no Auto Scaling group, so nothing would replace it: replace it "
                                "yourself, or attach it to a group"};
  }
  const bool marked = !own.healthy;
  const std::string done = own.id + " is marked or ending: group " + own.group + " replaces it";
  if (own.ending() || (marked && !lookBack)) {
    return {Verdict::kNothing, done};
  }
  const Lacking lacking = lackingBeside(own, *around.group);
  if (lacking.count + 1 <= static_cast<std::size_t>(settings.maxUnhealthy)) {
    return marked ? Judgement{Verdict::kNothing, done}
                  : Judgement{Verdict::kMark, "it has an error, and its group can spare it"};
  }
  return {marked ? Verdict::kWithdraw : Verdict::kWait,
          "group " + own.group + " lacks others: " + lacking.words +
              "; --max-unhealthy=" + std::to_string(settings.maxUnhealthy) + " counts " + own.id + " too"};
}

Duration waitAfterWithdrawal(const std::string& instanceId, int times, const Settings& settings) {
  const std::size_t slot = std::hash<std::string>()(instanceId + "/" + std::to_string(times)) % kWaitSlots;
  return settings.interval * (1 + static_cast<Duration::rep>(slot));
}

}  // namespace mainstay::sidecar
