#include "kube/event_correlator.h"

#include <gtest/gtest.h>

namespace mainstay::kube {
namespace {

using std::chrono::minutes;

class EventCorrelatorTest : public testing::Test {
 protected:
  EventCorrelator::Verdict observe(const std::string& message, const std::string& reason = "Failed",
                                   const std::string& name = "a", const std::string& type = "Warning") {
    return correlator_.observe({"v1", "Node", "", name, "u"}, {type, reason, message}, now_);
  }
  // Nine different messages: one more is combined.
  void observeNine() {
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(observe(std::to_string(i)).message, std::to_string(i));
    }
  }
  static bool combined(const EventCorrelator::Verdict& verdict) {
    return verdict.message.starts_with("(combined from similar events): ");
  }

  EventCorrelator correlator_;
  TimePoint now_ = TimePoint(std::chrono::hours(1000));
};

TEST_F(EventCorrelatorTest, IdenticalEventsShareAKeyAndOthersDoNot) {
  const std::string key = observe("x").key;
  EXPECT_EQ(observe("x").key, key);
  EXPECT_NE(observe("y").key, key);
  EXPECT_NE(observe("x", "Other").key, key);
  EXPECT_NE(observe("x", "Failed", "b").key, key);
  EXPECT_NE(observe("x", "Failed", "a", "Normal").key, key);
}

TEST_F(EventCorrelatorTest, CombinesTheTenthDifferentMessageAndThoseThatFollow) {
  observeNine();
  const auto tenth = observe("9");
  EXPECT_TRUE(combined(tenth));
  const auto eleventh = observe("10");
  EXPECT_TRUE(combined(eleventh));
  EXPECT_EQ(eleventh.key, tenth.key);
  EXPECT_EQ(eleventh.message, "(combined from similar events): 10");
}

TEST_F(EventCorrelatorTest, ARepeatOfARememberedMessageStaysAnEventOfItsOwn) {
  observeNine();
  EXPECT_EQ(observe("8").message, "8");
}

TEST_F(EventCorrelatorTest, OtherReasonsAndSubjectsDoNotCount) {
  observeNine();
  EXPECT_FALSE(combined(observe("9", "Other")));
  EXPECT_FALSE(combined(observe("9", "Failed", "b")));
}

TEST_F(EventCorrelatorTest, BeginsAnewAfterMoreThanTenQuietMinutes) {
  observeNine();
  now_ += minutes(10);
  EXPECT_TRUE(combined(observe("9")));
  now_ += minutes(10) + Duration(1);
  EXPECT_FALSE(combined(observe("10")));
}

TEST_F(EventCorrelatorTest, ASubjectHasTwentyFiveEventsOfATypeAndOneMoreEveryFiveMinutes) {
  for (int i = 0; i < 25; ++i) {
    EXPECT_FALSE(observe("x").spam);
  }
  EXPECT_TRUE(observe("x").spam);
  EXPECT_TRUE(observe("x", "Other").spam);
  EXPECT_FALSE(observe("x", "Failed", "b").spam);
  EXPECT_FALSE(observe("x", "Failed", "a", "Normal").spam);
  now_ += minutes(5);
  EXPECT_FALSE(observe("x").spam);
  EXPECT_TRUE(observe("x").spam);
}

TEST(LruMapTest, ForgetsWhatWasUnusedForLongest) {
  LruMap<int> map(2);
  map.get("a", 1);
  map.get("b", 2);
  EXPECT_EQ(*map.find("a"), 1);
  map.get("c", 3);
  EXPECT_EQ(map.find("b"), nullptr);
  EXPECT_EQ(*map.find("a"), 1);
  map.erase("a");
  EXPECT_EQ(map.find("a"), nullptr);
  EXPECT_EQ(map.get("c", 9), 3);
}

}  // namespace
}  // namespace mainstay::kube
