#include "cli/clear.h"

#include <gmock/gmock.h>

#include "api/names.h"
#include "fault/clear_request.h"
#include "kube/scripted_api.h"

namespace mainstay::cli {
namespace {

using ::testing::HasSubstr;

const TimePoint kClearNow = *parseTime("2026-11-29T20:14:07Z");

// With conditions that the agent wrote, and one of the kubelet's.
Json nodeWithFaults(const std::string& gpuFault = "True") {
  return *parseJson(R"({"metadata": {"name": "a", "uid": "uid-1", "managedFields": [
      {"manager": "mainstay-agent", "fieldsV1": {"f:status": {"f:conditions": {
          "k:{\"type\":\"GPUFault\"}": {}, "k:{\"type\":\"MonitorDegraded\"}": {},
          "k:{\"type\":\"StorageFault\"}": {}}}}},
      {"manager": "kubelet", "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {}}}}}]},
    "status": {"conditions": [
      {"type": "Ready", "status": "True", "reason": "KubeletReady"},
      {"type": "MonitorDegraded", "status": "True", "reason": "KernelLogUnreadable"},
      {"type": "GPUFault", "status": ")" +
                    gpuFault + R"(", "reason": "Xid79"},
      {"type": "StorageFault", "status": "False", "reason": "NoStorageFault"}]}})");
}

class ClearTest : public ::testing::Test {
 protected:
  Result<std::string> clear(const Json& node, ClearOptions options) {
    api.answer(node);
    api.answer(node);
    options.reason = "board swapped";
    options.by = "ops";
    return clearNode(api, "a", options, kClearNow);
  }
  std::string refusal(const Json& node, const std::string& condition) {
    const auto cleared = clear(node, {.condition = condition});
    EXPECT_EQ(api.calls.size(), 1u) << "nothing is written";
    return cleared ? "" : cleared.error().toString();
  }

  kube::ScriptedApi api;
};

TEST_F(ClearTest, WritesTheRequestOnTheNodeThatWasRead) {
  const auto told = clear(nodeWithFaults(), {.condition = "GPUFault"});
  ASSERT_TRUE(told) << told.error().toString();
  EXPECT_THAT(*told, HasSubstr("before 2026-11-29T20:14:07Z of GPUFault (Xid79). It"));
  ASSERT_EQ(api.calls.size(), 2u);
  EXPECT_EQ(api.calls[1].method + " " + api.calls[1].path, "PATCH /api/v1/nodes/a");
  EXPECT_EQ(findString(api.calls[1].body, "metadata", "uid"), "uid-1");
  const auto request = fault::decodeClearRequest(
      findString(api.calls[1].body, "metadata", "annotations", api::kClearAnnotation));
  EXPECT_EQ(request.value(), (fault::ClearRequest{kClearNow, "ops", "board swapped", "GPUFault"}));
}

TEST_F(ClearTest, ADryRunWritesNothing) {
  EXPECT_THAT(clear(nodeWithFaults(), {.dryRun = true}).value(), HasSubstr("would be told"));
  EXPECT_EQ(api.calls.size(), 1u);
}

TEST_F(ClearTest, ANodeWithoutAFaultIsLeftAlone) {
  EXPECT_THAT(clear(nodeWithFaults("False"), {}).value(), HasSubstr("no fault is known to its agent"));
  EXPECT_EQ(api.calls.size(), 1u);
}

TEST_F(ClearTest, RefusesWhatNoAgentWouldClear) {
  EXPECT_THAT(refusal(nodeWithFaults(), "Ready"),
              HasSubstr("no condition \"Ready\". It writes GPUFault, StorageFault"));
  api = {};
  EXPECT_THAT(refusal(nodeWithFaults(), "MonitorDegraded"), HasSubstr("ends by itself"));
  api = {};
  EXPECT_THAT(refusal(*parseJson(R"({"metadata": {"name": "a"}})"), ""),
              HasSubstr("is there an agent on it?"));
}

TEST_F(ClearTest, SaysWhichNodeIsNotThere) {
  api.answer(fail(Code::kNotFound, "nodes \"a\" not found"));
  EXPECT_EQ(clearNode(api, "a", {.reason = "checked"}, kClearNow).error().toString(),
            "clearing node a: reading Node a: nodes \"a\" not found");
}

}  // namespace
}  // namespace mainstay::cli
