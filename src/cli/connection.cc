#include "cli/connection.h"

#include "cloud/local/local_provider.h"

namespace mainstay::cli {

void Connection::addFlags(Flags& flags) {
  flags
      .add("kubeconfig", kubeconfig_,
           "file that says how to reach the API server; else KUBECONFIG, ~/.kube/config, the pod's own")
      .add("context", context_, "context of the kubeconfig; else its current one");
}

Result<kube::Config> Connection::config() const {
  kube::ConfigChoice choice;
  choice.kubeconfig = kubeconfig_.empty() ? surroundings_.environment("KUBECONFIG") : kubeconfig_;
  choice.context = context_;
  if (const std::string home = surroundings_.environment("HOME"); !home.empty()) {
    choice.homeKubeconfig = home + "/.kube/config";
  }
  // A person's own file goes before the account of the pod that they sit in, as with kubectl.
  if (!files_.exists(choice.homeKubeconfig)) {
    choice.serviceHost = surroundings_.environment("KUBERNETES_SERVICE_HOST");
    choice.servicePort = surroundings_.environment("KUBERNETES_SERVICE_PORT");
  }
  return kube::chooseConfig(files_, choice);
}

Result<std::unique_ptr<kube::HttpApi>> Connection::open() {
  MAINSTAY_ASSIGN(kube::Config chosen, config());
  return std::make_unique<kube::HttpApi>(std::move(chosen), files_, clock_,
                                         kube::HttpApiOptions{.userAgent = "mainstay/" MAINSTAY_VERSION});
}

Result<std::string> Connection::localServer() {
  MAINSTAY_ASSIGN(const kube::Config chosen, config());
  MAINSTAY_TRY(cloud::LocalProvider::create(chosen.server));
  return chosen.server;
}

cloud::aws::Surroundings Connection::awsSurroundings() const {
  return cloud::aws::realSurroundings(surroundings_.environment, files_, clock_, {});
}

}  // namespace mainstay::cli
