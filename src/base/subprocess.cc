#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <future>
#include <mutex>
#include <set>

#include "base/descriptor.h"

namespace mainstay {

namespace {

// How long a killed child may take to die before it is taken for stuck in the kernel.
constexpr Duration kKillPatience = std::chrono::seconds(5);

// Our PATH, as execvp would; resolved here because the child may not allocate.
std::string findProgram(const std::string& name) {
  if (name.find('/') != name.npos) {
    return name;
  }
  const char* variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    const std::string candidate = std::string(folder) + "/" + name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return "";
}

// Everything the child needs between fork and exec, made beforehand: other threads of ours may have held any
// lock at the fork, so the child may only make system calls.
struct Launch {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argumentPointers;
  std::vector<char*> environmentPointers;
  std::string workingFolder;
  Descriptor null;
  Descriptor outputFile;
  int output = -1;  // -1: ours
  int errors = -1;  // -1: where the output goes
  pid_t owner = ::getpid();
};

// What the child tells when it could not become the program.
struct Failure {
  enum class Step { kFolder, kProgram } step;
  int error;
};

std::vector<char*> pointersTo(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

Result<std::unique_ptr<Launch>> prepareLaunch(const Command& command) {
  if (command.arguments.empty()) {
    return fail(Code::kInvalidArgument, "a command without a program");
  }
  auto launch = std::make_unique<Launch>();
  launch->program = findProgram(command.arguments.front());
  if (launch->program.empty()) {
    return fail(Code::kNotFound, "there is no such program in PATH");
  }
  launch->arguments = command.arguments;
  for (const auto& [name, value] : command.environment) {
    launch->environment.push_back(name + "=" + value);
  }
  launch->argumentPointers = pointersTo(launch->arguments);
  launch->environmentPointers = pointersTo(launch->environment);
  launch->workingFolder = command.workingFolder;
  launch->null = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!launch->null) {
    return fail(systemError("opening /dev/null"));
  }
  launch->output = command.outputDescriptor;
  launch->errors = command.errorDescriptor;
  if (!command.outputFile.empty()) {
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
    launch->outputFile = Descriptor(::open(command.outputFile.c_str(), flags, 0644));
    if (!launch->outputFile) {
      return fail(systemError("opening its output " + command.outputFile));
    }
    launch->output = launch->outputFile.get();
  }
  return launch;
}

[[noreturn]] void reportFailure(int report, Failure::Step step) {
  const Failure failure{step, errno};
  const bool told = ::write(report, &failure, sizeof failure) == sizeof failure;
  ::_exit(told ? 127 : 126);
}

// In the child: only async-signal-safe calls from here on.
[[noreturn]] void becomeProgram(const Launch& launch, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch.owner) {
    ::_exit(127);  // the owner ended before the line above
  }
  ::setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) {
    ::signal(number, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(launch.null.get(), STDIN_FILENO);
  if (launch.output >= 0) {
    ::dup2(launch.output, STDOUT_FILENO);
    ::dup2(launch.output, STDERR_FILENO);
  }
  if (launch.errors >= 0) {
    ::dup2(launch.errors, STDERR_FILENO);
  }
  // Not every library opens close-on-exec: close all but the report, which must survive until exec succeeds.
  constexpr int kReport = STDERR_FILENO + 1;
  if (report != kReport) {
    ::dup3(report, kReport, O_CLOEXEC);
  }
  ::closefrom(kReport + 1);
  if (!launch.workingFolder.empty() && ::chdir(launch.workingFolder.c_str()) != 0) {
    reportFailure(kReport, Failure::Step::kFolder);
  }
  ::execve(launch.program.c_str(), launch.argumentPointers.data(), launch.environmentPointers.data());
  reportFailure(kReport, Failure::Step::kProgram);
}

// The children that Subprocesses wait for.
struct OwnChildren {
  std::mutex mutex;  // held from before a fork until its pid is here, and while one is reaped
  std::set<pid_t> pids;
};
OwnChildren& ownChildren() {
  static auto* const children = new OwnChildren;  // never destroyed: threads of hung children outlive main
  return *children;
}

pid_t forkOwn() {
  const std::lock_guard lock(ownChildren().mutex);
  const pid_t pid = ::fork();
  if (pid > 0) {
    ownChildren().pids.insert(pid);
  }
  return pid;
}

void awaitZombie(pid_t pid) {
  siginfo_t info;
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

// REQUIRES: awaitZombie() has returned: the lock is not held for long.
void reapOwn(pid_t pid, int* raw) {
  const std::lock_guard lock(ownChildren().mutex);
  ::waitpid(pid, raw, 0);
  ownChildren().pids.erase(pid);
}

// Nothing when the program runs: the pipe closed by exec.
std::optional<Failure> readReport(const Descriptor& report) {
  Failure failure{};
  for (;;) {
    const ssize_t count = ::read(report.get(), &failure, sizeof failure);
    if (count >= 0 || errno != EINTR) {
      return count == sizeof failure ? std::optional(failure) : std::nullopt;
    }
  }
}

// The pid of the running program; called by the thread that will wait for it.
Result<pid_t> forkProgram(const Launch& launch) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(systemError("making a pipe"));
  }
  const Descriptor report(ends[0]);
  Descriptor childsEnd(ends[1]);
  const pid_t pid = forkOwn();
  if (pid < 0) {
    return fail(systemError("fork"));
  }
  if (pid == 0) {
    becomeProgram(launch, childsEnd.get());
  }
  childsEnd.reset();
  if (const auto failure = readReport(report)) {
    awaitZombie(pid);
    reapOwn(pid, nullptr);
    const bool folder = failure->step == Failure::Step::kFolder;
    return fail(systemError(folder ? "working folder " + launch.workingFolder : "executing " + launch.program,
                            failure->error));
  }
  return pid;
}

ExitStatus statusOf(int raw) {
  if (WIFSIGNALED(raw)) {
    return {128 + WTERMSIG(raw), WTERMSIG(raw)};
  }
  return {WEXITSTATUS(raw), 0};
}

}  // namespace

// Shared with the watching thread, which may outlive the Subprocess when the child is stuck.
struct Subprocess::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<ExitStatus> status;  // guarded by mutex
  pid_t pid = -1;                    // set before anyone else sees it; ours until `status` is set
  Descriptor ended{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  void awaitEnd() {
    awaitZombie(pid);
    const std::lock_guard lock(mutex);
    // Not reaped yet, the leader keeps the group's number from being used again.
    ::kill(-pid, SIGKILL);
    int raw = 255 << 8;  // should somebody else have reaped it: not a success
    reapOwn(pid, &raw);
    status = statusOf(raw);
    ::eventfd_write(ended.get(), 1);
    changed.notify_all();
  }
};

Result<Subprocess> Subprocess::start(const Command& command) {
  const std::string what = "starting " + (command.arguments.empty() ? "nothing" : command.arguments.front());
  auto launch = prepareLaunch(command);
  if (!launch) {
    return fail(std::move(launch).error().with(what));
  }
  Subprocess child;
  child.state_ = std::make_shared<State>();
  std::promise<Result<pid_t>> started;
  auto pid = started.get_future();
  child.watcher_ =
      std::thread([state = child.state_, &launch = **launch, started = std::move(started)]() mutable {
        auto forked = forkProgram(launch);
        const bool runs = forked.has_value();
        state->pid = forked.value_or(-1);
        started.set_value(std::move(forked));
        if (runs) {
          state->awaitEnd();
        }
      });
  auto forked = pid.get();
  if (!forked) {
    child.watcher_.join();
    child.state_.reset();
    return fail(std::move(forked).error().with(what));
  }
  child.pid_ = *forked;
  return child;
}

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  const Subprocess old(std::move(*this));
  state_ = std::move(other.state_);
  watcher_ = std::move(other.watcher_);
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

Subprocess::~Subprocess() {
  if (watcher_.joinable() && kill(kKillPatience)) {
    watcher_.join();
  }
}

std::optional<ExitStatus> Subprocess::poll() const {
  const std::lock_guard lock(state_->mutex);
  return state_->status;
}

std::optional<ExitStatus> Subprocess::wait(Deadline deadline) const {
  std::unique_lock lock(state_->mutex);
  const auto ended = [this] { return state_->status.has_value(); };
  const Duration left = deadline.left();
  if (left == Duration::max()) {
    state_->changed.wait(lock, ended);
  } else {
    state_->changed.wait_for(lock, left, ended);
  }
  return state_->status;
}

void Subprocess::signal(int number) const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->status) {
    ::kill(-pid_, number);
  }
}

std::optional<ExitStatus> Subprocess::kill(Duration patience) {
  signal(SIGKILL);
  const auto status = wait(Deadline::after(patience));
  if (!status && watcher_.joinable()) {
    watcher_.detach();
  }
  return status;
}

int Subprocess::endedDescriptor() const {
  return state_->ended.get();
}

struct Capture::State {
  // One stream of the child, as far as it has come.
  struct Stream {
    Descriptor pipe = {};  // our end; empty when nothing more comes
    std::string text = {};
    bool truncated = false;
    OnOutput handOn = {};  // instead of keeping it

    // The child's end; ours never waits.
    Result<Descriptor> open();
    void take(std::size_t limit);
  };

  std::size_t limit = 0;
  Stream output = {};
  Stream errors = {};  // without a pipe: they are with the output
  std::optional<Subprocess> child = {};

  Result<> start(Command command, bool apart);
};

Result<Descriptor> Capture::State::Stream::open() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(systemError("making a pipe for a child's output"));
  }
  pipe = Descriptor(ends[0]);
  ::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
  return Descriptor(ends[1]);
}

// What is in the pipe; a child that writes faster than we read must not keep us from its deadline.
void Capture::State::Stream::take(std::size_t most) {
  constexpr int kMostReads = 64;  // more than a pipe holds
  char buffer[16384];
  for (int i = 0; pipe && i < kMostReads; ++i) {
    const ssize_t count = ::read(pipe.get(), buffer, sizeof buffer);
    if (count <= 0) {
      if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        pipe.reset();
      }
      return;
    }
    const std::string_view piece(buffer, static_cast<std::size_t>(count));
    if (handOn) {
      handOn(piece);
      continue;
    }
    const std::size_t room = std::min(most - text.size(), piece.size());
    text.append(piece.substr(0, room));
    truncated = truncated || room < piece.size();
  }
}

Result<> Capture::State::start(Command command, bool apart) {
  MAINSTAY_ASSIGN(const Descriptor outputEnd, output.open());
  Descriptor errorEnd;
  if (apart) {
    MAINSTAY_ASSIGN(errorEnd, errors.open());
  }
  command.outputFile.clear();
  command.outputDescriptor = outputEnd.get();
  command.errorDescriptor = apart ? errorEnd.get() : -1;
  MAINSTAY_ASSIGN(child, Subprocess::start(command));
  return {};
}

Capture::Capture(std::unique_ptr<State> state) : state_(std::move(state)) {}
Capture::Capture(Capture&&) noexcept = default;
Capture::~Capture() = default;

Result<Capture> Capture::start(Command command, Streams streams) {
  auto state = std::make_unique<State>();
  state->limit = streams.limit;
  state->output.handOn = std::move(streams.onOutput);
  MAINSTAY_TRY(state->start(std::move(command), streams.apart));
  return Capture(std::move(state));
}

bool Capture::wait(const Deadline& deadline) {
  State::Stream& output = state_->output;
  State::Stream& errors = state_->errors;
  for (;;) {
    pollfd states[] = {{child().endedDescriptor(), POLLIN, 0},
                       {output.pipe.get(), POLLIN, 0},
                       {errors.pipe.get(), POLLIN, 0}};
    ::poll(states, 3, pollTimeout(deadline));
    output.take(state_->limit);
    errors.take(state_->limit);
    if (states[0].revents != 0) {
      return true;
    }
    if (deadline.expired()) {
      return false;
    }
  }
}

Subprocess& Capture::child() {
  return *state_->child;
}

Output Capture::take() {
  return {child().poll().value_or(ExitStatus{}), std::move(state_->output.text), state_->output.truncated,
          std::move(state_->errors.text)};
}

namespace {

Result<Output> capture(const Command& command, Streams streams, const Deadline& deadline,
                       const std::stop_token& stop) {
  MAINSTAY_ASSIGN(Capture running, Capture::start(command, std::move(streams)));
  const std::stop_callback killAtStop(stop, [&running] { running.child().signal(SIGKILL); });
  const bool ended = running.wait(deadline);
  if (stop.stop_requested()) {
    return fail(Code::kCancelled, command.arguments.front() + " was killed: asked to stop");
  }
  if (!ended) {
    return fail(Code::kDeadlineExceeded, command.arguments.front() + " did not end in time and was killed");
  }
  return running.take();
}

}  // namespace

Result<Output> run(const Command& command, Deadline deadline, std::size_t limit, std::stop_token stop) {
  return capture(command, {.limit = limit, .apart = false}, deadline, stop);
}

Result<Output> runApart(const Command& command, Deadline deadline, std::size_t limit, std::stop_token stop) {
  return capture(command, {.limit = limit}, deadline, stop);
}

Result<Output> runStreaming(const Command& command, OnOutput onOutput, Deadline deadline, std::size_t limit) {
  return capture(command, {.limit = limit, .onOutput = std::move(onOutput)}, deadline, {});
}

void reapOrphans() {
  const std::lock_guard lock(ownChildren().mutex);
  for (;;) {
    siginfo_t info{};
    const bool found = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
    if (!found || ownChildren().pids.contains(info.si_pid)) {
      return;  // the next call comes to those behind one of ours
    }
    ::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

std::map<std::string, std::string> wholeEnvironment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const std::size_t equals = text.find('='); equals != text.npos) {
      all.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return all;
}

std::map<std::string, std::string> safeEnvironment() {
  std::map<std::string, std::string> safe = wholeEnvironment();
  std::erase_if(safe, [](const auto& entry) {
    const std::string& name = entry.first;
    return name == "KUBECONFIG" || name.starts_with("KUBERNETES_SERVICE_") || name.starts_with("AWS_");
  });
  return safe;
}

}  // namespace mainstay
