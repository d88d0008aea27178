// What a problem detector says in its metrics, in Prometheus text: node-problem-detector's problem_counter{reason} and
// problem_gauge{type,reason}, which our agent serves too.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace mainstay::sidecar {

struct Problems {
  // Of the reasons asked for, those that the detector knows -> whether it has seen them: the counter stands above zero,
  // or the gauge says so. A reason that is missing here is unknown, which is not the same as well.
  std::map<std::string, bool> seen;
  std::size_t wrongLines = 0;  // neither a sample nor a comment; skipped
};

// Takes any bytes. What is kept is bounded by `reasons`.
Problems readProblems(std::string_view text, const std::set<std::string>& reasons);

}  // namespace mainstay::sidecar
