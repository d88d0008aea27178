#include "cli/story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr TimePoint kFault(1000s);

Json parsedStory(std::string_view text) {
  return parseJson(text).value();
}

std::string at(Duration sinceFault) {
  return formatMicroTime(kFault + sinceFault);
}

Json progressLine(const std::string& event, int step, Duration sinceFault, const std::string& more = "") {
  return parsedStory(R"({"event":")" + event + R"(","step":)" + std::to_string(step) + R"(,"time":")" +
                     at(sinceFault) + "\"" + more + "}");
}

// The story as it should go.
void tell(Story& story) {
  story.sawProgress(progressLine("step", 86, -10ms));
  story.fault(kFault, "NEURON_HW_ERR=DMA_ERROR", 86);
  story.sawNode(parsedStory(R"({"metadata":{"name":"b","annotations":{"mainstay.dev/findings":"[]"}},
    "status":{"conditions":[{"type":"NeuronHealth","status":"True","reason":"NeuronHasError_DMA_ERROR"}]}})"),
                kFault + 6ms);
  story.sawNode(parsedStory(R"({"metadata":{"name":"b"},"spec":{"unschedulable":true,"taints":[
    {"key":"sagemaker.amazonaws.com/node-health-status","value":"Unschedulable","effect":"NoSchedule"}]}})"),
                kFault + 11ms);
  story.sawJob(
      parsedStory(R"({"metadata":{"name":"llama","annotations":{"mainstay.dev/resume":"{\"retry\":1}"}},
    "spec":{"runPolicy":{"suspend":true}}})"),
      kFault + 19ms);
  story.sawCloud("TerminateInstance", "i-1", "unhealthy", kFault + 40ms);
  Json recovery = api::encodeNodeRecovery("b-1-1", {"b", "uid", "aws:///z/i-1", "boot"}, {}, "default");
  mergePatch(
      recovery,
      parsedStory(R"({"status":{"phase":"Resolved","outcome":"Replaced","replacement":{"name":"d"}}})"));
  story.sawRecovery(recovery, kFault + 1200ms);
  story.sawNode(
      parsedStory(
          R"({"metadata":{"name":"d","labels":{"sagemaker.amazonaws.com/node-health-status":"Schedulable"}}})"),
      kFault + 1300ms);
  story.sawProgress(progressLine("resumed", 77, 1900ms));
  story.sawProgress(progressLine("step", 78, 2000ms));
  story.sawProgress(progressLine("finished", 120, 3s, R"(,"loss":1.997,"sha256":"abc")"));
}

Story::Expected expected() {
  return {77, "abc", 5s};
}

TEST(StoryTest, AStoryThatWentWellHasNoFailures) {
  Story story("llama", "b");

  tell(story);

  EXPECT_THAT(story.failures(expected()), IsEmpty());
  EXPECT_TRUE(story.over());
  EXPECT_THAT(story.summary(expected()), HasSubstr("detect 0.006 s, isolate 0.005 s, replace 1.289 s"));
  EXPECT_THAT(story.summary(expected()), HasSubstr("9 steps repeated"));
  EXPECT_THAT(story.timeline(Palette(false)), HasSubstr("0.006 s  agent"));
}

TEST(StoryTest, EachThingThatIsNotSoIsOneSentence) {
  Story story("llama", "b");
  story.fault(kFault, "line", 86);

  const auto failures = story.failures(expected());

  EXPECT_EQ(failures.size(), 10u);
  EXPECT_THAT(failures.front(), HasSubstr("condition was never seen"));
}

TEST(StoryTest, OtherParametersAndASlowResumeAreFailures) {
  Story story("llama", "b");
  tell(story);

  const auto failures = story.failures({77, "other", 1s});

  ASSERT_EQ(failures.size(), 2u);
  EXPECT_THAT(failures[0], HasSubstr("2.000 s after the fault; the budget is 1.000 s"));
  EXPECT_THAT(failures[1], HasSubstr("differ from those of an unbroken run"));
}

TEST(StoryTest, TheDocumentHoldsTheSameFigures) {
  Story story("llama", "b");
  tell(story);

  const Json document = story.document(expected());

  EXPECT_EQ(find(document, "faultToNextStepSeconds")->to_number<double>(), 2.0);
  EXPECT_EQ(find(document, "resumedFrom")->get_int64(), 77);
  EXPECT_TRUE(find(document, "failures")->get_array().empty());
}

}  // namespace
}  // namespace mainstay::cli
