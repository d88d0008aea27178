#include "agent/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/node_state.h"
#include "agent/source_health.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TimePoint kNoon = *parseTime("2026-11-29T12:00:00Z");

std::vector<ConditionSpec> gpuAndKernel() {
  return {{"s", "GPUFault", "NoGPUFault", "no fault"}, {"s", "KernelFault", "NoKernelFault", "no fault"}};
}

// A log whose rules know GPUs, and what HyperPod and EKS call two of their faults; and a log of a program.
std::vector<Speaker> someSpeakers() {
  const fault::RepairAction replace = fault::RepairAction::kReplace;
  return {
      speakerOf(gpuAndKernel(), {{kMonitorDegraded, "KernelLogUnreadable", fault::ClearOn::kEvidence, true}},
                {{"nvidia/xid/79",
                  "GPUFault",
                  replace,
                  {"NvidiaGPUUnhealthy", "PendingReplacement"},
                  {"AcceleratedHardwareReady", "NvidiaXID79Error"}},
                 {"kernel/hung-task",
                  "",
                  fault::RepairAction::kNone,
                  {"SoftwareError", "KernelDeadlock"},
                  {"KernelReady", "AppBlocked"}}}),
      speakerOf({{"s", "NTPProblem", "NTPIsUp", "up"}},
                {{kMonitorDegraded, "FileUnreadable", fault::ClearOn::kEvidence, true}}, {})};
}

class VocabularyTest : public ::testing::Test {
 protected:
  explicit VocabularyTest(std::vector<std::string> names = {"hyperpod", "eks"})
      : state(conditions(), {}, {"boot-1", kNoon - 1h}, kNoon, Vocabulary(names, someSpeakers())) {}

  static std::vector<ConditionSpec> conditions() {
    std::vector<ConditionSpec> all = gpuAndKernel();
    all.push_back({"s", "NTPProblem", "NTPIsUp", "up", true});
    all.push_back(monitorDegraded());
    return all;
  }
  static Problem problem(const std::string& rule, const std::string& type, fault::RepairAction action) {
    Problem made;
    made.condition = type;
    made.reason = "Reason";
    made.message = made.line = "the line";
    made.rule = rule;
    made.action = action;
    made.joins = true;
    made.time = kNoon;
    return made;
  }
  void report(const Problem& problem) {
    state.report(problem);
    state.translate(kNoon + 1min);
  }
  // "True KernelIsReady"; "" = it is not published.
  std::string says(const std::string& type) const {
    for (const api::Condition& condition : state.conditions()) {
      if (condition.type == type) {
        return condition.status + " " + condition.reason;
      }
    }
    return "";
  }

  NodeState state;
};

TEST_F(VocabularyTest, SaysTheSameInEachPolarity) {
  EXPECT_EQ(says("AcceleratedHardwareReady"), "True AcceleratedHardwareIsReady");
  EXPECT_EQ(says("KernelReady"), "True KernelIsReady");
  EXPECT_EQ(says("NvidiaGPUUnhealthy"), "False NoFaultKnown");
  report(problem("nvidia/xid/79", "GPUFault", fault::RepairAction::kReplace));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "False NvidiaXID79Error");
  EXPECT_EQ(says("NvidiaGPUUnhealthy"), "True PendingReplacement");
  EXPECT_EQ(says("KernelReady"), "True KernelIsReady") << "it does not concern the kernel";
  state.resolve("GPUFault", "nvidia/xid/79", "", kNoon + 2min);
  state.translate(kNoon + 2min);
  EXPECT_EQ(says("AcceleratedHardwareReady"), "True AcceleratedHardwareIsReady");
  EXPECT_EQ(says("NvidiaGPUUnhealthy"), "False NoFaultKnown");
}

TEST_F(VocabularyTest, ClaimsNothingThatNobodyWatches) {
  for (const char* type : {"StorageReady", "NetworkingReady", "ContainerRuntimeReady", "SoftwareError"}) {
    EXPECT_EQ(says(type), "") << type;
  }
}

TEST_F(VocabularyTest, BlindnessIsUnknownWhereItConcernsTheType) {
  report(degraded("FileUnreadable", "/var/log/messages", "gone", kNoon));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "True AcceleratedHardwareIsReady");
  report(degraded("KernelLogUnreadable", "kmsg", "closed", kNoon));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "Unknown KernelLogUnreadable");
  EXPECT_EQ(says("NvidiaGPUUnhealthy"), "Unknown KernelLogUnreadable");
  report(problem("nvidia/xid/79", "GPUFault", fault::RepairAction::kReplace));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "False NvidiaXID79Error") << "what is known counts";
  mended("KernelLogUnreadable", "kmsg", kNoon, state);
  state.resolve("GPUFault", "nvidia/xid/79", "", kNoon);
  state.translate(kNoon + 2min);
  EXPECT_EQ(says("AcceleratedHardwareReady"), "True AcceleratedHardwareIsReady");
}

TEST_F(VocabularyTest, NothingIsHealthyWhenBlindnessMayHaveMadeRoomForOtherFindings) {
  report(degraded("FileUnreadable", "/var/log/messages", "gone", kNoon));
  Problem ntp = problem("ntp", "NTPProblem", fault::RepairAction::kNone);
  for (std::size_t i = 1; i < fault::kMaxFindings; ++i) {
    EXPECT_EQ(says("KernelReady"), "True KernelIsReady");
    ntp.device = std::to_string(i);
    report(ntp);
  }
  EXPECT_EQ(says("KernelReady"), "Unknown FileUnreadable");
}

TEST_F(VocabularyTest, AFaultWithoutAWordIsTheirsOnlyIfItAsksForARepair) {
  report(problem("probe/x#Suspect", "GPUFault", fault::RepairAction::kNone));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "Unknown Reason") << "EKS repairs what is False";
  report(problem("probe/x#Lost", "GPUFault", fault::RepairAction::kReboot));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "False Reason");
  EXPECT_EQ(says("NvidiaGPUUnhealthy"), "Unknown Reason") << "HyperPod has no usual word for it";
}

TEST_F(VocabularyTest, TheFindingTellsItsOtherNamesSoThatNobodyCountsItTwice) {
  report(problem("nvidia/xid/79", "GPUFault", fault::RepairAction::kReplace));
  const Json patch = state.patch(kNoon);
  const auto findings =
      fault::decodeFindings(findString(patch, "metadata", "annotations", api::kFindingsAnnotation));
  ASSERT_EQ(findings->size(), 1u);
  EXPECT_THAT(findings->front().also,
              ElementsAre(fault::ForeignName{"NvidiaGPUUnhealthy", "PendingReplacement"},
                          fault::ForeignName{"AcceleratedHardwareReady", "NvidiaXID79Error"}));
}

TEST_F(VocabularyTest, OnlyAChangeOfTheStatusIsATransitionAndNoneIsAnEvent) {
  report(problem("nvidia/xid/79", "GPUFault", fault::RepairAction::kReplace));
  Problem worse = problem("nvidia/xid/140", "GPUFault", fault::RepairAction::kReplace);
  worse.device = "0000:5e:00.0";
  state.report(worse);
  state.translate(kNoon + 9min);
  for (const api::Condition& condition : state.conditions()) {
    if (condition.type == "AcceleratedHardwareReady") {
      EXPECT_EQ(condition.lastTransition, kNoon + 1min);
    }
  }
  for (const NodeEvent& event : state.takeEvents()) {
    EXPECT_EQ(event.condition, "GPUFault") << event.message;
  }
}

TEST_F(VocabularyTest, ARestartKeepsTheTransitionOfWhatIsStillSo) {
  const Json node = *parseJson(R"json({"metadata": {"name": "a", "uid": "u"}, "status": {"conditions": [
    {"type": "KernelReady", "status": "True", "reason": "KernelIsReady", "lastTransitionTime": "2026-11-28T00:00:00Z"},
    {"type": "AcceleratedHardwareReady", "status": "False", "reason": "NvidiaXID79Error",
     "lastTransitionTime": "2026-11-28T00:00:00Z"}]}})json");
  ASSERT_TRUE(state.restore(node, false, kNoon + 1min));
  EXPECT_EQ(says("AcceleratedHardwareReady"), "True AcceleratedHardwareIsReady");
  for (const api::Condition& condition : state.conditions()) {
    if (condition.type == "KernelReady") {
      EXPECT_EQ(condition.lastTransition, *parseTime("2026-11-28T00:00:00Z"));
    }
  }
}

class NoVocabularyTest : public VocabularyTest {
 protected:
  NoVocabularyTest() : VocabularyTest({}) {}
};

TEST_F(NoVocabularyTest, TakesOffTheNodeWhatAnEarlierRunPublished) {
  EXPECT_EQ(says("KernelReady"), "");
  const Json node = *parseJson(R"json({"metadata": {"name": "a", "uid": "u", "managedFields": [
    {"manager": "mainstay-agent", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"KernelReady\"}": {".": {}, "f:status": {}}}}}}]},
    "status": {"conditions": [{"type": "KernelReady", "status": "True", "reason": "KernelIsReady"}]}})json");
  ASSERT_TRUE(state.restore(node, false, kNoon));
  EXPECT_THAT(toText(state.patch(kNoon)), HasSubstr(R"({"$patch":"delete","type":"KernelReady"})"));
}

TEST(VocabularyNamesTest, RefusesWhatThereIsNot) {
  EXPECT_TRUE(checkVocabularies({"eks", "hyperpod"}));
  const Result<> wrong = checkVocabularies({"eks", "hyperpot"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().toString(), HasSubstr("did you mean hyperpod?"));
  EXPECT_THAT(Vocabulary().types(), IsEmpty());
}

}  // namespace
}  // namespace mainstay::agent
