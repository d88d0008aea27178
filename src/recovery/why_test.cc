#include "recovery/why.h"

#include <gmock/gmock.h>

#include "recovery/test_world.h"

namespace mainstay::recovery {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

class WhyTest : public testing::Test {
 protected:
  void SetUp() override {
    world.addNode("a");
    world.addNode("b");
    world.enforce();
    world.run();
  }
  std::string why(const std::string& node) {
    return explanationText(whyNode(world.api, node, world.api.now).value());
  }
  World world;
};

TEST_F(WhyTest, ExplainsAHeldNode) {
  world.enforce("limits: {isolated: {max: 0, atLeast: 0}}\n");
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run(minutes(3));

  EXPECT_THAT(
      why("b"),
      AllOf(
          HasSubstr("b is held since 08:00:00 (3 min): nothing on it has been touched.\n"),
          HasSubstr("  What was seen   NeuronHealth/NeuronHasError_DMA_ERROR on device 3 at 08:00:00, once"),
          HasSubstr("                  rule neuron.json#rules[0]"),
          HasSubstr("  What it means   the rule says that only another instance cures it"),
          HasSubstr("  Why not now     waits for a place: policy p allows 0 of its 2 nodes"),
          HasSubstr("  Who is hurt     pod ns/web"),
          HasSubstr("  You can         mainstay node release b --reason \"...\"")));
}

TEST_F(WhyTest, ExplainsThatAPolicyOnlyObserves) {
  world.setPolicy("mode: Observe\n");
  world.raiseFault("b");
  world.run();
  EXPECT_THAT(why("b"), HasSubstr("  What is next    nothing, as long as policy p only observes"));
}

TEST_F(WhyTest, ExplainsEveryPhaseOnTheWay) {
  world.podsEnd = false;
  world.addPod("b", "web");
  world.raiseFault("b");
  world.run();
  EXPECT_THAT(why("b"), HasSubstr("b is draining"));
  world.podsEnd = true;
  world.launches = false;
  world.run(seconds(30));
  EXPECT_THAT(why("b"), AllOf(HasSubstr("b is being replaced"), HasSubstr("waits for group workers")));
  world.run(minutes(40));
  EXPECT_THAT(why("b"), HasSubstr("b is escalated"));
}

TEST_F(WhyTest, ExplainsAQuietNode) {
  EXPECT_THAT(why("a"),
              AllOf(HasSubstr("a is Schedulable: no incident is open."), HasSubstr("no job runs here")));
}

TEST_F(WhyTest, NamesAConditionThatNoPolicyActsOn) {
  world.setCondition("a", "DiskPressure", "True", "KubeletHasDiskPressure");
  EXPECT_THAT(why("a"),
              HasSubstr("condition DiskPressure/KubeletHasDiskPressure is True; policy p has no fault"));
}

TEST_F(WhyTest, RemembersANodeThatIsGone) {
  world.raiseFault("b");
  world.run(minutes(1));
  EXPECT_THAT(why("b"), AllOf(HasSubstr("b is gone."), HasSubstr("replaced by new-1")));
}

TEST_F(WhyTest, SaysThatItDoesNotKnowANode) {
  EXPECT_EQ(whyNode(world.api, "nobody", world.api.now).error().code(), Code::kNotFound);
}

TEST_F(WhyTest, SaysTheSameToPrograms) {
  world.raiseFault("b");
  world.run();
  const Json json = explanationJson(whyNode(world.api, "b", world.api.now).value());
  EXPECT_EQ(findString(json, "node"), "b");
  EXPECT_EQ(findString(json, "incident"), world.incidentOf("b").meta.name);
  EXPECT_FALSE(findMember(json, "seen")->as_array().empty());
}

}  // namespace
}  // namespace mainstay::recovery
