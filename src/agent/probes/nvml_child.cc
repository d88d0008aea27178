#include "agent/probes/nvml_child.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/descriptor.h"
#include "base/subprocess.h"
#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

constexpr Duration kDying = std::chrono::seconds(2);
constexpr std::size_t kMaxComplaint = 1000;

// A name without a folder is looked for beside this program first.
std::string besideUs(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string beside = (self.parent_path() / name).string();
  return name.find('/') == name.npos && !error && ::access(beside.c_str(), X_OK) == 0 ? beside : name;
}

// Memory that takes the answer and cannot grow, so that nobody has to read while the child runs.
Result<Descriptor> makeAnswer() {
  Descriptor memory(::memfd_create("nvml answer", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ::ftruncate(memory.get(), kMaxNvmlAnswer) != 0 ||
      ::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0) {
    return fail(systemError("making room for a child's answer"));
  }
  return memory;
}

Result<std::string> readAnswer(const Descriptor& memory) {
  std::string text(kMaxNvmlAnswer, '\0');
  const ssize_t count = ::pread(memory.get(), text.data(), text.size(), 0);
  if (count < 0) {
    return fail(systemError("reading a child's answer"));
  }
  text.resize(text.find('\0') == text.npos ? static_cast<std::size_t>(count) : text.find('\0'));
  text.shrink_to_fit();
  return text;
}

class NvmlChild {
 public:
  explicit NvmlChild(const NvmlProgram& program)
      : command_{.arguments = {besideUs(program.program), "--host-root=" + program.hostRoot},
                 .environment = wholeEnvironment()} {}

  Result<std::string> ask(Duration patience) {
    if (stuck_ && !stuck_->poll()) {
      return fail(Code::kDeadlineExceeded, name() + " (pid " + std::to_string(stuck_->pid()) +
                                               ") hangs in the driver although it was killed");
    }
    stuck_.reset();
    MAINSTAY_ASSIGN(const Descriptor answer, makeAnswer());
    command_.outputDescriptor = answer.get();
    command_.errorDescriptor = STDERR_FILENO;
    MAINSTAY_ASSIGN(Subprocess child, Subprocess::start(command_));
    const auto status = child.wait(Deadline::after(patience));
    if (!status) {
      child.signal(SIGKILL);
      if (!child.wait(Deadline::after(kDying))) {
        stuck_ = std::move(child);
      }
      return fail(Code::kDeadlineExceeded, name() + " did not end within " + humanDuration(patience) +
                                               " and was killed: the driver hangs");
    }
    MAINSTAY_ASSIGN(std::string text, readAnswer(answer));
    if (status->signal != 0) {
      return fail(Code::kInternal, name() + " was ended by signal " + std::to_string(status->signal));
    }
    if (status->code != 0) {
      return fail(Code::kUnavailable,
                  std::string(fault::cutUtf8(fault::sanitizeUtf8(fault::trim(text)), kMaxComplaint)));
    }
    return text;
  }

 private:
  const std::string& name() const { return command_.arguments.front(); }

  Command command_;
  std::optional<Subprocess> stuck_;
};

}  // namespace

AskNvml askChild(const NvmlProgram& program) {
  return [child = std::make_shared<NvmlChild>(program)](Duration patience) { return child->ask(patience); };
}

}  // namespace mainstay::agent::probes
