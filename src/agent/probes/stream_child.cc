#include "agent/probes/stream_child.h"

#include <memory>

#include "base/subprocess.h"
#include "base/text.h"
#include "fault/text.h"

namespace mainstay::agent::probes {
namespace {

constexpr char kNeuronTools[] = "/opt/aws/neuron/bin/";
constexpr std::size_t kMaxComplaints = 1000;  // bytes of standard error

class StreamChild {
 public:
  static Result<std::shared_ptr<StreamChild>> start(const std::string& program) {
    auto child = std::make_shared<StreamChild>();
    const Command command{.arguments = {program}, .environment = safeEnvironment()};
    auto keep = [text = child->text_](std::string_view piece) {
      text->append(piece.substr(0, kMaxStreamPiece - std::min(text->size(), kMaxStreamPiece)));
    };
    MAINSTAY_ASSIGN(Capture capture,
                    Capture::start(command, {.limit = kMaxComplaints, .onOutput = std::move(keep)}));
    child->capture_.emplace(std::move(capture));
    return child;
  }

  StreamPiece read(Duration patience) {
    const bool ended = capture_->wait(Deadline::after(patience));
    return {std::exchange(*text_, {}), ended ? howItEnded() : ""};
  }

 private:
  std::string howItEnded() {
    const Output last = capture_->take();
    const std::string complaint(cutUtf8(sanitizeUtf8(fault::trim(last.errors)), kMaxComplaints));
    const std::string how = last.status.signal != 0 ? "signal " + std::to_string(last.status.signal)
                                                    : "exit code " + std::to_string(last.status.code);
    return how + (complaint.empty() ? "" : ": " + complaint);
  }

  std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
  std::optional<Capture> capture_;
};

}  // namespace

Result<ReadStream> startStream(const std::string& program) {
  auto child = StreamChild::start(program);
  if (!child && child.error().code() == Code::kNotFound && program.find('/') == std::string::npos) {
    child = StreamChild::start(kNeuronTools + program);
  }
  if (!child) {
    return fail(child.error());
  }
  return [child = *std::move(child)](Duration patience) { return child->read(patience); };
}

}  // namespace mainstay::agent::probes
