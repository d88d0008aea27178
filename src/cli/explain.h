// mainstay explain: what the agent would find in a kernel log, what it would say about its node, and what it would have
// done about it. Schema: docs/explain.md.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "cli/output.h"

namespace mainstay::cli {

struct ExplainOptions {
  std::string kmsg;                // path of the log
  std::string context;             // path of a JSON object with what the log does not say; "" = none
  std::vector<std::string> rules;  // laid over our packs, in this order
  Format format = Format::kText;
  Palette palette = Palette(false);
};

// The exit code: 0 explained, 2 a file is missing or wrong.
int explain(const ExplainOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace mainstay::cli
