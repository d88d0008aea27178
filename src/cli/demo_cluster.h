// DemoCluster: the demo's world: a local cluster with three Trainium nodes in one Auto Scaling group, a
// mainstay-agent process on each node, a mainstay-controller process, policy and job from examples/.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/loop.h"
#include "base/subprocess.h"
#include "cli/demo.h"
#include "local/cluster/cluster.h"

namespace mainstay::cli {

inline constexpr char kWorkerGroup[] = "trn1-workers";

class DemoCluster {
 public:
  static Result<std::unique_ptr<DemoCluster>> start(const DemoOptions& options, const Clock& clock);

  kube::Api& api() { return cluster_->api(); }
  local::Cloud& cloud() { return cluster_->cloud(); }
  const std::string& kubeconfig() const { return cluster_->kubeconfig(); }
  const std::string& url() const { return cluster_->url(); }
  const std::string& folder() const { return folder_.path(); }
  // The folder stays, for its logs.
  void keepFolder() { folder_.keep(); }

  // The example job: its name, how many ranks it has, how its trainer is called, where its checkpoints lie.
  const std::string& job() const { return jobName_; }
  int ranks() const { return ranks_; }
  const std::vector<std::string>& trainerArguments() const { return trainerArguments_; }
  std::string checkpointFolder() const { return cluster_->hostRoot() + "/checkpoints"; }
  Result<> submitJob();

  // Into the node's kernel log; into the real device when that node reads it.
  Result<> writeFault(const std::string& node, const std::string& line);
  // An error when the controller has ended by itself.
  Result<> checkPrograms();

 private:
  DemoCluster(const DemoOptions& options, const Clock& clock);
  Result<> open();
  Result<> readJob();
  Result<> startController();
  Json agentDaemonSet() const;

  const DemoOptions options_;
  const Clock& clock_;
  TemporaryFolder folder_;
  RealDriver driver_;
  std::unique_ptr<local::Cluster> cluster_;
  std::optional<Subprocess> controller_;
  Json jobObject_;
  std::string jobName_;
  int ranks_ = 0;
  std::vector<std::string> trainerArguments_;
};

}  // namespace mainstay::cli
