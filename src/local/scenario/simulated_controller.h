// SimulatedController: mainstay-controller as a part of a simulation, put together as its main does, that can
// be killed, started again, and made to die at a chosen write.
#pragma once

#include <memory>
#include <optional>

#include "base/crash_point.h"
#include "base/loop.h"
#include "cloud/provider.h"
#include "kube/testing.h"
#include "local/scenario/scenario.h"

namespace mainstay::local {

class SimulatedController {
 public:
  // All outlive it.
  SimulatedController(kube::Api& api, cloud::Provider& provider, VirtualDriver& driver);
  ~SimulatedController();

  // A new process, after the death of the old one.
  void start(const SwitchController& fate = {});
  // Nothing of it is stepped any more.
  void kill();
  bool runs() const { return runs_; }
  // Between the controller and the API server.
  kube::FaultyApi& api() { return faulty_; }

 private:
  struct Life;
  class Reviver;
  void die(const SwitchController& fate);

  kube::FaultyApi faulty_;
  cloud::Provider& provider_;
  VirtualDriver& driver_;
  std::shared_ptr<Reviver> reviver_;
  std::unique_ptr<Life> life_;  // kept after a death: it may have come within its own step
  int lives_ = 0;
  bool runs_ = false;
};

}  // namespace mainstay::local
