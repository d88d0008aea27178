#include "agent/monitors/plugin/check_run.h"

#include <csignal>
#include <memory>

#include "base/log.h"
#include "fault/text.h"

namespace mainstay::agent {
namespace {

constexpr char kNotStarted[] = "Error in starting plugin. Please check the error log";

// Bytes beyond the limit, so that a character across it can be told from a broken one.
constexpr std::size_t kLongestCharacter = 4;

std::string readable(const std::string& stream) {
  return std::string(fault::trim(fault::sanitizeUtf8(fault::cutUtf8(stream, kMaxCheckOutput))));
}

std::string stateText(const std::optional<ExitStatus>& status) {
  if (!status) {
    return "still running after SIGKILL";
  }
  return status->signal != 0 ? "signal: killed" : "exit status " + std::to_string(status->code);
}

void logErrors(const PluginRule& rule, CheckState state, const std::string& errors) {
  if (errors.empty()) {
    return;
  }
  const auto log = state == CheckState::kOk ? logDebug : logInfo;
  log("a check wrote to standard error",
      {{"check", rule.id}, {"path", rule.path}, {"text", readable(errors)}});
}

CheckRun waitFor(Capture& running, const PluginRule& rule, const std::stop_token& stop, Duration patience) {
  const std::stop_callback killAtStop(stop, [&running] { running.child().signal(SIGKILL); });
  CheckRun run;
  run.timedOut = !running.wait(Deadline::after(rule.timeout));
  run.status = run.timedOut ? running.child().kill(patience) : running.child().poll();
  return run;
}

}  // namespace

CheckResult interpret(const PluginRule& rule, const CheckRun& run, std::size_t maxOutput) {
  std::string text = readable(run.output);
  if (run.timedOut) {
    text = "Timeout when running plugin " + fault::quoteLikeGo(rule.path) + ": state - " +
           stateText(run.status) + ". output - " + fault::quoteLikeGo(text);
  }
  CheckResult result;
  const bool exited = run.status && run.status->signal == 0;
  if (exited && run.status->code <= 1) {
    result.state = run.status->code == 0 ? CheckState::kOk : CheckState::kNonOk;
  }
  result.message = std::string(fault::cutUtf8(text, maxOutput));
  return result;
}

CheckResult runCheck(const PluginRule& rule, std::size_t maxOutput, std::stop_token stop, Duration patience) {
  Command command{.arguments = {rule.path}, .environment = wholeEnvironment()};
  command.arguments.insert(command.arguments.end(), rule.args.begin(), rule.args.end());
  auto running = Capture::start(command, {.limit = kMaxCheckOutput + kLongestCharacter});
  if (!running) {
    logError("a check cannot be started", {{"check", rule.id}, {"error", running.error()}});
    return {CheckState::kUnknown, kNotStarted, {}};
  }
  CheckRun run = waitFor(*running, rule, stop, patience);
  reapOrphans();  // what this and earlier checks left to us
  Output output = running->take();
  run.output = std::move(output.text);
  CheckResult result = interpret(rule, run, maxOutput);
  logErrors(rule, result.state, output.errors);
  if (!run.status) {
    result.hasEnded = [child = std::make_shared<Subprocess>(std::move(running->child()))] {
      return child->poll().has_value();
    };
  }
  return result;
}

}  // namespace mainstay::agent
