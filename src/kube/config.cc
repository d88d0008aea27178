#include "kube/config.h"

namespace mainstay::kube {
namespace {

constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::size_t kMaxCredentialFile = 1 << 20;

}  // namespace

Result<Config> inClusterConfig(const FileSystem& files, const std::string& host, const std::string& port) {
  if (host.empty() || port.empty()) {
    return fail(Code::kFailedPrecondition,
                "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set; "
                "give --kubeconfig");
  }
  const std::string folder = kServiceAccount;
  Result<std::string> ca = files.read(folder + "ca.crt", kMaxCredentialFile);
  if (!ca) {
    return fail(std::move(ca).error().with(
        "reading the service account's CA (is automountServiceAccountToken off for this pod?)"));
  }
  Config config;
  const bool v6 = host.find(':') != std::string::npos;
  config.server = "https://" + (v6 ? "[" + host + "]" : host) + ":" + port;
  config.caCertificates = *std::move(ca);
  config.tokenFile = folder + "token";
  config.origin = "the service account in " + folder;
  if (Result<std::string> ns = files.read(folder + "namespace", kMaxCredentialFile); ns && !ns->empty()) {
    config.ns = ns->substr(0, ns->find_last_not_of(" \r\n") + 1);
  }
  return config;
}

Result<Config> chooseConfig(const FileSystem& files, const ConfigChoice& choice) {
  if (!choice.kubeconfig.empty()) {
    return loadKubeconfig(files, choice.kubeconfig, choice.context);
  }
  if (!choice.serviceHost.empty() && choice.context.empty()) {
    return inClusterConfig(files, choice.serviceHost, choice.servicePort);
  }
  if (!choice.homeKubeconfig.empty() && files.exists(choice.homeKubeconfig)) {
    return loadKubeconfig(files, choice.homeKubeconfig, choice.context);
  }
  return fail(Code::kFailedPrecondition,
              "no API server is configured: give --kubeconfig FILE, set KUBECONFIG, or run inside a cluster");
}

}  // namespace mainstay::kube
