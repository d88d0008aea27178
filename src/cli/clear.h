// `mainstay node clear`: a person says that faults of a node are over, and its agent is told so.
#pragma once

#include <ostream>
#include <string>

#include "cli/connection.h"
#include "kube/api.h"

namespace mainstay::cli {

struct ClearOptions {
  std::string reason{};
  std::string condition{};  // its type; "" = every one of the agent
  bool dryRun = false;
  std::string by{};  // "" = not known
};

// Writes the request on the node; the agent carries it out. A sentence about what comes of it. kNotFound: there is no such
// node. kFailedPrecondition: its agent has nothing of the kind that could be cleared.
Result<std::string> clearNode(kube::Api& api, const std::string& node, const ClearOptions& options,
                              TimePoint now);

// The command; returns its exit code, failures are told on `errors`.
int clearNode(Connection& connection, const std::string& node, const ClearOptions& options, std::ostream& out,
              std::ostream& errors);

}  // namespace mainstay::cli
