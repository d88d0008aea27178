// Subprocess: a child in its own process group, with a deadline and bounded output, that never outlives its
// owner.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"

namespace mainstay {

struct Command {
  std::vector<std::string> arguments;              // [0] is the program: a path, or a name looked up in PATH
  std::map<std::string, std::string> environment;  // the whole environment: nothing is inherited
  std::string workingFolder;                       // "" = ours
  std::string outputFile;                          // "" = inherit; else both streams are appended here
};

struct ExitStatus {
  int code = 0;    // exit code, or 128 + signal
  int signal = 0;  // 0 when it exited by itself
};

class Subprocess {
 public:
  static Result<Subprocess> start(const Command& command);
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  // Kills the whole group (SIGKILL) and reaps.
  ~Subprocess();

  pid_t pid() const { return pid_; }
  // The status if it has ended; never waits.
  std::optional<ExitStatus> poll();
  // Waits for the end until the deadline; nullopt when it still runs.
  std::optional<ExitStatus> wait(Deadline deadline);
  // To the whole group; nothing happens when it has ended.
  void signal(int number);

 private:
  explicit Subprocess(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;  // -1: moved from, or reaped
  std::optional<ExitStatus> status_;
};

struct Output {
  ExitStatus status;
  std::string text;  // standard output, then standard error interleaved as it came, cut at the limit
  bool truncated = false;
};

// Runs to the end and captures output, at most `limit` bytes. Past the deadline the whole group is killed:
// kDeadlineExceeded.
Result<Output> run(const Command& command, Deadline deadline, std::size_t limit = 1 << 20);

// This process's environment without what could point a child at somebody's real cluster or cloud account:
// KUBECONFIG, KUBERNETES_SERVICE_*, AWS_* are left out.
std::map<std::string, std::string> safeEnvironment();

}  // namespace mainstay
