#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace mainstay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

Command shell(const std::string& script) {
  return {.arguments = {"sh", "-c", script}, .environment = {{"PATH", "/usr/bin:/bin"}}};
}

Deadline childPatience() {
  return Deadline::after(seconds(20));
}

// One byte, or nothing at the end.
std::string readByte(const Descriptor& pipe) {
  pollfd state{pipe.get(), POLLIN, 0};
  if (::poll(&state, 1, pollTimeout(childPatience())) <= 0) {
    return "<timeout>";
  }
  char byte = 0;
  return std::string(&byte, static_cast<std::size_t>(std::max<ssize_t>(::read(pipe.get(), &byte, 1), 0)));
}

// A pipe that children hold open: its end is the proof that none of them is left.
struct Pipe {
  Descriptor ours;
  Descriptor theirs;

  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
  }

  std::string read() const { return readByte(ours); }
};

TEST(RunTest, KeepsStandardErrorApartWhenAsked) {
  const auto output = runApart(shell("echo data; echo complaint >&2; exit 3"), childPatience());
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->text, "data\n");
  EXPECT_EQ(output->errors, "complaint\n");
  EXPECT_EQ(output->status.code, 3);
}

TEST(RunTest, CutsEachStreamAtTheLimitOfItsOwn) {
  const auto output = runApart(shell("printf 123456; printf abcdef >&2"), childPatience(), 4);
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->text, "1234");
  EXPECT_EQ(output->errors, "abcd");
  EXPECT_TRUE(output->truncated);
}

TEST(RunTest, CapturesBothStreamsAndTheExitCode) {
  const auto output = run(shell("echo out; echo err >&2; exit 3"), childPatience());
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->text, "out\nerr\n");
  EXPECT_EQ(output->status.code, 3);
  EXPECT_EQ(output->status.signal, 0);
  EXPECT_FALSE(output->truncated);
}

TEST(RunTest, ReportsTheSignalThatEndedTheChild) {
  const auto output = run(shell("kill -TERM $$"), childPatience());
  ASSERT_TRUE(output);
  EXPECT_EQ(output->status.signal, SIGTERM);
  EXPECT_EQ(output->status.code, 128 + SIGTERM);
}

TEST(RunTest, CutsOutputAtTheLimitWithoutHoldingUpTheChild) {
  const auto output = run(shell("head -c 300000 /dev/zero | tr '\\0' x"), childPatience(), 1000);
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->text, std::string(1000, 'x'));
  EXPECT_TRUE(output->truncated);
  EXPECT_EQ(output->status.code, 0);
}

TEST(RunTest, KillsTheChildAtTheDeadline) {
  const auto output = run(shell("sleep 1000"), Deadline::after(milliseconds(50)));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::kDeadlineExceeded);
  EXPECT_THAT(output.error().toString(), HasSubstr("sh did not end in time"));
}

TEST(RunTest, AFloodOfOutputDoesNotPutOffTheDeadline) {
  const auto output = run(shell("exec yes"), Deadline::after(milliseconds(50)), 1000);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::kDeadlineExceeded);
}

TEST(RunTest, HandsOnOutputOfAnyLength) {
  std::size_t bytes = 0;
  const auto output = runStreaming(
      shell("head -c 3000000 /dev/zero; echo note >&2; exit 4"),
      [&](std::string_view piece) { bytes += piece.size(); }, childPatience());
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(bytes, 3000000u);
  EXPECT_EQ(output->text, "");
  EXPECT_EQ(output->errors, "note\n");
  EXPECT_EQ(output->status.code, 4);
}

TEST(CaptureTest, KeepsWhatAChildSaidThatDidNotEndInTime) {
  auto running = Capture::start(shell("echo out; echo err >&2; exec sleep 1000"), {.limit = 100});
  ASSERT_TRUE(running) << running.error().toString();
  std::string text;
  std::string errors;
  for (const Deadline patience = childPatience(); (text.empty() || errors.empty()) && !patience.expired();) {
    EXPECT_FALSE(running->wait(Deadline::after(milliseconds(1))));
    const Output soFar = running->take();
    text += soFar.text;
    errors += soFar.errors;
  }
  EXPECT_EQ(text, "out\n");
  EXPECT_EQ(errors, "err\n");
  EXPECT_EQ(running->child().kill(seconds(20))->signal, SIGKILL);
}

TEST(RunTest, KillsChildAndGrandchildrenWhenAskedToStop) {
  const TemporaryFolder folder("mainstay-test-");
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Descriptor alive(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::stop_source stop;
  std::jthread asker([&] {
    EXPECT_EQ(readByte(alive), "\n");
    stop.request_stop();
  });
  const auto output = run(shell("(echo; exec sleep 1000) > " + fifo + " & sleep 1000"), Deadline::never(),
                          100, stop.get_token());
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().code(), Code::kCancelled);
  EXPECT_EQ(readByte(alive), "") << "the grandchild still holds the pipe";
}

TEST(RunTest, DoesNotWaitForADescendantThatLeftTheGroupWithThePipe) {
  const TemporaryFolder folder("mainstay-test-");
  // It lives on in a session of its own until the test kills it.
  const std::string pidFile = folder.path() + "/pid";
  const auto output = run(shell("setsid sh -c 'echo $$ > " + pidFile +
                                "; exec sleep 1000' & "
                                "while [ ! -s " +
                                pidFile + " ]; do :; done; echo done"),
                          childPatience());
  ASSERT_TRUE(output) << output.error().toString();
  EXPECT_EQ(output->text, "done\n");
  const RealFileSystem files;
  ::kill(std::atoi(files.read(pidFile, 100)->c_str()), SIGKILL);
}

TEST(RunTest, NamesWhatCannotBeStarted) {
  const auto absent = run({.arguments = {"no-such-program"}}, childPatience());
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Code::kNotFound);
  EXPECT_THAT(absent.error().toString(), HasSubstr("starting no-such-program"));

  const auto folder = run({.arguments = {"/"}}, childPatience());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), Code::kPermissionDenied);

  Command elsewhere = shell("true");
  elsewhere.workingFolder = "/no/such/folder";
  EXPECT_THAT(run(elsewhere, childPatience()).error().toString(),
              AllOf(HasSubstr("/no/such/folder"), HasSubstr("No such file")));

  EXPECT_EQ(run({}, childPatience()).error().code(), Code::kInvalidArgument);
}

TEST(RunTest, GivesTheChildOnlyWhatItIsMeantToHave) {
  const Descriptor leak(::open("/dev/null", O_RDONLY));  // not close-on-exec, as some libraries open
  ASSERT_TRUE(leak);
  std::signal(SIGPIPE, SIG_IGN);
  Command command = shell(
      "env | grep -v -e ^PWD= -e ^SHLVL= -e ^_= -e ^OLDPWD= | sort; pwd; [ -e /proc/$$/fd/" +
      std::to_string(leak.get()) + " ] || echo closed; readlink /proc/$$/fd/0; grep SigIgn /proc/$$/status");
  command.environment["ONLY"] = "this";
  command.workingFolder = "/proc";
  const auto output = run(command, childPatience());
  ASSERT_TRUE(output);
  EXPECT_EQ(output->text,
            "ONLY=this\nPATH=/usr/bin:/bin\n/proc\nclosed\n/dev/null\nSigIgn:\t0000000000000000\n");
}

TEST(SubprocessTest, AppendsItsOutputToAFile) {
  const TemporaryFolder folder("mainstay-test-");
  Command command = shell("echo line");
  command.outputFile = folder.path() + "/log";
  for (int i = 0; i < 2; ++i) {
    const auto child = Subprocess::start(command);
    ASSERT_TRUE(child) << child.error().toString();
    EXPECT_EQ(child->wait(childPatience())->code, 0);
  }
  const RealFileSystem files;
  EXPECT_EQ(*files.read(command.outputFile, 100), "line\nline\n");
}

TEST(SubprocessTest, TellsWhetherItStillRunsAndTakesSignals) {
  Pipe ready;
  Command command = shell("trap 'exit 7' TERM; echo; while :; do sleep 1000 & wait; done");
  command.outputDescriptor = ready.theirs.get();
  const auto child = Subprocess::start(command);
  ASSERT_TRUE(child);
  ASSERT_EQ(ready.read(), "\n");
  EXPECT_FALSE(child->poll());
  EXPECT_FALSE(child->wait(Deadline::after(milliseconds(1))));
  child->signal(SIGTERM);
  EXPECT_EQ(child->wait(childPatience())->code, 7);
  EXPECT_EQ(child->poll()->code, 7);
  child->signal(SIGTERM);  // ended: to nobody
}

TEST(SubprocessTest, OneThatIsGivenUpStillTellsItsEnd) {
  auto child = Subprocess::start(shell("exec sleep 1000"));
  ASSERT_TRUE(child);
  child->kill(Duration(0));  // no patience at all
  EXPECT_EQ(child->wait(childPatience())->signal, SIGKILL);
  EXPECT_EQ(child->poll()->code, 128 + SIGKILL);
}

TEST(SubprocessTest, KillsItsGroupWhenDestroyed) {
  Pipe alive;
  Command command = shell("sleep 1000 & echo; sleep 1000");
  command.outputDescriptor = alive.theirs.get();
  {
    const auto child = Subprocess::start(command);
    ASSERT_TRUE(child);
    alive.theirs.reset();
    ASSERT_EQ(alive.read(), "\n");
  }
  EXPECT_EQ(alive.read(), "") << "somebody still holds the pipe";
}

TEST(SubprocessTest, KillsTheRestOfTheGroupWhenTheChildEnds) {
  Pipe alive;
  Command command = shell("sleep 1000 & exit 0");
  command.outputDescriptor = alive.theirs.get();
  const auto child = Subprocess::start(command);
  ASSERT_TRUE(child);
  alive.theirs.reset();
  EXPECT_EQ(child->wait(childPatience())->code, 0);
  EXPECT_EQ(alive.read(), "");
}

TEST(SubprocessTest, MovesAndKillsWhatItReplaces) {
  Pipe first;
  Command command = shell("sleep 1000");
  command.outputDescriptor = first.theirs.get();
  auto child = Subprocess::start(command);
  ASSERT_TRUE(child);
  first.theirs.reset();
  *child = *Subprocess::start(shell("exit 4"));
  EXPECT_EQ(first.read(), "");
  const Subprocess moved = std::move(*child);
  EXPECT_EQ(moved.wait(childPatience())->code, 4);
}

TEST(SubprocessTest, DiesWithAnOwnerThatIsKilled) {
  Pipe alive;
  const pid_t owner = ::fork();
  if (owner == 0) {
    Command command = shell("exec sleep 1000");
    command.outputDescriptor = alive.theirs.get();
    const auto child = Subprocess::start(command);
    ::kill(::getpid(), child ? SIGKILL : SIGTERM);
  }
  alive.theirs.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(owner, &status, 0), owner);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(alive.read(), "");
}

TEST(SubprocessTest, OutlivesTheThreadThatStartedIt) {
  Result<Subprocess> child = fail(Code::kInternal, "not started");
  std::thread([&] { child = Subprocess::start(shell("sleep 0.05; exit 5")); }).join();
  ASSERT_TRUE(child);
  EXPECT_EQ(child->wait(childPatience())->code, 5);
}

TEST(ReapOrphansTest, LeavesNoZombiesAndOursToTheirOwners) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // as if we were the first process of a container
  const auto own = Subprocess::start(shell("exit 5"));
  ASSERT_TRUE(own);
  ASSERT_TRUE(run(shell("sleep 1000 & setsid true & exit 0"), childPatience()));
  siginfo_t info;
  for (const Deadline patience = childPatience();
       ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;) {
    reapOrphans();
    ASSERT_FALSE(patience.expired());
  }
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(own->wait(childPatience())->code, 5);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(SafeEnvironmentTest, LeavesOutWhatPointsAtRealClustersAndAccounts) {
  ::setenv("KUBECONFIG", "/real", 1);
  ::setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  ::setenv("AWS_PROFILE", "production", 1);
  ::setenv("MAINSTAY_TEST_HARMLESS", "a=b", 1);
  const auto safe = safeEnvironment();
  for (const char* name : {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "AWS_PROFILE"}) {
    EXPECT_FALSE(safe.contains(name)) << name;
    ::unsetenv(name);
  }
  EXPECT_EQ(safe.at("MAINSTAY_TEST_HARMLESS"), "a=b");
  ::unsetenv("MAINSTAY_TEST_HARMLESS");
}

}  // namespace
}  // namespace mainstay
