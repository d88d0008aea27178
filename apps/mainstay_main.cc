// mainstay: the command for people.
#include <filesystem>

#include "cli/app.h"
#include "environment.h"

int main(int argc, char** argv) {
  mainstay::cli::Surroundings surroundings;
  std::error_code none;  // no /proc: the commands that start other programs will say that they find none
  surroundings.programs = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  surroundings.environment = mainstay::environmentOf;
  return mainstay::cli::run(argc, argv, surroundings);
}
