// Subprocess: a child in its own process group, with a deadline and bounded output, that never outlives its
// owner.
//
// The child dies with us whatever ends us, SIGKILL included: the kernel kills it when the thread that forked
// it ends (PR_SET_PDEATHSIG). So each child has a thread that forks it, waits for it and does nothing else:
// it ends after the child, unless the whole process does. That thread also learns of the end without polling.
// What the child itself started is in its group: killed by signal(), by the destructor, and when the child
// ends, as in a container; only a grandchild of an owner that was itself killed can stay behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace mainstay {

// Standard input is /dev/null; no descriptor of ours is inherited but the output.
struct Command {
  std::vector<std::string> arguments = {};  // [0] is the program: a path, or a name looked up in our PATH
  std::map<std::string, std::string> environment = {};  // the whole environment: nothing is inherited
  std::string workingFolder = {};                       // "" = ours
  std::string outputFile = {};                          // both streams are appended here
  int outputDescriptor = -1;  // without a file: both streams go here; -1 = where ours go
  int errorDescriptor = -1;   // standard error alone goes here; -1 = with the output
};

struct ExitStatus {
  int code = 0;    // exit code, or 128 + signal
  int signal = 0;  // 0 when it exited by itself
};

// Used by one thread at a time, except signal(), which any thread may call.
class Subprocess {
 public:
  // Returns when the program runs; kNotFound and the like name it when it cannot.
  static Result<Subprocess> start(const Command& command);
  Subprocess(Subprocess&& other) noexcept = default;
  Subprocess& operator=(Subprocess&& other) noexcept;
  // As kill(), with patience for a slow end; does not wait for one that kill() has given up.
  ~Subprocess();

  pid_t pid() const { return pid_; }
  // The status if it has ended; never waits.
  std::optional<ExitStatus> poll() const;
  // Waits for the end until the deadline; nullopt when it still runs.
  std::optional<ExitStatus> wait(Deadline deadline) const;
  // To the whole group; nothing happens when it has ended.
  void signal(int number) const;
  // Kills the whole group (SIGKILL) and reaps. nullopt when it has not ended within `patience`: one that
  // hangs in the kernel (a device, a file system) is left to its thread, and poll() tells when it ends after
  // all.
  std::optional<ExitStatus> kill(Duration patience);
  // Readable when it has ended: for poll(2).
  int endedDescriptor() const;

 private:
  struct State;
  Subprocess() = default;

  std::shared_ptr<State> state_;  // null: moved from
  std::thread watcher_;
  pid_t pid_ = -1;
};

struct Output {
  ExitStatus status = {};
  std::string text = {};  // standard output and standard error as they came, cut at the limit
  bool truncated = false;
  std::string errors = {};  // runApart(): standard error, cut at the limit
};

using OnOutput = std::function<void(std::string_view)>;

// What becomes of a child's output.
struct Streams {
  std::size_t limit =
      1 << 20;             // bytes kept of each; what is beyond is thrown away, so that no child is held up
  bool apart = true;       // standard error is kept apart from standard output
  OnOutput onOutput = {};  // standard output is not kept, but handed on piece by piece
};

// A running child and what it has said so far, for who wants one or the other though it does not end in time.
class Capture {
 public:
  static Result<Capture> start(Command command, Streams streams);
  Capture(Capture&&) noexcept;
  ~Capture();

  // Reads until the child has ended; a descendant that left the group may hold the pipes open for longer.
  // False at the deadline.
  bool wait(const Deadline& deadline);
  Subprocess& child();
  // What has come since the last call; the status is 0 while the child runs.
  Output take();

 private:
  struct State;
  explicit Capture(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Runs to the end and captures output, at most `limit` bytes. Past the deadline (kDeadlineExceeded), or when
// asked to stop (kCancelled), the whole group is killed.
Result<Output> run(const Command& command, Deadline deadline, std::size_t limit = 1 << 20,
                   std::stop_token stop = {});

// As run(), with standard error in Output::errors: for a program whose output is data, or a secret.
Result<Output> runApart(const Command& command, Deadline deadline, std::size_t limit = 1 << 20,
                        std::stop_token stop = {});

// Runs to the end and hands on standard output in pieces as it comes, however much it is; standard error is
// in Output::errors, cut at `limit`. Otherwise as runApart().
Result<Output> runStreaming(const Command& command, OnOutput onOutput, Deadline deadline,
                            std::size_t limit = 64 << 10);

// Reaps children that were not ours but have become so, since their parent is gone and we are the first process
// of a container (or a subreaper): without it they stay zombies. Leaves a Subprocess to its thread. Any thread.
void reapOrphans();

// This process's environment, for a child that acts in its owner's name.
std::map<std::string, std::string> wholeEnvironment();

// This process's environment without what could point a child at somebody's real cluster or cloud account:
// KUBECONFIG, KUBERNETES_SERVICE_*, AWS_* are left out.
std::map<std::string, std::string> safeEnvironment();

}  // namespace mainstay
