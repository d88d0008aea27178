#include "local/api/apply.h"

#include <gmock/gmock.h>

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

using testing::HasSubstr;

class ApplyTest : public ApiServerTest {
 protected:
  Answer apply(const std::string& path, std::string_view wanted, const std::string& manager,
               const std::string& query = "") {
    Query parameters = parseQuery(query);
    parameters.emplace_back("fieldManager", manager);
    return server_.call({.method = "PATCH",
                         .path = path,
                         .query = std::move(parameters),
                         .kind = kube::Body::kApplyPatch,
                         .body = json(wanted)});
  }
  Answer applyMap(const std::string& members, const std::string& manager, const std::string& query = "") {
    return apply(kMap, R"({"apiVersion":"v1","kind":"ConfigMap",)" + members + "}", manager, query);
  }
  Answer applyNode(const std::string& members, const std::string& manager,
                   const std::string& subresource = "") {
    return apply("/api/v1/nodes/a" + subresource, R"({"apiVersion":"v1","kind":"Node",)" + members + "}",
                 manager);
  }
  // What the manager owns by applying.
  static Json applied(const Json& object, const std::string& manager) {
    for (const Json& entry : object.at("metadata").at("managedFields").as_array()) {
      if (findString(entry, "manager") == manager && findString(entry, "operation") == "Apply") {
        return entry.at("fieldsV1");
      }
    }
    return Json();
  }

  static constexpr char kMap[] = "/api/v1/namespaces/default/configmaps/m";
};

constexpr char kOneField[] = R"("metadata":{"name":"m"},"data":{"x":"1"})";

TEST_F(ApplyTest, CreatesWhatIsNotThere) {
  const Answer made = applyMap(R"("metadata":{"name":"m","labels":{"k":"v"}},"data":{"x":"1"})", "one");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(applied(made.body, "one"), json(R"({"f:metadata":{"f:labels":{"f:k":{}}},"f:data":{"f:x":{}}})"));
  EXPECT_EQ(applyMap(R"("data":{"x":"1"})", "one").status, 200) << "an object that exists need not be named";
}

TEST_F(ApplyTest, ChangesNothingWhenNothingIsNew) {
  const Json made = applyMap(kOneField, "one").body;
  ASSERT_TRUE(time_.runUntil(time_.now() + std::chrono::seconds(5)));
  EXPECT_EQ(applyMap(kOneField, "one").body, made);
}

TEST_F(ApplyTest, SharesAFieldThatTwoWantAlike) {
  const Json first = applyMap(kOneField, "one").body;
  const Json shared = applyMap(kOneField, "two").body;
  EXPECT_NE(findString(shared, "metadata", "resourceVersion"),
            findString(first, "metadata", "resourceVersion"));
  EXPECT_EQ(applied(shared, "one"), applied(shared, "two"));

  const Json left = applyMap(R"("metadata":{"name":"m"})", "one").body;
  EXPECT_EQ(findString(left, "data", "x"), "1");
  EXPECT_EQ(applied(left, "one"), Json());
}

TEST_F(ApplyTest, NamesWhomItWouldTakeAFieldFrom) {
  ASSERT_EQ(create("/api/v1/namespaces/default/configmaps", "{" + std::string(kOneField) + "}").status, 201);
  ASSERT_EQ(applyMap(R"("data":{"y":"1"})", "one").status, 200);
  const Answer refused = applyMap(R"("data":{"x":"2","y":"2"})", "two");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(
      findString(refused.body, "message"),
      "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.y\nconflicts with \"test\" using "
      "v1:\n- .data.x");
  EXPECT_EQ(refused.body.at("details").at("causes").as_array()[0],
            json(R"({"reason":"FieldManagerConflict","message":"conflict with \"one\"","field":".data.y"})"));
}

TEST_F(ApplyTest, TakesByForce) {
  ASSERT_EQ(applyMap(R"("metadata":{"name":"m"},"data":{"x":"1","y":"1"})", "one").status, 201);
  const Answer forced = applyMap(R"("data":{"x":"2"})", "two", "force=true");
  EXPECT_EQ(forced.body.at("data"), json(R"({"x":"2","y":"1"})"));
  EXPECT_EQ(applied(forced.body, "one"), json(R"({"f:data":{"f:y":{}}})"));
}

TEST_F(ApplyTest, TakesAwayWhatNobodyWantsAnyMore) {
  ASSERT_EQ(
      applyMap(R"("metadata":{"name":"m","finalizers":["a.io/one"],"labels":{"k":"v"}},"data":{"x":"1"})",
               "one")
          .status,
      201);
  ASSERT_EQ(applyMap(R"("metadata":{"finalizers":["a.io/two"]})", "two").status, 200);
  const Json left = applyMap(R"("data":{"x":"1"})", "one").body;
  EXPECT_EQ(left.at("metadata").at("finalizers"), json(R"(["a.io/two"])"));
  EXPECT_EQ(find(left, "metadata", "labels"), nullptr);
  EXPECT_EQ(findString(left, "metadata", "name"), "m");
}

TEST_F(ApplyTest, MergesListsByTheirKeys) {
  createNode("a");
  const std::string disk = R"("status":{"conditions":[{"type":"Disk","status":"True"}]})";
  const std::string neuron = R"("status":{"conditions":[{"type":"Neuron","status":"True"}]})";
  ASSERT_EQ(applyNode(disk, "disk", "/status").status, 200);
  const Json both = applyNode(neuron, "neuron", "/status").body;
  EXPECT_EQ(both.at("status").at("conditions").as_array().size(), 2u);
  EXPECT_EQ(
      applied(both, "neuron"),
      json(
          R"({"f:status":{"f:conditions":{"k:{\"type\":\"Neuron\"}":{".":{},"f:type":{},"f:status":{}}}}})"));
  const Json left = applyNode(R"("status":{})", "neuron", "/status").body;
  EXPECT_EQ(left.at("status").at("conditions"), json(R"([{"type":"Disk","status":"True"}])"));
}

TEST_F(ApplyTest, KeepsTheKeyOfAnElementThatAnotherStillWrites) {
  createNode("a");
  ASSERT_EQ(
      applyNode(R"("status":{"conditions":[{"type":"Disk","status":"True"}]})", "one", "/status").status,
      200);
  ASSERT_EQ(patch("/api/v1/nodes/a/status", R"({"status":{"conditions":[{"type":"Disk","reason":"R"}]}})",
                  kube::Body::kStrategicMergePatch, "two")
                .status,
            200);
  const Json left = applyNode(R"("status":{})", "one", "/status").body;
  EXPECT_EQ(left.at("status").at("conditions"), json(R"([{"type":"Disk","reason":"R"}])"));
}

TEST_F(ApplyTest, OwnsTaintsAsAWhole) {
  createNode("a");
  const Answer refused = applyNode(R"("spec":{"taints":[{"key":"k","effect":"NoSchedule"}]})", "one");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(findString(refused.body, "message"), HasSubstr(".spec.taints"));
}

TEST_F(ApplyTest, TellsElementsApartByAllTheirKeysAndDefaults) {
  const std::string path = "/api/v1/namespaces/default/services/s";
  const std::string head =
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"port":53)";
  const Json made = apply(path, head + R"(},{"port":53,"protocol":"UDP"}]}})", "one").body;
  EXPECT_EQ(applied(made, "one"), json(R"({"f:spec":{"f:ports":{
      "k:{\"port\":53,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},
      "k:{\"port\":53,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}}}}})"));
  const Json left = apply(path, head + "}]}}", "one").body;
  EXPECT_EQ(left.at("spec").at("ports").as_array().size(), 1u);
}

TEST_F(ApplyTest, TouchesTheStatusThroughItsOwnPathAlone) {
  createNode("a");
  const std::string all = R"("spec":{"unschedulable":true},"status":{"phase":"Running"})";
  const Json status = applyNode(all, "one", "/status").body;
  EXPECT_EQ(find(status, "spec", "unschedulable"), nullptr);
  EXPECT_EQ(findString(status, "status", "phase"), "Running");
  EXPECT_EQ(applied(applyNode(all, "two").body, "two"), json(R"({"f:spec":{"f:unschedulable":{}}})"));
}

TEST_F(ApplyTest, RefusesWhatCannotBeMeant) {
  EXPECT_EQ(applyMap(kOneField, "").status, 422) << "who applies?";
  EXPECT_EQ(applyMap(R"("data":{})", "one").status, 400) << "no name for what is not there";
  EXPECT_EQ(apply(kMap, R"({"metadata":{"name":"m"}})", "one").status, 400) << "of which kind?";
  EXPECT_EQ(applyMap(R"("metadata":{"name":"m","managedFields":[]})", "one").status, 400);
  EXPECT_EQ(apply(std::string(kMap) + "/status", R"({"apiVersion":"v1","kind":"ConfigMap"})", "one").status,
            404);
  EXPECT_EQ(applyNode(R"("metadata":{"name":"a"})", "one", "/status").status, 404)
      << "a status does not make an object";
  createNode("a");
  EXPECT_EQ(server_
                .call({.method = "PATCH",
                       .path = "/api/v1/nodes/a",
                       .query = {{"force", "true"}},
                       .kind = kube::Body::kMergePatch,
                       .body = json("{}")})
                .status,
            422);
}

TEST_F(ApplyTest, GuardsByTheVersionThatWasRead) {
  const Json made = applyMap(kOneField, "one").body;
  const std::string version = findString(made, "metadata", "resourceVersion");
  const auto at = [&](const std::string& value) {
    return applyMap(R"("metadata":{"name":"m","resourceVersion":")" + version + R"("},"data":{"x":")" +
                        value + R"("})",
                    "one")
        .status;
  };
  EXPECT_EQ(at("2"), 200);
  EXPECT_EQ(at("3"), 409);
  EXPECT_EQ(applyMap(R"("metadata":{"name":"m","uid":"another"},"data":{"x":"4"})", "one").status, 409);
}

}  // namespace
}  // namespace mainstay::local
