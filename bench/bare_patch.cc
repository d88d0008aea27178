// mainstay-bare-patch KUBECONFIG NODE: the floor of the latency bench. For each line of standard input it patches the
// node's conditions with the agent's own client and a patch of the agent's size, and prints when it began (nanoseconds
// of the wall clock).
#include <chrono>
#include <iostream>
#include <string>

#include "api/core.h"
#include "base/file_system.h"
#include "base/json.h"
#include "base/loop.h"
#include "kube/http_api.h"
#include "kube/node_patch.h"

namespace mainstay {
namespace {

constexpr int kConditions = 60;

// Sixty conditions, of which the one of this line changes its reason.
Json patchFor(const std::string& line, TimePoint now) {
  JsonArray conditions;
  for (int i = 0; i < kConditions; ++i) {
    const std::string number = std::to_string(100 + i).substr(1);
    const bool changed = line.starts_with(number);
    conditions.push_back(JsonObject{{"type", "Bench" + number},
                                    {"status", changed ? "True" : "False"},
                                    {"reason", changed ? "Reason" + line.substr(3) : "BenchFine" + number},
                                    {"message", "mainstay-bench bare " + line},
                                    {"lastHeartbeatTime", formatTime(now)},
                                    {"lastTransitionTime", formatTime(now)}});
  }
  return JsonObject{{"status", JsonObject{{"conditions", std::move(conditions)}}}};
}

Result<> run(const std::string& kubeconfig, const std::string& node) {
  const SteadyWallClock clock;
  const RealFileSystem files;
  MAINSTAY_ASSIGN(kube::Config config, kube::loadKubeconfig(files, kubeconfig));
  kube::HttpApi api(std::move(config), files, clock);
  for (std::string line; std::getline(std::cin, line);) {
    const Json patch = patchFor(line, clock.now());
    const auto begin = std::chrono::system_clock::now().time_since_epoch();
    MAINSTAY_TRY(kube::patch(api, api::kNodes, "", node, kube::Body::kStrategicMergePatch, patch,
                             "mainstay-bench", "status"));
    std::cout << std::chrono::duration_cast<std::chrono::nanoseconds>(begin).count() << std::endl;
  }
  return {};
}

}  // namespace
}  // namespace mainstay

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: mainstay-bare-patch KUBECONFIG NODE\n";
    return 2;
  }
  if (const auto ran = mainstay::run(argv[1], argv[2]); !ran) {
    std::cerr << "mainstay-bare-patch: " << ran.error().toString() << "\n";
    return 1;
  }
  return 0;
}
