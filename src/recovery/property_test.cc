// What must hold whatever happens in whatever order: faults, lost nodes, people, policy changes, crashes, API errors.
#include <gmock/gmock.h>

#include <random>

#include "recovery/life_cycle.h"
#include "recovery/release.h"
#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

using api::Phase;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// What a run leaves behind, for comparison.
std::string finalState(World& world) {
  std::string text;
  for (const Json& object : world.api.all(api::kNodes)) {
    const api::Node node = api::decodeNode(object).value();
    text += node.meta.name + " " + world.healthOf(node.meta.name) +
            (world.tainted(node.meta.name) ? " tainted" : "") + (node.unschedulable ? " cordoned" : "") +
            "\n";
  }
  for (const api::NodeRecovery& incident : world.incidents()) {
    text += incident.meta.name + " " + std::string(phaseName(incident.status.phase)) + " " +
            incident.status.outcome + " by " + incident.status.replacement.name + "\n";
  }
  return text + std::to_string(world.slots().size()) + " places, " +
         std::to_string(world.cloud.marks.size()) + " marks";
}

void begin(World& world) {
  for (const char* name : {"a", "b", "c"}) {
    world.addNode(name);
  }
  world.enforce();
  world.run();
  world.addPod("b", "web");
  world.raiseFault("b");
}

// --- Killed at every write ---

class CrashTest : public testing::TestWithParam<CrashPoint::Side> {};

TEST_P(CrashTest, EndsTheSameWhereverTheControllerIsKilled) {
  World whole;
  begin(whole);
  whole.run(minutes(1));
  const std::string expected = finalState(whole);
  ASSERT_THAT(expected, testing::HasSubstr("Resolved Replaced by new-1"));
  ASSERT_THAT(expected, testing::HasSubstr("0 places, 1 marks"));

  int n = 1;
  for (bool crashed = true; crashed; ++n) {
    World world;
    begin(world);
    CrashPoint crash(n, GetParam(), [] {});
    world.restart(&crash);
    world.run(seconds(2));
    crashed = crash.dead();
    world.restart();
    world.run(minutes(1));
    EXPECT_EQ(finalState(world), expected) << "killed at write " << n;
  }
  EXPECT_GT(n, 12) << "the path has more writes than that";
}

INSTANTIATE_TEST_SUITE_P(Sides, CrashTest,
                         testing::Values(CrashPoint::Side::kBefore, CrashPoint::Side::kAfter));

// --- Random histories ---

class History {
 public:
  explicit History(std::uint64_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      world_.addNode(name);
    }
    enforce();
    world_.run();
  }

  void play(int events) {
    for (int i = 0; i < events; ++i) {
      happen();
      world_.run(milliseconds(pick(3000)));
      check();
    }
  }

  // Without further trouble every incident ends, or says to a person why not.
  void comeToRest() {
    world_.api.refuse = {};
    world_.cloud.trouble.reset();
    world_.cloud.refusal.reset();
    world_.podsEnd = world_.launches = true;
    enforce();
    world_.run(hours(3));
    check();
    for (const api::NodeRecovery& incident : world_.incidents()) {
      const api::NodeRecoveryStatus& status = incident.status;
      EXPECT_TRUE(!incident.open() || status.phase == Phase::kEscalated || status.phase == Phase::kHeld)
          << incident.meta.name << " " << phaseName(status.phase) << ": " << status.message;
      EXPECT_NE(status.message, "") << incident.meta.name;
      EXPECT_EQ(status.outcome.empty(), incident.open()) << incident.meta.name;
    }
  }

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  std::string someNode() {
    const std::vector<Json> nodes = world_.api.all(api::kNodes);
    return nodes.empty() ? ""
                         : findString(nodes[static_cast<std::size_t>(pick(static_cast<int>(nodes.size())))],
                                      "metadata", "name");
  }
  void enforce() { world_.enforce("limits: {isolated: {max: 2}, inRecovery: {max: 1}, perHour: 3}\n"); }

  void happen() {
    const std::string node = someNode();
    if (node.empty()) {
      return;
    }
    switch (pick(15)) {
      case 0:
      case 1:
      case 2:
        return world_.raiseFault(node, pick(2) ? World::kDma : "NeuronHasError_NC_TIMEOUT");
      case 3:
        return world_.clearFault(node);
      case 4:
        return world_.setCondition(node, "Ready", "Unknown", "NodeStatusUnknown");
      case 5:
        return world_.setCondition(node, "Ready", "True", "KubeletReady");
      case 6:
        return world_.addPod(node, "pod-" + std::to_string(++pods_));
      case 7:
        world_.podsEnd = !world_.podsEnd;
        return;
      case 8:
        return world_.setPolicy("mode: Observe\nprovider: local\n");
      case 9:
        return enforce();
      case 10:
        return world_.restart();
      case 11:
        return reboot(node);
      case 12:
        ignore(releaseNode(world_.api, {{"local", &world_.cloud}}, node, {}, world_.api.now),
               "may be refused");
        return;
      case 13:
        world_.launches = pick(3) != 0;
        return;
      default:
        return stumble();
    }
  }
  void reboot(const std::string& node) {
    world_.api.edit(
        World::nodePath(node),
        JsonObject{{"status",
                    JsonObject{{"nodeInfo", JsonObject{{"bootID", "again-" + std::to_string(++boots_)}}}}}});
  }
  // Every fifth write fails for a while.
  void stumble() {
    if (world_.api.refuse) {
      world_.api.refuse = {};
      return;
    }
    world_.api.refuse = [this](const kube::ApiRequest& request) -> std::optional<Error> {
      const bool fails = request.isWrite() && pick(5) == 0;
      return fails ? std::optional(Error(pick(2) ? Code::kUnavailable : Code::kConflict, "stumbled"))
                   : std::nullopt;
    };
  }

  // The invariants of the architecture, as far as they can be seen at any moment.
  void check() {
    std::map<std::string, int> openByUid;
    for (const api::NodeRecovery& incident : world_.incidents()) {
      openByUid[incident.node.uid] += incident.open();
      Phase at = Phase::kNew;
      for (const api::Transition& transition : incident.status.transitions) {
        EXPECT_TRUE(allowed(at, transition.phase)) << incident.meta.name;
        at = transition.phase;
      }
    }
    for (const auto& [uid, count] : openByUid) {
      EXPECT_LE(count, 1) << "one recovery per node: " << uid;
    }
    checkLimits();
    for (const std::string& marked : world_.cloud.marks) {
      EXPECT_EQ(std::ranges::count(world_.cloud.marks, marked), 1 + releasedMarks(marked)) << marked;
    }
  }
  // A mark that a release took back may be set again by a later incident.
  int releasedMarks(const std::string& providerId) const {
    int count = 0;
    for (const api::NodeRecovery& incident : world_.incidents()) {
      count += incident.node.providerId == providerId && incident.status.provider.marked &&
               incident.status.outcome == kReleased;
    }
    return std::min(count, static_cast<int>(std::ranges::count(world_.cloud.marks, providerId)) - 1);
  }
  void checkLimits() {
    int isolated = 0;
    int inRecovery = 0;
    for (const api::TakenSlot& taken : world_.slots()) {
      (taken.slot == api::Slot::kIsolated ? isolated : inRecovery) += 1;
    }
    EXPECT_LE(isolated, 2);
    EXPECT_LE(inRecovery, 1);
    int begun = 0;
    for (const api::NodeRecovery& incident : world_.incidents()) {
      begun += incident.status.started && *incident.status.started + hours(1) > world_.api.now;
    }
    EXPECT_LE(begun, 3) << "in one hour";
  }

  World world_;
  std::mt19937_64 random_;
  int pods_ = 0;
  int boots_ = 0;
};

TEST(HistoryTest, KeepsTheInvariantsThroughRandomHistories) {
  for (std::uint64_t seed = 1; seed <= 15 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History history(seed);
    history.play(40);
    history.comeToRest();
  }
}

}  // namespace
}  // namespace mainstay::recovery
