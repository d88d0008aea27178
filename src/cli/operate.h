// What a person does about one node or job: ask why, and take it back.
#pragma once

#include <ostream>
#include <string>

#include "cli/connection.h"
#include "cli/output.h"

namespace mainstay::cli {

struct ReleaseOptions {
  std::string reason;
  bool dryRun = false;
};

// Each returns the exit code; failures are told on `errors`.
int whyNode(Connection& connection, const std::string& node, Format format, std::ostream& out,
            std::ostream& errors);
int releaseNode(Connection& connection, const std::string& node, const ReleaseOptions& options,
                std::ostream& out, std::ostream& errors);
int releaseJob(Connection& connection, const std::string& ns, const std::string& name,
               const ReleaseOptions& options, std::ostream& out, std::ostream& errors);
// Every node and job; goes on after a failure.
int releaseAll(Connection& connection, const ReleaseOptions& options, std::ostream& out,
               std::ostream& errors);

}  // namespace mainstay::cli
