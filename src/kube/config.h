// Config: where the API server is, how to trust it, and who we are to it; from a kubeconfig or from inside a
// cluster.
//
// Errors name the file, the line and what to do. Tokens, keys and passwords are never part of one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/json.h"

namespace mainstay::kube {

// A program that says who we are, `exec` of a kubeconfig's user (client.authentication.k8s.io v1 or v1beta1).
struct ExecPlugin {
  std::string apiVersion = {};
  std::string command = {};  // a path, or a name looked up in our PATH
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};  // added to ours
  std::string installHint = {};                         // for whoever lacks the program
  Json cluster = {};  // provideClusterInfo: what the plugin is told about the cluster; null = nothing
};

struct Config {
  std::string server;  // "https://10.0.0.1:6443", without a slash at its end
  std::string ns = "default";
  std::string caCertificates;      // PEM; "" = the system's
  std::string clientCertificate;   // PEM; "" = none
  std::string clientKey;           // PEM; secret
  std::string token;               // secret
  std::string tokenFile;           // wins over token; read again every minute
  std::optional<ExecPlugin> exec;  // asked for token and certificate when there is no token of the above
  std::string serverName;          // tls-server-name
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

// `paths` is one file, or several with ':' between them, merged as kubectl does: the first file that has a
// cluster, user or context of a name is the one that counts, likewise for current-context; relative paths
// start at the folder of their own file; of several, those that do not exist are left out. `context` "" = the
// current one. auth-provider, user names with passwords, impersonation and proxy-url are refused by name: this
// release would otherwise act as somebody else, or fail obscurely.
Result<Config> loadKubeconfig(const FileSystem& files, const std::string& paths,
                              const std::string& context = "");

// The service account of the pod we run in.
Result<Config> inClusterConfig(const FileSystem& files, const std::string& host, const std::string& port);

}  // namespace mainstay::kube
