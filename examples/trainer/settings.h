// What a run is told: torchrun's variables for the group, flags or TRAINER_* variables for the rest.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

struct Settings {
  // The group, from the environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, POD_IP.
  int rank = 0;
  int world = 1;
  std::string masterAddress = "127.0.0.1";
  int masterPort = 29500;
  std::string ownAddress;  // "" when POD_IP is not set: loopback

  // The run. --checkpoint-every or TRAINER_CHECKPOINT_EVERY, and so on; a flag wins over its variable.
  std::string checkpointFolder;  // --checkpoint-dir or CHECKPOINT_DIR; "" = no checkpoints
  int steps = 120;
  int checkpointEvery = 0;  // 0 = only the steps listed
  std::set<int> checkpointSteps;
  int keepCheckpoints = 3;
  std::chrono::milliseconds stepTime{0};  // a step takes at least this long
  std::chrono::seconds rendezvousTimeout{1800};
  std::chrono::seconds peerTimeout{60};
  bool json = false;      // --output json: one JSON object per line
  int drillKillStep = 0;  // this rank kills itself after that step, as if its node had died

  bool checkpointAt(int step) const;
};

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Throws Failure(kSettings) with the flag or variable, what it held and what was expected.
Settings readSettings(const std::vector<std::string>& arguments, const Environment& environment);

// The text of --help.
std::string usage();

}  // namespace trainer
