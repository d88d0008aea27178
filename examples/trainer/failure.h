// Failure: why the trainer ends, and with which exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace trainer {

// What the outside can branch on. Everything but kDone makes restartPolicy OnFailure start the process again.
enum class Exit {
  kDone = 0,
  kSettings = 2,      // a flag or a variable is wrong: starting again will not help
  kLostPeer = 3,      // another rank died, or said nothing for too long
  kCheckpoint = 4,    // a checkpoint could not be written
  kTerminated = 143,  // SIGTERM, as a shell reports it
};

class Failure : public std::runtime_error {
 public:
  Failure(Exit exit, const std::string& what) : std::runtime_error(what), code(exit) {}
  const Exit code;
};

}  // namespace trainer
