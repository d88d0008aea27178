// PodRuntime: what runs a node's containers. Two implementations: host processes (process_runtime.h, for the
// demo) and a model in which containers only take time (model_runtime.h, for virtual time).
//
// Not modelled: images with file systems of their own, namespaces, cgroups and resource limits, exec and
// attach, probes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace mainstay::local {

// One container, resolved by the kubelet: nothing is left to expand.
struct ContainerSpec {
  std::string ns;
  std::string pod;
  std::string podUid;
  std::string name;
  std::string image;
  int restart = 0;                                 // 0 for the first start; names the log file
  std::vector<std::string> arguments;              // [0] is the program
  std::map<std::string, std::string> environment;  // the whole of it
  std::string workingFolder;                       // "" = a folder of its own
  std::vector<std::string> folders;                // made before the start: emptyDir, DirectoryOrCreate
  std::string terminationMessageFile;              // on the host; read when the container has ended
};

struct ContainerExit {
  int code = 0;         // 128 + signal for a killed one
  std::string message;  // the termination message, at most 4096 bytes as in Kubernetes
};

// One per node; used by its kubelet's thread only. Destroying it kills everything that runs, without a word.
class PodRuntime {
 public:
  virtual ~PodRuntime() = default;
  // The image's entry point; nullopt when there is no such image (the pod then waits with ErrImagePull).
  virtual std::optional<std::vector<std::string>> entryPoint(const std::string& image) const = 0;
  // A folder on the host for a pod's emptyDir volumes and termination messages; "" where nothing is ever
  // written.
  virtual std::string podFolder(const std::string& ns, const std::string& pod,
                                const std::string& uid) const = 0;
  // Starts it; the answer identifies the running container.
  virtual Result<std::string> start(const ContainerSpec& spec, TimePoint now) = 0;
  // How it ended, if it has; told once, after which the id is forgotten.
  virtual std::optional<ContainerExit> takeExit(const std::string& id, TimePoint now) = 0;
  // SIGTERM: a request. SIGKILL: no choice.
  virtual void terminate(const std::string& id, TimePoint now) = 0;
  virtual void kill(const std::string& id, TimePoint now) = 0;
  // Kills and forgets it: takeExit will not tell of it.
  virtual void discard(const std::string& id) = 0;
  // When takeExit may have news at the latest; kNever when nothing can happen by itself.
  virtual TimePoint nextChange(TimePoint now) const = 0;
};

}  // namespace mainstay::local
