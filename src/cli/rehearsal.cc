#include "cli/rehearsal.h"

#include <unistd.h>

#include "cli/progress.h"

namespace mainstay::cli {

namespace {

// All of 127/8 is this machine; an address by process id keeps two demos apart without asking for a free
// port.
std::string ownLoopbackAddress() {
  const auto pid = static_cast<unsigned>(getpid());
  return "127.66." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250 + 1);
}

}  // namespace

Result<Rehearsal> Rehearsal::start(const std::string& trainer, const std::vector<std::string>& arguments,
                                   int ranks) {
  Rehearsal rehearsal;
  rehearsal.folder_ = std::make_unique<TemporaryFolder>("mainstay-rehearsal");
  for (int rank = 0; rank < ranks; ++rank) {
    Command command;
    command.arguments = {trainer};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    command.environment = safeEnvironment();
    command.environment["RANK"] = std::to_string(rank);
    command.environment["WORLD_SIZE"] = std::to_string(ranks);
    command.environment["MASTER_ADDR"] = ownLoopbackAddress();
    command.environment["MASTER_PORT"] = "23456";
    command.environment["CHECKPOINT_DIR"] = rehearsal.folder_->path();
    command.outputFile = rehearsal.folder_->path() + "/rank-" + std::to_string(rank) + ".log";
    MAINSTAY_ASSIGN(Subprocess process, Subprocess::start(command));
    rehearsal.ranks_.push_back(std::move(process));
  }
  return rehearsal;
}

Result<std::string> Rehearsal::sha256(Deadline deadline) {
  for (Subprocess& rank : ranks_) {
    const auto status = rank.wait(deadline);
    if (!status || status->code != 0) {
      folder_->keep();
      return fail(Code::kInternal, status
                                       ? "a rank ended with code " + std::to_string(status->code) +
                                             "; its log is in " + folder_->path()
                                       : "the run did not end in time; its logs are in " + folder_->path());
    }
  }
  Progress progress(folder_->path() + "/progress-rank-0.jsonl");
  for (const Json& line : progress.poll()) {
    if (findString(line, "event") == "finished") {
      return findString(line, "sha256");
    }
  }
  return fail(Code::kInternal, "the run ended without a result");
}

}  // namespace mainstay::cli
