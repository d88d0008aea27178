// What a run of the agent leaves to the next one on the node's own disk (--state-file): how far it has read and told the
// kernel log, and what stands. It is right though the API server is away, and of this boot only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/aside_thread.h"
#include "agent/node_state.h"
#include "agent/sources/source.h"
#include "base/file_system.h"

namespace mainstay::agent {

struct SavedState {
  Standing standing;
  std::optional<LogMark> kernelLog;
};

// Whose file it is: another node's, or another boot's, is not used.
struct StateOwner {
  std::string node;
  Machine machine;
};

// The file's text: JSON. Times of the log are spans since the boot, which setting the clock does not change.
std::string encodeState(const SavedState& state, const StateOwner& owner);
// kFailedPrecondition: of another node or boot. kInvalidArgument: not as encodeState writes it.
Result<SavedState> decodeState(const std::string& text, const StateOwner& owner);

// nullopt, with a line in the log that says why, when there is nothing that can be used: the agent then starts as on a
// node that it does not know.
std::optional<SavedState> loadState(const FileSystem& files, const std::string& path,
                                    const StateOwner& owner);

// Takes a text to where it is kept, and does not wait for it.
using KeepText = std::function<void(std::string text)>;
// Into this file, by a thread of its own: a disk that hangs is left with it. What cannot be written is told in the log,
// once. `files` outlives the process.
KeepText keepInFile(FileSystem& files, const std::string& path);

// When something is written: news at once, but not twice within a second; else not twice within ten.
class StateKeeper {
 public:
  StateKeeper(KeepText keep, StateOwner owner) : keep_(std::move(keep)), owner_(std::move(owner)) {}

  // After each step of the agent. Returns when to be called again though nothing has changed since.
  TimePoint step(TimePoint now, const NodeState& state, const std::optional<LogMark>& kernelLog);
  // Whatever was written before: the last word, at a clean stop.
  void write(const NodeState& state, const std::optional<LogMark>& kernelLog);

  static constexpr Duration kNewsEvery = std::chrono::seconds(1);
  static constexpr Duration kEvery = std::chrono::seconds(10);

 private:
  const KeepText keep_;
  const StateOwner owner_;
  std::optional<TimePoint> keptAt_;
  // As of then.
  std::uint64_t knowledge_ = 0;
  std::uint64_t refreshes_ = 0;
  std::optional<std::uint64_t> seq_;
};

}  // namespace mainstay::agent
