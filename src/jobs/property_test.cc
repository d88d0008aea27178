// Random histories of faults, people, an operator and a controller that is restarted and interrupted
// anywhere: what must hold in all of them.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "jobs/controller.h"
#include "jobs/test_cluster.h"

namespace mainstay::jobs {
namespace {

constexpr int kHistories = 60;
constexpr int kEventsPerHistory = 80;

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    for (const char* node : {"d", "e"}) {
      cluster_.addNode(node);
    }
    cluster_.api.beforeWrite = [this](const kube::ApiRequest& write) { return inspect(write); };
    restart();
  }

  void run() {
    for (int i = 0; i < kEventsPerHistory && !testing::Test::HasFailure(); ++i) {
      happen();
      now_ += std::chrono::seconds(random_() % 20);
      if (chance(4, 5)) {
        controller_->step(now_);
      }
      check();
    }
  }
  int stops() const { return stops_; }
  int starts() const { return starts_; }
  bool failed() const { return cluster_.finished(); }

 private:
  bool chance(unsigned part, unsigned of) { return random_() % of < part; }
  std::string someNode() { return cluster_.nodes()[random_() % cluster_.nodes().size()]; }
  void restart() {
    controller_ = std::make_unique<Controller>(cluster_.api, "host", [] { return true; });
  }

  void happen() {
    switch (random_() % 10) {
      case 0:
      case 1:
        openIncident(someNode());
        break;
      case 2:
        if (!open_.empty()) {
          const auto [node, name] = *open_.begin();
          cluster_.closeIncident(name, node);
          open_.erase(node);
        }
        break;
      case 3:
        personSuspends(chance(1, 2));
        break;
      case 4:
        restart();
        break;
      case 5:
        crashing_ = chance(1, 2);
        break;
      case 6:
        cluster_.setMode(chance(1, 3) ? "Observe" : "Enforce");
        break;
      default:
        cluster_.runOperator();
    }
  }

  void openIncident(const std::string& node) {
    if (!open_.contains(node) && open_.size() < 3) {
      open_[node] = "i" + std::to_string(++incidents_);
      cluster_.openIncident(open_[node], node);
    }
  }

  void personSuspends(bool on) {
    // Who takes back our suspend and sets it again before the controller has looked cannot be told from us.
    const bool unseen = cluster_.touched() && cluster_.state().holds() && !cluster_.suspended();
    if (!cluster_.finished() && cluster_.suspended() != on && !unseen) {
      cluster_.suspend(on);
      foreign_ = on;
    }
  }

  // Every write of the controller, before it is done.
  Result<> inspect(const kube::ApiRequest& write) {
    if (crashing_ && chance(1, 3)) {
      return fail(Code::kUnavailable, "lost on the way");
    }
    const Json* suspend = find(write.body, "spec", "runPolicy", "suspend");
    const std::string guard = findString(write.body, "metadata", "resourceVersion");
    if (!suspend || guard != findString(cluster_.job(), "metadata", "resourceVersion")) {
      return {};  // no stop or start, or one that the API server will refuse
    }
    EXPECT_FALSE(foreign_) << "a suspend of somebody else was touched";
    EXPECT_FALSE(cluster_.finished()) << "a finished job was touched";
    EXPECT_NE(suspend->get_bool(), cluster_.suspended()) << "stopped or started twice";
    if (suspend->get_bool()) {
      ++stops_;
    } else {
      ++starts_;
      EXPECT_TRUE(cluster_.pods().empty()) << "started while old pods were left";
    }
    return {};
  }

  void check() {
    if (!cluster_.touched()) {
      return;
    }
    const ResumeState state = cluster_.state();
    const std::set<std::string> distinct(state.incidents.begin(), state.incidents.end());
    EXPECT_EQ(distinct.size(), state.incidents.size()) << "an incident was counted twice";
    EXPECT_LE(state.retry, 2) << "more retries than the job allows";
    EXPECT_LE(state.retry, static_cast<int>(distinct.size())) << "more retries than incidents";
    EXPECT_GE(state.retry, lastRetry_) << "a retry was forgotten";
    EXPECT_LE(state.retry, stops_) << "a retry without a stop";
    lastRetry_ = state.retry;
    EXPECT_EQ(foreign_ && state.holds() && cluster_.suspended() && !cluster_.finished(), false)
        << "somebody else's suspend was taken for ours";
  }

  std::mt19937_64 random_;
  TestCluster cluster_;
  std::unique_ptr<Controller> controller_;
  TimePoint now_{std::chrono::hours(24)};
  std::map<std::string, std::string> open_;  // node -> incident
  int incidents_ = 0;
  bool foreign_ = false;   // the present suspend is a person's
  bool crashing_ = false;  // some writes are lost
  int stops_ = 0;
  int starts_ = 0;
  int lastRetry_ = 0;
};

TEST(JobPropertyTest, HoldsInEveryHistory) {
  int stops = 0;
  int starts = 0;
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= kHistories; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    history.run();
    stops += history.stops();
    starts += history.starts();
    failures += history.failed() ? 1 : 0;
    ASSERT_FALSE(HasFailure());
  }
  // The histories are not empty ones.
  EXPECT_GT(stops, kHistories);
  EXPECT_GT(starts, kHistories / 2);
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace mainstay::jobs
