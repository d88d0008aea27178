#include "local/cluster/model_runtime.h"

#include <algorithm>

namespace mainstay::local {
namespace {

// Ends it at `end` with `code`, unless it ends by itself before.
template <class Running>
void endBy(Running& running, TimePoint end, int code) {
  if (end < running.end) {
    running.end = end;
    running.run.exitCode = code;
    running.run.message.clear();
  }
}

}  // namespace

std::optional<std::vector<std::string>> ModelRuntime::entryPoint(const std::string& image) const {
  return std::vector<std::string>{image};
}

Result<std::string> ModelRuntime::start(const ContainerSpec& spec, TimePoint now) {
  Running running;
  if (script_) {
    running.run = script_(spec, now);
  }
  if (running.run.lasts) {
    running.end = now + *running.run.lasts;
  }
  std::string id = spec.podUid + "/" + spec.name + "-" + std::to_string(spec.restart);
  running_.insert_or_assign(id, std::move(running));
  return id;
}

std::optional<ContainerExit> ModelRuntime::takeExit(const std::string& id, TimePoint now) {
  const auto entry = running_.find(id);
  if (entry == running_.end() || entry->second.end > now) {
    return std::nullopt;
  }
  ContainerExit exit{entry->second.run.exitCode, entry->second.run.message};
  running_.erase(entry);
  return exit;
}

void ModelRuntime::terminate(const std::string& id, TimePoint now) {
  const auto entry = running_.find(id);
  if (entry != running_.end() && entry->second.run.afterTerm) {
    endBy(entry->second, now + *entry->second.run.afterTerm, 143);
  }
}

void ModelRuntime::kill(const std::string& id, TimePoint now) {
  if (const auto entry = running_.find(id); entry != running_.end()) {
    endBy(entry->second, now, 137);
  }
}

TimePoint ModelRuntime::nextChange(TimePoint) const {
  TimePoint next = kNever;
  for (const auto& [id, running] : running_) {
    next = std::min(next, running.end);
  }
  return next;
}

}  // namespace mainstay::local
