// mainstay-trainer: one rank of a small data-parallel training run. See --help, and examples/llama-mini.yaml
// for a job.
#include <cfenv>
#include <cstdio>
#include <cstdlib>

#include "trainer/failure.h"
#include "trainer/training.h"

namespace {

std::optional<std::string> environmentVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

int train(const std::vector<std::string>& arguments) {
  // Rounding to nearest, subnormals kept: a library that set flush-to-zero at load time would change bits.
  std::fesetenv(FE_DFL_ENV);
  const trainer::Settings settings = trainer::readSettings(arguments, environmentVariable);
  const trainer::Corpus corpus(trainer::builtInText());
  trainer::Interrupt interrupt;
  trainer::Report report(settings);
  trainer::Training(settings, corpus, interrupt, report).run();
  return static_cast<int>(trainer::Exit::kDone);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments == std::vector<std::string>{"--help"}) {
    std::printf("%s", trainer::usage().c_str());
    return 0;
  }
  try {
    return train(arguments);
  } catch (const trainer::Failure& failure) {
    std::fprintf(stderr, "mainstay-trainer: %s\n", failure.what());
    return static_cast<int>(failure.code);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mainstay-trainer: unexpected: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
