#include "local/cluster/container_spec.h"

#include <algorithm>

#include "local/api/json_access.h"

namespace mainstay::local {
namespace {

constexpr char kSearchPath[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr char kDefaultTerminationMessagePath[] = "/dev/termination-log";

struct Mount {
  std::string path;  // in the container
  std::string host;
};

std::vector<std::string> stringsAt(const Json& object, std::string_view key) {
  std::vector<std::string> strings;
  for (const Json& element : arrayAt(object, key)) {
    strings.push_back(element.is_string() ? std::string(element.get_string()) : toText(element));
  }
  return strings;
}

// Begins with the mount's path, at the border of a path component.
bool isBelow(std::string_view path, std::string_view mount) {
  return path.starts_with(mount) && (path.size() == mount.size() || path[mount.size()] == '/');
}

std::string rewritePath(const std::string& text, const std::vector<Mount>& mounts) {
  const std::size_t start =
      text.starts_with('-') && text.find('=') != std::string::npos ? text.find('=') + 1 : 0;
  const std::string_view path = std::string_view(text).substr(start);
  for (const Mount& mount : mounts) {
    if (isBelow(path, mount.path)) {
      return text.substr(0, start) + mount.host + std::string(path.substr(mount.path.size()));
    }
  }
  return text;
}

std::string withoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) {
    path.pop_back();
  }
  return path;
}

Result<std::string> hostFolder(const Json& pod, const std::string& volumeName, const PodSite& site,
                               std::vector<std::string>& toMake) {
  for (const Json& volume : arrayAt(pod, "spec", "volumes")) {
    if (findString(volume, "name") != volumeName) {
      continue;
    }
    if (find(volume, "emptyDir")) {
      toMake.push_back(site.podFolder + "/volumes/" + volumeName);
      return toMake.back();
    }
    const std::string path = findString(volume, "hostPath", "path");
    if (!path.starts_with('/')) {
      break;
    }
    const std::string host = site.hostRoot + withoutTrailingSlash(path);
    if (!findString(volume, "hostPath", "type").starts_with("File")) {
      toMake.push_back(host);
    }
    return host;
  }
  return fail(Code::kInvalidArgument, "volume \"" + volumeName +
                                          "\": the local cluster mounts hostPath and emptyDir only, and "
                                          "the pod has no such volume of that name");
}

// Longest path first, so that a mount inside another one wins.
Result<std::vector<Mount>> mountsOf(const Json& pod, const Json& container, const PodSite& site,
                                    ContainerSpec& spec) {
  const std::string messagePath = findString(container, "terminationMessagePath");
  spec.terminationMessageFile = site.podFolder + "/" + spec.name + "-termination-log";
  std::vector<Mount> mounts = {
      {messagePath.empty() ? kDefaultTerminationMessagePath : messagePath, spec.terminationMessageFile}};
  for (const Json& mount : arrayAt(container, "volumeMounts")) {
    MAINSTAY_ASSIGN(std::string host, hostFolder(pod, findString(mount, "name"), site, spec.folders));
    if (const std::string subPath = findString(mount, "subPath"); !subPath.empty()) {
      host += "/" + subPath;
    }
    mounts.push_back({withoutTrailingSlash(findString(mount, "mountPath")), host});
  }
  std::ranges::stable_sort(mounts, std::greater(), [](const Mount& mount) { return mount.path.size(); });
  return mounts;
}

// metadata.labels['key'] and metadata.annotations['key'].
std::optional<std::string> mapField(const Json& pod, const std::string& path) {
  for (const std::string_view map : {"labels", "annotations"}) {
    const std::string prefix = "metadata." + std::string(map) + "['";
    if (path.starts_with(prefix) && path.ends_with("']")) {
      return findString(pod, "metadata", map, path.substr(prefix.size(), path.size() - prefix.size() - 2));
    }
  }
  return std::nullopt;
}

Result<std::string> podField(const Json& pod, const std::string& path, const PodSite& site) {
  const std::map<std::string, std::string> plain = {
      {"metadata.name", findString(pod, "metadata", "name")},
      {"metadata.namespace", findString(pod, "metadata", "namespace")},
      {"metadata.uid", findString(pod, "metadata", "uid")},
      {"spec.nodeName", site.nodeName},
      {"spec.serviceAccountName", findString(pod, "spec", "serviceAccountName")},
      {"status.hostIP", site.hostAddress},
      {"status.podIP", site.podAddress},
      {"status.podIPs", site.podAddress},
  };
  if (const auto field = plain.find(path); field != plain.end()) {
    return field->second;
  }
  if (auto field = mapField(pod, path)) {
    return *std::move(field);
  }
  return fail(Code::kInvalidArgument, "fieldRef \"" + path + "\" is not a field that a pod can refer to");
}

// Could be a DNS name: worth a look-up.
bool looksLikeName(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= 253 && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, allowed);
}

Result<std::string> variableValue(const Json& pod, const Json& variable, const PodSite& site,
                                  const std::map<std::string, std::string>& before,
                                  const std::vector<Mount>& mounts, const LookUpName& lookUp) {
  if (const std::string path = findString(variable, "valueFrom", "fieldRef", "fieldPath"); !path.empty()) {
    return podField(pod, path, site);
  }
  if (find(variable, "valueFrom")) {
    return fail(Code::kInvalidArgument, "valueFrom: the local cluster knows fieldRef only");
  }
  std::string value = rewritePath(expandVariables(findString(variable, "value"), before), mounts);
  if (looksLikeName(value)) {
    MAINSTAY_ASSIGN(std::optional<std::string> address, lookUp(value));
    return address.value_or(value);
  }
  return value;
}

Result<> resolveEnvironment(const Json& pod, const Json& container, const PodSite& site,
                            const std::vector<Mount>& mounts, const LookUpName& lookUp, ContainerSpec& spec) {
  if (!arrayAt(container, "envFrom").empty()) {
    return fail(Code::kInvalidArgument, "envFrom is not modelled by the local cluster");
  }
  spec.environment = {{"PATH", kSearchPath}, {"HOSTNAME", spec.pod}, {"HOME", site.podFolder}};
  for (const Json& variable : arrayAt(container, "env")) {
    const std::string name = findString(variable, "name");
    auto value = variableValue(pod, variable, site, spec.environment, mounts, lookUp);
    if (!value) {
      return fail(std::move(value).error().with("env " + name));
    }
    spec.environment[name] = *std::move(value);
  }
  return {};
}

}  // namespace

std::string expandVariables(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("$$")) {
      out += '$';
      at += 2;
      continue;
    }
    const std::size_t end = rest.starts_with("$(") ? rest.find(')') : std::string_view::npos;
    const auto value =
        end == std::string_view::npos ? values.end() : values.find(std::string(rest.substr(2, end - 2)));
    if (value == values.end()) {
      out += text[at++];
    } else {
      out += value->second;
      at += end + 1;
    }
  }
  return out;
}

Result<ContainerSpec> resolveContainer(const Json& pod, const Json& container, const PodSite& site,
                                       const std::vector<std::string>& entryPoint, const LookUpName& lookUp) {
  ContainerSpec spec;
  spec.ns = findString(pod, "metadata", "namespace");
  spec.pod = findString(pod, "metadata", "name");
  spec.podUid = findString(pod, "metadata", "uid");
  spec.name = findString(container, "name");
  spec.image = findString(container, "image");
  MAINSTAY_ASSIGN(const std::vector<Mount> mounts, mountsOf(pod, container, site, spec));
  MAINSTAY_TRY(resolveEnvironment(pod, container, site, mounts, lookUp, spec));

  // As in Kubernetes, `command` replaces the image's entry point and `args` follow either.
  std::vector<std::string> words = stringsAt(container, "command");
  if (words.empty()) {
    words = entryPoint;
  } else if (!entryPoint.empty() && entryPoint[0].ends_with("/" + words[0])) {
    words[0] = entryPoint[0];  // the image has its own program on its search path
  }
  std::ranges::copy(stringsAt(container, "args"), std::back_inserter(words));
  for (const std::string& word : words) {
    spec.arguments.push_back(rewritePath(expandVariables(word, spec.environment), mounts));
  }
  if (spec.arguments.empty()) {
    return fail(Code::kInvalidArgument, "no command: neither the container nor its image names a program");
  }
  spec.workingFolder = rewritePath(findString(container, "workingDir"), mounts);
  return spec;
}

}  // namespace mainstay::local
