// From a container of a pod object to the command that a runtime starts. Pure.
//
// Modelled: command (also by the bare name of its image's program) and args, env with values and fieldRef,
// $(VAR) expansion, hostPath and emptyDir mounts, workingDir, terminationMessagePath. A host process sees the
// host's files, so every environment value, argument (also after the '=' of a flag) and working folder that
// begins with a mountPath is rewritten to the folder mounted there; a path inside a shell script is not. The
// path of a hostPath volume itself lies under the site's hostRoot, so that no pod reaches the machine's own
// folders. Not modelled, and refused: envFrom, config map and secret sources, other volumes.
#pragma once

#include <functional>
#include <optional>

#include "local/cluster/pod_runtime.h"

namespace mainstay::local {

// Where a pod runs.
struct PodSite {
  std::string nodeName;
  std::string hostAddress;
  std::string podAddress;
  std::string podFolder;
  std::string hostRoot;  // what pods see as the host's "/"
};

// The address behind a name, as cluster DNS would give it; nullopt: not a name of this cluster. kUnavailable:
// a Service that selects no pod with an address yet.
using LookUpName = std::function<Result<std::optional<std::string>>(const std::string& name)>;

// kInvalidArgument: the pod asks for what is not modelled, or cannot be (CreateContainerConfigError).
// kUnavailable: try again later.
Result<ContainerSpec> resolveContainer(const Json& pod, const Json& container, const PodSite& site,
                                       const std::vector<std::string>& entryPoint, const LookUpName& lookUp);

// $(NAME) becomes its value, $$ a dollar sign; an unknown name is left as it is.
std::string expandVariables(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace mainstay::local
