#include "agent/log_feed.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const TimePoint kFeedNow = *parseTime("2026-11-29T20:14:07Z");

// Says what the test gives it.
class ScriptedSource final : public Source {
 public:
  explicit ScriptedSource(std::vector<SourceNews>& script) : script_(script) {}
  std::vector<SourceNews> poll(TimePoint) override { return std::exchange(script_, {}); }
  TimePoint nextPoll() const override { return kNever; }

 private:
  std::vector<SourceNews>& script_;
};

class LogFeedTest : public ::testing::Test {
 protected:
  LogFeedTest() { feed.start(signal); }
  void step(std::vector<SourceNews> news) {
    script = std::move(news);
    feed.step(kFeedNow, state);
  }
  std::string degraded() const {
    for (const api::Condition& condition : state.conditions()) {
      if (condition.type == kMonitorDegraded) {
        return condition.status + " " + condition.reason;
      }
    }
    return "";
  }

  Metrics metrics;
  Signal signal;
  std::vector<SourceNews> script;
  LogFeed feed{{"/var/log/messages", "log file /var/log/messages", "File"},
               [this](Signal&) { return std::make_unique<ScriptedSource>(script); },
               {},
               metrics};
  NodeState state{feed.conditions(), feed.reasons(), {}, kFeedNow};
};

TEST_F(LogFeedTest, LinesOfOthersAreCountedAndAreNoTrouble) {
  step({SourceReading{}, LinesUnparsed{3, "\"message\" does not match: x"}});
  step({LinesUnparsed{2, "y"}});
  EXPECT_NE(metrics.text().find("mainstay_agent_lines_unparsed_total{source=\"/var/log/messages\"} 5"),
            std::string::npos)
      << metrics.text();
  EXPECT_TRUE(degraded().starts_with("False")) << degraded();
}

TEST_F(LogFeedTest, ReasonsAreOfTheKindOfLog) {
  step({SourceBlind{"opening /var/log/messages: No such file or directory"}});
  EXPECT_EQ(degraded(), "True FileUnreadable");
  EXPECT_EQ(feed.sources()[0].trouble, "opening /var/log/messages: No such file or directory");
  step({SourceReading{}, RecordsLost{1, "longer than 65536 bytes"}});
  EXPECT_EQ(degraded(), "True FileRecordsLost");
  EXPECT_EQ(feed.sources()[0].trouble, "");
}

TEST_F(LogFeedTest, KnowsHowOldItsNewsAre) {
  fault::Record record;
  record.time = kFeedNow - 3s;
  step({record});
  EXPECT_EQ(feed.sources()[0].lastNews, kFeedNow);
  EXPECT_EQ(feed.sources()[0].lag, 3s);
}

}  // namespace
}  // namespace mainstay::agent
