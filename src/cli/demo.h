// `mainstay demo`: the whole path in front of one's eyes: a local cluster, real agents and a real controller,
// a real training job, a fault in a node's kernel log, and the proof that training went on as if nothing had
// happened.
#pragma once

#include <ostream>
#include <string>

#include "cli/output.h"

namespace mainstay::cli {

struct DemoOptions {
  std::string programs;        // folder of mainstay-agent, mainstay-controller, mainstay-trainer
  bool keep = false;           // leave the cluster up until interrupted
  std::string kmsg;            // "" = the node's stand-in; a device that one node's agent reads instead
  bool allowRealKmsg = false;  // MAINSTAY_REAL_KMSG=1: another detector on this machine would act on the line
  Duration launchDelay = std::chrono::seconds(1);
  bool controller = true;  // of `local up`: without one, the cluster waits for somebody's own
  Format format = Format::kText;
  bool progress = true;  // tell what is happening while it happens (text only)
};

// Exit code: 0 = everything was as it should be, 1 = something was not (said), 2 = cannot start.
int demo(const DemoOptions& options, std::ostream& out);

}  // namespace mainstay::cli
