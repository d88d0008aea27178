// mainstay: the command for people.
#include <cstdlib>
#include <filesystem>

#include "cli/app.h"

int main(int argc, char** argv) {
  mainstay::cli::Surroundings surroundings;
  surroundings.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  surroundings.environment = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value ? value : "");
  };
  return mainstay::cli::run(argc, argv, surroundings);
}
