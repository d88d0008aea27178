// ProcessRuntime: containers as host processes, each in its own process group and working folder, both output
// streams in a log file. Files lie under
//
//   ROOT/<namespace>_<pod>_<uid>/<container>-<restart>.log
//                               /<container>/               working folder
//                               /volumes/<name>/            emptyDir
//                               /<container>-termination-log
//
// and stay until the cluster's folder is removed, so that a person can read them after the pod has gone. A
// process has the container's environment and nothing else of ours; it has our user, our files and our
// network.
#pragma once

#include "base/subprocess.h"
#include "local/api/log_source.h"
#include "local/cluster/pod_runtime.h"

namespace mainstay::local {

// Image name -> the host command that stands for its entry point (empty: a container brings its own command).
using ImageTable = std::map<std::string, std::vector<std::string>>;

class ProcessRuntime final : public PodRuntime {
 public:
  // A process's end is noticed within this time: the kubelet asks, since a step may not wait.
  static constexpr Duration kPollEvery = std::chrono::milliseconds(10);

  ProcessRuntime(std::string root, ImageTable images);

  std::optional<std::vector<std::string>> entryPoint(const std::string& image) const override;
  std::string podFolder(const std::string& ns, const std::string& pod, const std::string& uid) const override;
  Result<std::string> start(const ContainerSpec& spec, TimePoint now) override;
  std::optional<ContainerExit> takeExit(const std::string& id, TimePoint now) override;
  void terminate(const std::string& id, TimePoint now) override;
  void kill(const std::string& id, TimePoint now) override;
  void discard(const std::string& id) override { running_.erase(id); }
  TimePoint nextChange(TimePoint now) const override;

 private:
  struct Running {
    Subprocess process;
    std::string terminationMessageFile;
  };
  const std::string root_;
  const ImageTable images_;
  std::map<std::string, Running> running_;
};

// LogSource::read for the pods of one ProcessRuntime, from the files alone: any thread.
Result<LogSource::Chunk> readProcessLog(const std::string& root, const Json& pod,
                                        const std::string& container, bool previous, std::uint64_t offset);

}  // namespace mainstay::local
