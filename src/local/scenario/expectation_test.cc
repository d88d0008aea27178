#include "local/scenario/expectation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/scenario/views.h"

namespace mainstay::local {
namespace {

using testing::HasSubstr;

Json json(const std::string& text) {
  return parseJson(text).value();
}

Expectation expectation(const std::string& text) {
  DecodeErrors errors;
  const Json document = json(text);
  Expectation read = parseExpectation(Cursor(document, errors));
  EXPECT_TRUE(errors.empty()) << errors.result().error().toString();
  return read;
}

std::string mistakeIn(const std::string& text) {
  DecodeErrors errors;
  const Json document = json(text);
  parseExpectation(Cursor(document, errors));
  return errors.empty() ? "" : errors.lines().front();
}

// A node that is cordoned from 10 s to 20 s, and for no time at all at 30 s; one call to the cloud at 40 s.
class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    recording_.zero = at(0);
    put(-5, "nodes", "a", R"({"spec": {}})");
    recording_.zeroIndex = recording_.entries.size();
    cordon(10, true);
    cordon(20, false);
    cordon(30, true);
    cordon(30, false);
    put(40, kCloudKind, "1", R"({"cloud": "SetInstanceHealth", "instance": ["i-1", "a"], "effect": true})");
    recording_.end = at(60);
  }
  static TimePoint at(int seconds) {
    return TimePoint(std::chrono::hours(1)) + std::chrono::seconds(seconds);
  }
  void put(int seconds, const std::string& kind, const std::string& key, const std::string& text) {
    recording_.entries.push_back({at(seconds), kind, key, nullptr, std::make_shared<const Json>(json(text))});
  }
  void cordon(int seconds, bool on) {
    put(seconds, "nodes", "a", on ? R"({"spec": {"unschedulable": true}})" : R"({"spec": {}})");
  }
  Verdict expect(const std::string& text) { return judge(expectation(text), false, recording_); }
  Verdict never(const std::string& text) { return judge(expectation(text), true, recording_); }

  Recording recording_;
};

TEST_F(JudgeTest, LooksAtTheEndWhenNoTimeIsNamed) {
  EXPECT_TRUE(expect(R"({"node": "a", "cordoned": false})").ok);
  const Verdict verdict = expect(R"({"node": "a", "cordoned": true})");
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.seen, "{cordoned: false}");
}

TEST_F(JudgeTest, LooksAtTheSettledMomentWithAt) {
  EXPECT_TRUE(expect(R"({"node": "a", "cordoned": true, "at": "15s"})").ok);
  EXPECT_FALSE(expect(R"({"node": "a", "cordoned": true, "at": "30s"})").ok);
}

TEST_F(JudgeTest, SeesAStateThatLastedNoTime) {
  EXPECT_TRUE(expect(R"({"node": "a", "cordoned": true, "from": "20s", "by": "30s"})").ok);
  EXPECT_FALSE(never(R"({"node": "a", "cordoned": true, "from": "20s"})").ok);
  EXPECT_TRUE(never(R"({"node": "a", "cordoned": true, "from": "30s"})").ok);
}

TEST_F(JudgeTest, SaysWhenSomethingCameTooLate) {
  const Verdict verdict = expect(R"({"node": "a", "cordoned": true, "by": "9s"})");
  EXPECT_FALSE(verdict.ok);
  EXPECT_EQ(verdict.seen, "only at 10.000 s");
}

TEST_F(JudgeTest, CountsWhatHappenedInTime) {
  EXPECT_TRUE(expect(R"({"cloud": "SetInstanceHealth", "instance": "a", "effects": 1})").ok);
  EXPECT_TRUE(expect(R"({"cloud": "SetInstanceHealth", "effects": 0, "at": "39s"})").ok);
  EXPECT_FALSE(expect(R"({"cloud": "SetInstanceHealth", "instance": "b"})").ok);
  EXPECT_TRUE(never(R"({"cloud": "SetInstanceHealth", "by": "39s"})").ok);
  EXPECT_FALSE(never(R"({"cloud": "SetInstanceHealth"})").ok);
}

TEST_F(JudgeTest, ANodeThatDoesNotExistShowsNothing) {
  EXPECT_TRUE(expect(R"({"node": "z", "exists": false})").ok);
  const Verdict verdict = expect(R"({"node": "z", "cordoned": false})");
  EXPECT_FALSE(verdict.ok);
  EXPECT_THAT(verdict.seen, HasSubstr("does not exist"));
}

TEST(ExpectationTest, RefusesWhatItCannotUnderstand) {
  EXPECT_THAT(mistakeIn(R"({"nod": "a"})"), HasSubstr("expected one of node"));
  EXPECT_THAT(mistakeIn(R"({"node": "a"})"), HasSubstr("says nothing about a"));
  EXPECT_THAT(mistakeIn(R"({"node": "a", "cordoned": "yes"})"), HasSubstr("true or false"));
  EXPECT_THAT(mistakeIn(R"({"node": "a", "ready": true, "at": "1s", "by": "2s"})"), HasSubstr("neither"));
  EXPECT_THAT(mistakeIn(R"({"cloud": "Reboot"})"), HasSubstr("none of SetInstanceHealth"));
  EXPECT_THAT(mistakeIn(R"({"recoveries": -1})"), HasSubstr("count"));
}

TEST(ViewsTest, ShowsByPatternMembershipAndWholeLists) {
  EXPECT_TRUE(shows(json(R"({"a": "NeuronHasError_X", "b": 1})"), json(R"({"a": "*Error_?"})")));
  EXPECT_FALSE(shows(json(R"({"a": "x"})"), json(R"({"a": "y"})")));
  EXPECT_TRUE(shows(json(R"({"a": ["x", "y"]})"), json(R"({"a": "y"})")));
  EXPECT_TRUE(shows(json(R"({"a": ["x", "y"]})"), json(R"({"a": ["y", "x"]})")));
  EXPECT_FALSE(shows(json(R"({"a": ["x", "y"]})"), json(R"({"a": ["x"]})")));
  EXPECT_FALSE(shows(json(R"({"a": ["x"]})"), json(R"({"a": []})")));
  EXPECT_TRUE(shows(json(R"({})"), json(R"({"a": null})")));
  EXPECT_FALSE(shows(json(R"({"a": "x"})"), json(R"({"a": null})")));
  EXPECT_TRUE(shows(json(R"({"a": ["True", "Why"]})"), json(R"({"a": true})")));
}

TEST(ViewsTest, ShowsTheNewestIncidentOfANode) {
  const auto incident = [](const std::string& name, const std::string& phase) {
    return Entry{{},
                 "noderecoveries",
                 name,
                 nullptr,
                 std::make_shared<const Json>(json(R"({"metadata": {"name": ")" + name +
                                                   R"(", "creationTimestamp": "2026-01-01T00:00:00Z"},
                              "spec": {"node": {"name": "a"}}, "status": {"phase": ")" +
                                                   phase + R"("}})"))};
  };
  const Entry older = incident("a-1-1", "Resolved");
  const Entry newer = incident("a-1-2", "Held");
  World world;
  world.apply(newer);
  world.apply(older);
  EXPECT_EQ(nodeView(world, "a").at("phase"), Json("Held"));
}

}  // namespace
}  // namespace mainstay::local
