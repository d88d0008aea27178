#include "agent/bad_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/testing.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

const TimePoint kEvening = *parseTime("2026-11-29T20:00:00Z");
const BadFile kBadNtpFile{"/config/ntp.json",
                          "/config/ntp.json:3:9: rules[0].path: there is no file \"/x\"\nmore",
                          "none of its checks runs"};
const BadFile kBadGpuFile{"/config/gpu.json", "/config/gpu.json:1:5: rules[0].pattern: missing )",
                          "none of its rules runs"};

// An agent with nothing but files that it cannot use, on an API server in memory.
class BadFilesTest : public ::testing::Test {
 protected:
  void start(std::vector<BadFile> files) {
    if (agent) {
      driver.stop(*agent);
    }
    AgentParts parts;
    parts.monitors.push_back(std::make_unique<BadFilesMonitor>(std::move(files)));
    parts.machine = {"boot-1", kEvening - 1h};
    parts.api = &api;
    parts.publisher.nodeName = "a";
    parts.metrics = &metrics;
    parts.board = &board;
    agent = std::make_shared<Agent>(std::move(parts), driver.now());
    driver.start(agent);
    driver.settle();
  }
  std::string ofCondition(const char* key) { return findString(api.condition("MonitorDegraded"), key); }
  std::vector<std::string> devices() {
    std::vector<std::string> all;
    const auto findings = fault::decodeFindings(api.annotation());
    for (const fault::Finding& finding : *findings) {
      EXPECT_EQ(finding.reason, "BadRuleFile");
      all.push_back(finding.device);
    }
    return all;
  }

  VirtualDriver driver{kEvening, 1};
  testing::FakeNodeApi api{"a"};
  Metrics metrics;
  StatusBoard board;
  std::shared_ptr<Agent> agent;
};

TEST_F(BadFilesTest, EachIsAFindingThatSaysWhatRunsInsteadAndWhatToDo) {
  start({kBadNtpFile});
  EXPECT_EQ(ofCondition("status"), "True");
  EXPECT_EQ(ofCondition("reason"), "BadRuleFile");
  EXPECT_THAT(ofCondition("message"),
              AllOf(HasSubstr("/config/ntp.json:3:9: rules[0].path: there is no file \"/x\"; more. "),
                    HasSubstr("none of its checks runs; all other monitors run"), HasSubstr("restart")));
  EXPECT_EQ(devices(), std::vector<std::string>{"ntp.json"});
  EXPECT_EQ(api.events.size(), 1u);
}

TEST_F(BadFilesTest, TheAgentIsReadyForTheOthersAndSaysWhatIsMissing) {
  start({kBadGpuFile});
  EXPECT_EQ(board.answer("/readyz", driver.now()).status, 200);
  for (const char* path : {"/readyz", "/healthz?verbose"}) {
    EXPECT_THAT(board.answer(path, driver.now()).body,
                HasSubstr("[-]/config/gpu.json failed: /config/gpu.json:1:5: rules[0].pattern: missing )"));
  }
  EXPECT_THAT(metrics.text(), HasSubstr("mainstay_agent_source_up{source=\"/config/gpu.json\"} 0"));
}

TEST_F(BadFilesTest, AFileThatHasBeenMendedIsOverAtTheNextStart) {
  start({kBadNtpFile, kBadGpuFile});
  EXPECT_THAT(devices(), ::testing::UnorderedElementsAre("ntp.json", "gpu.json"));
  const std::string since = ofCondition("lastTransitionTime");
  driver.runUntil(kEvening + 1h);
  start({kBadNtpFile});
  EXPECT_EQ(devices(), std::vector<std::string>{"ntp.json"});
  EXPECT_THAT(ofCondition("message"), HasSubstr("ntp.json:3:9")) << "not in the words of what is mended";
  EXPECT_EQ(ofCondition("lastTransitionTime"), since);
  start({});
  EXPECT_EQ(ofCondition("status"), "False");
  EXPECT_TRUE(api.annotation().empty());
}

TEST_F(BadFilesTest, TwoOfOneNameAreToldByTheirPaths) {
  start({kBadGpuFile, {"/other/gpu.json", "/other/gpu.json: no", ""}, kBadNtpFile});
  EXPECT_THAT(devices(), ::testing::UnorderedElementsAre("/config/gpu.json", "/other/gpu.json", "ntp.json"));
}

}  // namespace
}  // namespace mainstay::agent
