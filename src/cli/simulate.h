// mainstay simulate: plays a scenario and says what happened, why, and whether it is what was expected.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "cli/output.h"

namespace mainstay::cli {

struct SimulateOptions {
  std::string scenario;               // path of the YAML page
  std::optional<std::uint64_t> seed;  // instead of the page's
  int seeds = 1;                      // so many seeds from the first on; the first that fails is reported
  Format format = Format::kText;
  Palette palette = Palette(false);
};

// The exit code: 0 all as expected, 1 not so, 2 the page is wrong (then `errors` has each mistake with its
// place).
int simulate(const SimulateOptions& options, std::ostream& out, std::ostream& errors);

}  // namespace mainstay::cli
