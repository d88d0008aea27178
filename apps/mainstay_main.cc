// mainstay: the command for people.
#include <filesystem>

#include "cli/app.h"
#include "environment.h"

int main(int argc, char** argv) {
  mainstay::cli::Surroundings surroundings;
  surroundings.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  surroundings.environment = mainstay::environmentOf;
  return mainstay::cli::run(argc, argv, surroundings);
}
