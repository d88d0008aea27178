// mainstay-nvml: asks the NVIDIA driver once and prints what it says as one line of JSON. A process of its own,
// because a driver may hang and a library may crash; mainstay-agent starts it, and kills it when it takes too long.
#include <iostream>

#include "agent/nvml/library.h"
#include "agent/nvml/survey.h"
#include "base/flags.h"

int main(int argc, char** argv) {
  using namespace mainstay;
  std::string hostRoot = "/";
  Flags flags("mainstay-nvml", "Prints what the NVIDIA driver says of each GPU; run by mainstay-agent.");
  flags.add("host-root", hostRoot,
            "where the host's files are: the driver's library is looked for there, too");
  if (const auto code = flags.parse(argc, argv)) {
    return *code;
  }
  const auto api = nvml::loadLibrary(hostRoot);
  if (!api) {
    std::cout << api.error().toString() << "\n";
    return 1;
  }
  std::cout << toText(nvml::survey(*api)) << "\n";
  return 0;
}
