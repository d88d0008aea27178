#include "local/api/garbage.h"

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

class GarbageTest : public ApiServerTest {
 protected:
  void SetUp() override { startHousekeeper(); }

  // An object that is owned by the config map `owner`.
  void createOwned(const std::string& name, const std::string& owner) {
    const std::string uid = findString(get(configMap(owner)).body, "metadata", "uid");
    createPod(name, "n1",
              R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":")" + owner +
                  R"(","uid":")" + uid + "\"}]");
  }
  void createConfigMap(const std::string& name) {
    ASSERT_EQ(
        create("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":")" + name + "\"}}").status,
        201);
  }
  static std::string configMap(const std::string& name) {
    return "/api/v1/namespaces/default/configmaps/" + name;
  }
};

TEST_F(GarbageTest, DeletesWhatLostItsOwner) {
  createConfigMap("job");
  createOwned("p", "job");
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(find(get(podPath("p")).body, "metadata", "deletionTimestamp"), nullptr);

  ASSERT_EQ(remove(configMap("job")).status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_FALSE(
      findString(get(podPath("p")).body, "metadata", "deletionTimestamp").empty());  // with its grace
}

TEST_F(GarbageTest, DeletesWhatIsBornWithoutAnOwner) {
  createPod("p", "",
            R"(,"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"no-such"}])");
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get(podPath("p")).status, 404);
}

TEST_F(GarbageTest, LeavesOrphansAloneWhenAsked) {
  createConfigMap("job");
  createOwned("p", "job");
  ASSERT_EQ(remove(configMap("job"), R"({"propagationPolicy":"Orphan"})").status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get(configMap("job")).status, 404);
  EXPECT_EQ(find(get(podPath("p")).body, "metadata", "ownerReferences"), nullptr);
}

TEST_F(GarbageTest, DeletesDependentsFirstInTheForeground) {
  createConfigMap("job");
  createOwned("p", "job");
  ASSERT_EQ(remove(configMap("job"), R"({"propagationPolicy":"Foreground"})").status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get(configMap("job")).status, 200);
  ASSERT_EQ(remove(podPath("p"), R"({"gracePeriodSeconds":0})").status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get(configMap("job")).status, 404);
}

TEST_F(GarbageTest, EmptiesANamespaceBeforeItGoes) {
  ASSERT_EQ(create("/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status, 201);
  ASSERT_EQ(
      create("/api/v1/namespaces/team/configmaps", R"({"metadata":{"name":"c","finalizers":["x.io/y"]}})")
          .status,
      201);
  ASSERT_EQ(remove("/api/v1/namespaces/team").status, 200);
  ASSERT_TRUE(time_.settle());

  EXPECT_EQ(findString(get("/api/v1/namespaces/team").body, "status", "phase"), "Terminating");
  EXPECT_EQ(create("/api/v1/namespaces/team/configmaps", R"({"metadata":{"name":"d"}})").status, 403);
  ASSERT_EQ(patch("/api/v1/namespaces/team/configmaps/c", R"({"metadata":{"finalizers":null}})").status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get("/api/v1/namespaces/team").status, 404);
}

TEST_F(GarbageTest, DeletesTheObjectsOfADefinitionAndThenServesThemNoMore) {
  const std::string definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  ASSERT_EQ(create(definitions, R"({"metadata":{"name":"ts.x.io"},"spec":{"group":"x.io","scope":"Cluster",
      "names":{"plural":"ts","kind":"T"},"versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":{"type":"object"}}}]}})")
                .status,
            201);
  ASSERT_EQ(
      create("/apis/x.io/v1/ts", R"({"apiVersion":"x.io/v1","kind":"T","metadata":{"name":"t"}})").status,
      201);
  ASSERT_EQ(remove(definitions + "/ts.x.io").status, 200);
  ASSERT_TRUE(time_.settle());
  EXPECT_EQ(get(definitions + "/ts.x.io").status, 404);
  EXPECT_EQ(get("/apis/x.io/v1/ts").status, 404);
}

TEST_F(GarbageTest, ForgetsEventsAnHourAfterTheirLastChange) {
  const std::string events = "/api/v1/namespaces/default/events";
  ASSERT_TRUE(time_.settle());
  ASSERT_EQ(create(events, R"({"metadata":{"name":"old"},"involvedObject":{}})").status, 201);
  ASSERT_EQ(create(events, R"({"metadata":{"name":"busy"},"involvedObject":{}})").status, 201);
  ASSERT_TRUE(time_.runUntil(time_.now() + std::chrono::minutes(40)));
  ASSERT_EQ(patch(events + "/busy", R"({"count":2})").status, 200);
  ASSERT_TRUE(time_.runUntil(time_.now() + std::chrono::minutes(40)));
  EXPECT_EQ(get(events + "/old").status, 404);
  EXPECT_EQ(get(events + "/busy").status, 200);
}

}  // namespace
}  // namespace mainstay::local
