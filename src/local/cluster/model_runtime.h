// ModelRuntime: containers that only take time, for simulation. What each one does is told by a script.
//
// Not modelled: output (logs are empty), files, signals other than SIGTERM and SIGKILL.
#pragma once

#include <functional>

#include "local/cluster/pod_runtime.h"

namespace mainstay::local {

// The life of one container instance.
struct ModelRun {
  std::optional<Duration> lasts = {};  // nullopt: until it is stopped
  int exitCode = 0;
  std::string message = {};
  std::optional<Duration> afterTerm =
      Duration(0);  // until it ends after SIGTERM (exit code 143); nullopt: ignores it
};
// Called at each start, restarts included (spec.restart counts them).
using ModelScript = std::function<ModelRun(const ContainerSpec& spec, TimePoint now)>;

class ModelRuntime final : public PodRuntime {
 public:
  // Without a script every container runs until it is stopped. Every image exists.
  explicit ModelRuntime(ModelScript script = {}) : script_(std::move(script)) {}

  std::optional<std::vector<std::string>> entryPoint(const std::string& image) const override;
  std::string podFolder(const std::string&, const std::string&, const std::string&) const override {
    return "";
  }
  Result<std::string> start(const ContainerSpec& spec, TimePoint now) override;
  std::optional<ContainerExit> takeExit(const std::string& id, TimePoint now) override;
  void terminate(const std::string& id, TimePoint now) override;
  void kill(const std::string& id, TimePoint now) override;
  void discard(const std::string& id) override { running_.erase(id); }
  TimePoint nextChange(TimePoint now) const override;

 private:
  struct Running {
    ModelRun run;
    TimePoint end = kNever;
  };
  ModelScript script_;
  std::map<std::string, Running> running_;
};

}  // namespace mainstay::local
