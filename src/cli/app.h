// The `mainstay` command: its commands, flags and exit codes (0 done, 1 not so or not possible, 2 wrong command line or input).
#pragma once

#include <functional>
#include <string>

namespace mainstay::cli {

// What the process was given besides its arguments; main fills it.
struct Surroundings {
  std::string programs;                                             // folder of this program and its siblings
  std::function<std::string(const std::string& name)> environment;  // "" when not set
};

int run(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace mainstay::cli
