#include "local/scenario/simulated_controller.h"

#include "cloud/testing.h"
#include "jobs/controller.h"
#include "kube/lease.h"
#include "recovery/controller.h"

namespace mainstay::local {

struct SimulatedController::Life {
  Life(SimulatedController& owner, const std::string& identity, const SwitchController& fate)
      : point(fate.diesAtWrite.value_or(0),
              fate.before ? CrashPoint::Side::kBefore : CrashPoint::Side::kAfter,
              [&owner, fate] { owner.die(fate); }),
        crashingApi(owner.faulty_, point),
        crashingProvider(owner.provider_, point),
        elector(owner.faulty_, owner.driver_, {.identity = identity}),
        api(crashingApi, elector) {}

  CrashPoint point;
  kube::CrashingApi crashingApi;
  cloud::CrashingProvider crashingProvider;
  kube::LeaderElector elector;
  kube::LeaderOnlyApi api;
  Metrics metrics;
  std::shared_ptr<Loop> recovery;
  std::shared_ptr<Loop> jobs;
  std::shared_ptr<Loop> election;
};

// Starts the controller again some time after its death, as Kubernetes would.
class SimulatedController::Reviver final : public Loop {
 public:
  explicit Reviver(SimulatedController& owner) : owner_(owner) {}
  std::string_view name() const override { return "reviver"; }
  TimePoint step(TimePoint now) override {
    if (due_ <= now) {
      due_ = kNever;
      owner_.start(fate_);
    }
    return due_;
  }
  void reviveAt(TimePoint due, const SwitchController& fate) {
    due_ = due;
    fate_ = fate;
    signal().notify();
  }

 private:
  SimulatedController& owner_;
  TimePoint due_ = kNever;
  SwitchController fate_;
};

SimulatedController::SimulatedController(kube::Api& api, cloud::Provider& provider, VirtualDriver& driver)
    : faulty_(api), provider_(provider), driver_(driver), reviver_(std::make_shared<Reviver>(*this)) {
  driver_.start(reviver_);
}

SimulatedController::~SimulatedController() {
  kill();
  driver_.stop(*reviver_);
}

void SimulatedController::start(const SwitchController& fate) {
  life_.reset();
  const std::string identity = "controller-" + std::to_string(++lives_);
  life_ = std::make_unique<Life>(*this, identity, fate);
  const auto leading = [elector = &life_->elector] { return elector->leading(); };
  const recovery::Providers providers{{provider_.name(), &life_->crashingProvider}};
  life_->recovery =
      std::make_shared<recovery::Controller>(life_->api, providers, identity, leading, life_->metrics);
  life_->jobs = std::make_shared<jobs::Controller>(life_->api, identity, leading);
  life_->election = std::make_shared<kube::Election>(
      life_->elector, std::vector<Loop*>{life_->recovery.get(), life_->jobs.get()});
  driver_.start(life_->election);
  driver_.start(life_->recovery);
  driver_.start(life_->jobs);
  runs_ = true;
}

void SimulatedController::kill() {
  reviver_->reviveAt(kNever, {});
  if (std::exchange(runs_, false)) {
    driver_.stop(*life_->election);
    driver_.stop(*life_->recovery);
    driver_.stop(*life_->jobs);
  }
}

// From within a step of its own: the loops end after it, and the life is kept until the next one.
void SimulatedController::die(const SwitchController& fate) {
  kill();
  if (fate.restarts > Duration(0)) {
    reviver_->reviveAt(driver_.now() + fate.restarts, fate);
  }
}

}  // namespace mainstay::local
