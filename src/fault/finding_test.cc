#include "fault/finding.h"

#include <gtest/gtest.h>

namespace mainstay::fault {
namespace {

using namespace std::chrono_literals;

const TimePoint kMoment = *parseTime("2026-11-29T20:14:07.123456Z");

Finding dmaError() {
  Finding finding;
  finding.id = "kernel-monitor.json#rules[3]@3";
  finding.type = "NeuronHealth";
  finding.reason = "NeuronHasError_DMA_ERROR";
  finding.faultClass = "neuron";
  finding.device = "3";
  finding.action = RepairAction::kReplace;
  finding.rule = "kernel-monitor.json#rules[3]";
  finding.seq = 101;
  finding.bootId = "6c3f";
  finding.instance = "aws:///us-west-2b/i-0b41";
  finding.first = kMoment;
  finding.last = kMoment + 2s;
  finding.count = 4;
  finding.line = "x NEURON_HW_ERR=DMA_ERROR nd-id=3 y";
  return finding;
}

TEST(FindingTest, SurvivesTheAnnotation) {
  const std::string text = encodeFindings({dmaError()});
  const auto back = decodeFindings(text);
  ASSERT_TRUE(back) << back.error().toString();
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ(encodeFindings(*back), text);
  EXPECT_EQ(back->front().action, RepairAction::kReplace);
  EXPECT_EQ(back->front().first, kMoment);
  EXPECT_EQ(back->front().device, "3");
  EXPECT_NE(
      text.find(
          R"("bootID":"6c3f","instance":"aws:///us-west-2b/i-0b41","first":"2026-11-29T20:14:07.123456Z")"),
      std::string::npos)
      << text;
}

TEST(FindingTest, KeepsItsNamesInOtherVocabularies) {
  Finding finding = dmaError();
  finding.also = {{"AcceleratedHardwareReady", "NeuronDMAError"}};
  const auto back = decodeFindings(encodeFindings({finding}));
  ASSERT_TRUE(back) << back.error().toString();
  EXPECT_EQ(back->front().also, finding.also);
  EXPECT_TRUE(back->front().isToldBy("AcceleratedHardwareReady"));
  EXPECT_TRUE(back->front().isToldBy("NeuronHealth"));
  EXPECT_FALSE(back->front().isToldBy("KernelReady"));
}

TEST(FindingTest, KeepsTheNewestTwentyOldestFirst) {
  std::vector<Finding> many;
  for (int i = 0; i < 30; ++i) {
    many.push_back(dmaError());
    many.back().id = std::to_string(i);
    many.back().last = kMoment + std::chrono::seconds((i * 7) % 30);
  }
  const auto kept = decodeFindings(encodeFindings(many));
  ASSERT_EQ(kept->size(), kMaxFindings);
  EXPECT_EQ(kept->front().last, kMoment + 10s);
  EXPECT_EQ(kept->back().last, kMoment + 29s);
}

TEST(FindingTest, StaysBelowTheBytesOfAnAnnotationAndOfALine) {
  std::vector<Finding> many(kMaxFindings, dmaError());
  for (Finding& finding : many) {
    finding.line = std::string(5000, '"');  // doubles in JSON
    finding.id = std::string(600, 'i');
  }
  const std::string text = encodeFindings(many);
  EXPECT_LE(text.size(), kMaxFindingsBytes);
  const auto kept = decodeFindings(text);
  ASSERT_TRUE(kept);
  EXPECT_LT(kept->size(), kMaxFindings);
  EXPECT_GT(kept->size(), 5u);
  EXPECT_EQ(kept->front().line.size(), kMaxFindingLine);
}

TEST(FindingTest, AnAbsentAnnotationHoldsNoFindings) {
  EXPECT_TRUE(decodeFindings("")->empty());
  EXPECT_TRUE(decodeFindings("[]")->empty());
}

TEST(FindingTest, UnknownKeysAreIgnoredAndWrongTypesAreNamed) {
  EXPECT_TRUE(decodeFindings(R"([{"id":"a","type":"T","reason":"R","new":1}])"));
  const auto wrong =
      decodeFindings(R"([{"id":"a","type":"T","reason":"R"},{"id":"b","type":7,"reason":"R"}])");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("[1].type: expected a string"), std::string::npos)
      << wrong.error().message();
  EXPECT_FALSE(decodeFindings(R"([{"id":"a","type":"T","reason":"R","action":"explode"}])"));
  EXPECT_FALSE(decodeFindings(R"([{"id":"a","type":"T","reason":"R","count":-1}])"));
  EXPECT_FALSE(decodeFindings("{"));
}

TEST(FindingTest, EveryNameReadsBack) {
  for (const RepairAction action : {RepairAction::kNone, RepairAction::kRestartApp, RepairAction::kReset,
                                    RepairAction::kReboot, RepairAction::kReplace}) {
    EXPECT_EQ(parseAction(actionName(action)), action);
  }
  for (const ClearOn clearOn : {ClearOn::kEvidence, ClearOn::kBoot, ClearOn::kInstance}) {
    EXPECT_EQ(parseClearOn(clearOnName(clearOn)), clearOn);
  }
  EXPECT_EQ(parseAction("Reboot"), std::nullopt);
  EXPECT_EQ(severityName(Severity::kFatal), "fatal");
}

}  // namespace
}  // namespace mainstay::fault
