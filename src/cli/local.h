// `mainstay local`: a local cluster that stays up, and things that befall it.
#pragma once

#include <ostream>
#include <string>

#include "cli/connection.h"
#include "cli/demo.h"

namespace mainstay::cli {

// Brings a cluster up as the demo has it (nodes, agents, controller, policy), without a job, until interrupted.
int localUp(const DemoOptions& options, std::ostream& out, std::ostream& errors);

// One POST to the local cluster's own paths, and what it answered. Refuses any server that is not on loopback.
int localPost(Connection& connection, const std::string& path, const std::string& body, std::ostream& errors);

// One line for each node of the cluster.
int localNodes(Connection& connection, Format format, std::ostream& out, std::ostream& errors);

}  // namespace mainstay::cli
