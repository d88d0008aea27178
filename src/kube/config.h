// Config: where the API server is, how to trust it, and who we are to it; from a kubeconfig or from inside a
// cluster.
//
// Errors name the file, the line and what to do. Tokens, keys and passwords are never part of one.
#pragma once

#include <string>

#include "base/file_system.h"

namespace mainstay::kube {

struct Config {
  std::string server;  // "https://10.0.0.1:6443", without a slash at its end
  std::string ns = "default";
  std::string caCertificates;     // PEM; "" = the system's
  std::string clientCertificate;  // PEM; "" = none
  std::string clientKey;          // PEM; secret
  std::string token;              // secret
  std::string tokenFile;          // wins over token; read again every minute
  std::string serverName;         // tls-server-name
  bool verifyTls = true;
  std::string origin;  // for messages: "kubeconfig /root/.kube/config, context demo"
};

// Where to look. main fills it from flags and environment; nothing here reads the environment.
struct ConfigChoice {
  std::string kubeconfig{};      // --kubeconfig or KUBECONFIG: explicit, so that its failure is final
  std::string context{};         // "" = current-context
  std::string serviceHost{};     // KUBERNETES_SERVICE_HOST
  std::string servicePort{};     // KUBERNETES_SERVICE_PORT
  std::string homeKubeconfig{};  // ~/.kube/config, tried last and only when it exists; "" = none (daemons)
};

// The explicit kubeconfig; else in-cluster when serviceHost is set; else homeKubeconfig.
Result<Config> chooseConfig(const FileSystem& files, const ConfigChoice& choice);

// `context` "" = the file's current-context. Credential plugins (exec, auth-provider), user names with
// passwords, impersonation and proxy-url are refused by name: this release would otherwise act as somebody
// else, or fail obscurely.
Result<Config> loadKubeconfig(const FileSystem& files, const std::string& path,
                              const std::string& context = "");

// The service account of the pod we run in.
Result<Config> inClusterConfig(const FileSystem& files, const std::string& host, const std::string& port);

}  // namespace mainstay::kube
