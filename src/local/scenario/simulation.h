// Simulation: plays a scenario in virtual time: a local cluster, a real agent on every node, the real
// recovery and job controllers. Nothing but time and the machines is made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "local/scenario/invariants.h"
#include "local/scenario/narrative.h"
#include "local/scenario/scenario.h"

namespace mainstay::local {

struct Judgement {
  Expectation expectation;
  bool never = false;
  Verdict verdict;
};

struct Report {
  std::string title;
  std::string file;
  std::uint64_t seed = 1;
  TimePoint zero{};
  Duration span{};                    // from time zero to the end
  std::vector<StoryLine> story;       // from time zero on
  std::vector<Judgement> judgements;  // in the order of the file: expect, then never
  std::vector<Violation> violations;  // of what must hold in every run
  bool ok() const;
};

// Fails with kInvalidArgument when the API refuses an object of the scenario, and with kFailedPrecondition
// when the cluster never settles; a scenario that goes otherwise than expected is a Report.
Result<Report> play(const Scenario& scenario, std::uint64_t seed);

}  // namespace mainstay::local
