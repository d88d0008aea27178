#include "local/api/managed_fields.h"

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

class ManagedFieldsTest : public ApiServerTest {
 protected:
  // Which manager (and subresource) owns the field at this place of fieldsV1; "" when nobody does.
  static std::string ownerOf(const Json& object, std::initializer_list<std::string> place) {
    std::string owners;
    for (const Json& entry : object.at("metadata").at("managedFields").as_array()) {
      const Json* at = entry.as_object().if_contains("fieldsV1");
      for (const std::string& step : place) {
        at = at ? findMember(*at, step) : nullptr;
      }
      if (at) {
        const std::string subresource = findString(entry, "subresource");
        owners += (owners.empty() ? "" : ",") + findString(entry, "manager") +
                  (subresource.empty() ? "" : "/" + subresource);
      }
    }
    return owners;
  }
};

constexpr char kReady[] = R"(k:{"type":"Ready"})";
constexpr char kNeuron[] = R"(k:{"type":"NeuronHealth"})";

TEST_F(ManagedFieldsTest, SaysWhoOwnsEachConditionType) {
  createNode("a");
  ASSERT_EQ(patch("/api/v1/nodes/a/status", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
                  kube::Body::kStrategicMergePatch, "kubelet")
                .status,
            200);
  const Json node = patch("/api/v1/nodes/a/status",
                          R"({"status":{"conditions":[{"type":"NeuronHealth","status":"False"}]}})",
                          kube::Body::kStrategicMergePatch, "mainstay-agent")
                        .body;

  EXPECT_EQ(ownerOf(node, {"f:status", "f:conditions", kReady}), "kubelet/status");
  EXPECT_EQ(ownerOf(node, {"f:status", "f:conditions", kNeuron, "f:status"}), "mainstay-agent/status");
  const Json& entry = node.at("metadata").at("managedFields").as_array().back();
  EXPECT_EQ(findString(entry, "operation"), "Update");
  EXPECT_EQ(findString(entry, "apiVersion"), "v1");
  EXPECT_EQ(findString(entry, "fieldsType"), "FieldsV1");
  EXPECT_EQ(findString(entry, "time"), formatTime(time_.now()));
}

TEST_F(ManagedFieldsTest, GivesAFieldToWhoeverChangesIt) {
  ASSERT_EQ(create("/api/v1/nodes", R"({"metadata":{"name":"a","labels":{"x":"1","y":"1"}}})").status, 201);
  const Json same =
      patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"1","z":"1"}}})", kube::Body::kMergePatch, "bob")
          .body;
  EXPECT_EQ(ownerOf(same, {"f:metadata", "f:labels", "f:x"}), "test");
  EXPECT_EQ(ownerOf(same, {"f:metadata", "f:labels", "f:z"}), "bob");

  const Json changed =
      patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"2"}}})", kube::Body::kMergePatch, "bob").body;
  EXPECT_EQ(ownerOf(changed, {"f:metadata", "f:labels", "f:x"}), "bob");
  EXPECT_EQ(ownerOf(changed, {"f:metadata", "f:labels", "f:y"}), "test");
}

TEST_F(ManagedFieldsTest, ForgetsFieldsThatAreGone) {
  ASSERT_EQ(create("/api/v1/nodes", R"({"metadata":{"name":"a","labels":{"x":"1"},"finalizers":["a.io/b"]}})")
                .status,
            201);
  EXPECT_EQ(ownerOf(get("/api/v1/nodes/a").body, {"f:metadata", "f:finalizers", R"(v:"a.io/b")"}), "test");

  const Json node = patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":null},"finalizers":null}})").body;

  EXPECT_EQ(ownerOf(node, {"f:metadata", "f:labels"}), "");
  EXPECT_EQ(ownerOf(node, {"f:metadata", "f:finalizers"}), "");
}

}  // namespace
}  // namespace mainstay::local
