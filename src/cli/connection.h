// How a command reaches the cluster that it is about: --kubeconfig and --context, as kubectl understands them.
#pragma once

#include <memory>
#include <string>

#include "base/file_system.h"
#include "base/flags.h"
#include "cli/app.h"
#include "cloud/aws/surroundings.h"
#include "kube/http_api.h"

namespace mainstay::cli {

// Exit code of a command whose kubeconfig cannot be read, or is not of a cluster that the command is for.
inline constexpr int kWrongCluster = 2;

class Connection {
 public:
  explicit Connection(const Surroundings& surroundings) : surroundings_(surroundings) {}
  void addFlags(Flags& flags);
  // REQUIRES: this outlives what it returns.
  Result<std::unique_ptr<kube::HttpApi>> open();
  // The server's URL when it is a loopback address; an error that says so otherwise (local cluster commands).
  Result<std::string> localServer();
  // For a client that does not outlive this.
  cloud::aws::Surroundings awsSurroundings() const;
  const Clock& clock() const { return clock_; }

 private:
  Result<kube::Config> config() const;

  const Surroundings& surroundings_;
  std::string kubeconfig_;
  std::string context_;
  RealFileSystem files_;
  SteadyWallClock clock_;
};

}  // namespace mainstay::cli
