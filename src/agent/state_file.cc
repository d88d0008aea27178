#include "agent/state_file.h"

#include "base/json.h"
#include "base/log.h"

namespace mainstay::agent {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr Duration kLongestBoot = std::chrono::years(100);
// kMaxFindings findings with a message of NodeState::kMaxMessage each, and as much again for their conditions.
constexpr std::size_t kMaxStateFile = 2 * fault::kMaxFindings * NodeState::kMaxMessage;

JsonObject encode(const LogMark& mark, TimePoint booted) {
  return {{"seq", mark.seq},
          {"stampMicros", mark.stamp.count()},
          {"toldUntilMicros", (mark.until - booted).count()}};
}

Duration decodeSpan(const Cursor& in) {
  const std::int64_t micros = in.integer();
  if (micros < 0 || Duration(micros) > kLongestBoot) {
    in.error("expected microseconds since the boot, found " + std::to_string(micros));
    return {};
  }
  return Duration(micros);
}

LogMark decodeMark(const Cursor& in, TimePoint booted) {
  const std::int64_t seq = in.at("seq").integer();
  if (seq < 0) {
    in.at("seq").error("expected the number of a record");
  }
  return {static_cast<std::uint64_t>(seq), decodeSpan(in.at("stampMicros")),
          booted + decodeSpan(in.at("toldUntilMicros"))};
}

JsonObject encode(const api::Condition& condition) {
  return {{"type", condition.type},
          {"reason", condition.reason},
          {"message", condition.message},
          {"since", formatMicroTime(condition.lastTransition)}};
}

api::Condition decodeCondition(const Cursor& in) {
  return {in.at("type").string(),
          "True",
          in.at("reason").string(),
          in.at("message").string(),
          in.at("since").time().value_or(TimePoint{}),
          {}};
}

JsonObject encode(const KnownFinding& known) {
  JsonObject object = fault::encodeFinding(known.finding);
  object["message"] = known.message;
  object["onNode"] = known.onNode;
  return object;
}

KnownFinding decodeKnown(const Cursor& in) {
  return {fault::decodeFinding(in), in.at("message").string(""), in.at("onNode").string("")};
}

std::optional<std::uint64_t> seqOf(const std::optional<LogMark>& mark) {
  return mark ? std::optional(mark->seq) : std::nullopt;
}

Result<> checkOwner(const Cursor& root, const StateOwner& owner) {
  if (const std::string node = root.at("node").string(""); node != owner.node) {
    return fail(Code::kFailedPrecondition, "it is of node \"" + node + "\", not of " + owner.node);
  }
  if (const std::string boot = root.at("bootID").string(""); boot != owner.machine.bootId) {
    return fail(Code::kFailedPrecondition, "it is of boot " + boot +
                                               "; the machine has started anew since, and is in boot " +
                                               owner.machine.bootId);
  }
  return {};
}

}  // namespace

std::string encodeState(const SavedState& state, const StateOwner& owner) {
  JsonObject root{{"version", kVersion}, {"node", owner.node}, {"bootID", owner.machine.bootId}};
  if (state.kernelLog) {
    root["kernelLog"] = encode(*state.kernelLog, owner.machine.booted);
  }
  JsonArray& conditions = root["conditions"].emplace_array();
  for (const api::Condition& condition : state.standing.conditions) {
    conditions.push_back(encode(condition));
  }
  JsonArray& findings = root["findings"].emplace_array();
  for (const KnownFinding& known : state.standing.findings) {
    findings.push_back(encode(known));
  }
  return toText(root) + "\n";
}

Result<SavedState> decodeState(const std::string& text, const StateOwner& owner) {
  MAINSTAY_ASSIGN(const Json document, parseJson(text));
  DecodeErrors errors;
  const Cursor root(document, errors);
  if (const std::int64_t version = root.at("version").integer(); errors.empty() && version != kVersion) {
    return fail(Code::kInvalidArgument, "version: this release reads " + std::to_string(kVersion) +
                                            ", found " + std::to_string(version));
  }
  MAINSTAY_TRY(errors.result());
  MAINSTAY_TRY(checkOwner(root, owner));
  SavedState state;
  if (const Cursor mark = root.at("kernelLog"); mark.exists()) {
    state.kernelLog = decodeMark(mark, owner.machine.booted);
  }
  for (const Cursor& condition : root.at("conditions").elements()) {
    state.standing.conditions.push_back(decodeCondition(condition));
  }
  for (const Cursor& finding : root.at("findings").elements()) {
    state.standing.findings.push_back(decodeKnown(finding));
  }
  MAINSTAY_TRY(errors.result());
  return state;
}

std::optional<SavedState> loadState(const FileSystem& files, const std::string& path,
                                    const StateOwner& owner) {
  if (path.empty()) {
    return std::nullopt;
  }
  if (!files.exists(path)) {
    logInfo("no state of an earlier run", {{"file", path}});
    return std::nullopt;
  }
  const auto text = files.read(path, kMaxStateFile);
  auto state = text ? decodeState(*text, owner) : Result<SavedState>(fail(text.error()));
  if (!state) {
    logWarning("the state of an earlier run is not used; what stands is taken from the Node",
               {{"file", path}, {"why", state.error()}});
    return std::nullopt;
  }
  logInfo("state of an earlier run of this boot taken over",
          {{"file", path}, {"findings", state->standing.findings.size()}});
  return *std::move(state);
}

KeepText keepInFile(FileSystem& files, const std::string& path) {
  auto write = [&files, path, failed = std::make_shared<bool>(false)](const std::string& text) {
    const Result<> written = files.write(path, text);
    if (!written && !std::exchange(*failed, true)) {
      logWarning(
          "the state cannot be written, and is tried again with each change; a restart would know only the "
          "Node",
          {{"file", path}, {"error", written.error()}});
    } else if (written && std::exchange(*failed, false)) {
      logInfo("the state is written again", {{"file", path}});
    }
    return true;
  };
  auto thread = std::make_shared<AsideThread<std::string, bool>>("state-file", std::move(write), nullptr);
  return [thread](std::string text) { thread->ask(std::move(text)); };
}

TimePoint StateKeeper::step(TimePoint now, const NodeState& state, const std::optional<LogMark>& kernelLog) {
  const bool news = state.knowledge() != knowledge_;
  if (!news && state.refreshes() == refreshes_ && seqOf(kernelLog) == seq_) {
    return kNever;
  }
  const TimePoint due = keptAt_ ? *keptAt_ + (news ? kNewsEvery : kEvery) : now;
  if (now < due) {
    return due;
  }
  keptAt_ = now;
  knowledge_ = state.knowledge();
  refreshes_ = state.refreshes();
  seq_ = seqOf(kernelLog);
  write(state, kernelLog);
  return kNever;
}

void StateKeeper::write(const NodeState& state, const std::optional<LogMark>& kernelLog) {
  keep_(encodeState({state.standing(), kernelLog}, owner_));
}

}  // namespace mainstay::agent
