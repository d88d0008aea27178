#include "local/api/eviction.h"

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

class EvictionTest : public ApiServerTest {
 protected:
  void SetUp() override { startHousekeeper(); }

  void createReady(const std::string& name) {
    createPod(name, "n1", R"(,"labels":{"app":"x"})");
    ASSERT_EQ(patch(podPath(name) + "/status",
                    R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})")
                  .status,
              200);
  }
  void createBudget(const std::string& rule) {
    ASSERT_EQ(
        create("/apis/policy/v1/namespaces/default/poddisruptionbudgets",
               R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"}},)" + rule + "}}")
            .status,
        201);
  }
  Answer evict(const std::string& name, const std::string& version = "policy/v1") {
    return create(
        podPath(name) + "/eviction",
        R"({"apiVersion":")" + version + R"(","kind":"Eviction","metadata":{"name":")" + name + "\"}}");
  }
  std::int64_t allowed() {
    EXPECT_TRUE(time_.settle());
    return get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/b")
        .body.at("status")
        .at("disruptionsAllowed")
        .as_int64();
  }
};

TEST_F(EvictionTest, DeletesAPodThatNoBudgetHolds) {
  createReady("p");
  EXPECT_EQ(evict("p").status, 201);
  const Json pod = get(podPath("p")).body;
  EXPECT_FALSE(findString(pod, "metadata", "deletionTimestamp").empty());
  EXPECT_EQ(findString(pod.at("status").at("conditions").as_array().back(), "type"), "DisruptionTarget");
  EXPECT_EQ(evict("gone").status, 404);
  createReady("q");
  EXPECT_EQ(evict("q", "policy/v1beta1").status, 201);
}

TEST_F(EvictionTest, IsRefusedForNowWhileABudgetHoldsThePod) {
  createReady("p");
  createReady("q");
  createBudget(R"("minAvailable":2)");
  EXPECT_EQ(allowed(), 0);

  const Answer refused = evict("p");

  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(findString(refused.body, "reason"), "TooManyRequests");
  EXPECT_EQ(findString(refused.body, "message"),
            "Cannot evict pod as it would violate the pod's disruption budget.");
  EXPECT_EQ(findString(refused.body.at("details").at("causes").as_array()[0], "message"),
            "The disruption budget b needs 2 healthy pods and has 2 currently");
  createReady("r");
  EXPECT_EQ(allowed(), 1);
  EXPECT_EQ(evict("p").status, 201);
  EXPECT_EQ(evict("q").status, 429);
}

TEST_F(EvictionTest, CountsPercentagesAndUnavailablePods) {
  createReady("p");
  createReady("q");
  createReady("r");
  createBudget(R"("maxUnavailable":"34%")");
  EXPECT_EQ(allowed(), 2);  // 34 % of 3, rounded up
  EXPECT_EQ(evict("p").status, 201);
  EXPECT_EQ(allowed(), 1);
}

TEST_F(EvictionTest, NeedsNoBudgetForPodsThatDoNotRun) {
  createReady("p");
  createBudget(R"("minAvailable":1)");
  createPod("pending", "n1", R"(,"labels":{"app":"x"})");
  EXPECT_EQ(evict("p").status, 429);
  EXPECT_EQ(evict("pending").status, 201);
}

TEST_F(EvictionTest, LooksForThePodThatWasMeant) {
  createReady("p");
  EXPECT_EQ(create(podPath("p") + "/eviction",
                   R"({"kind":"Eviction","deleteOptions":{"preconditions":{"uid":"another"}}})")
                .status,
            409);
  EXPECT_EQ(find(get(podPath("p")).body, "metadata", "deletionTimestamp"), nullptr);
}

TEST_F(EvictionTest, BindsAPodOnce) {
  createPod("p");
  const std::string binding = R"({"target":{"kind":"Node","name":"n1"}})";
  EXPECT_EQ(create(podPath("p") + "/binding", binding).status, 201);
  EXPECT_EQ(findString(get(podPath("p")).body, "spec", "nodeName"), "n1");
  const Answer again = create(podPath("p") + "/binding", binding);
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(findString(again.body, "message"),
            "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node \"n1\"");
}

}  // namespace
}  // namespace mainstay::local
