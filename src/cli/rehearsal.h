// Rehearsal: the demo's training run without a cluster and without a fault, to know what the parameters must
// be.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/subprocess.h"

namespace mainstay::cli {

class Rehearsal {
 public:
  // Starts `ranks` trainer processes at once, on loopback addresses of their own.
  static Result<Rehearsal> start(const std::string& trainer, const std::vector<std::string>& arguments,
                                 int ranks);
  // Waits for their end; the sha256 of the parameters.
  Result<std::string> sha256(Deadline deadline);

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  std::vector<Subprocess> ranks_;
};

}  // namespace mainstay::cli
