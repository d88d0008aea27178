#include "kube/watch_cache.h"

#include <gtest/gtest.h>

#include "api/core.h"
#include "kube/scripted_api.h"

namespace mainstay::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

Json nodeAt(const std::string& name, const std::string& version) {
  return JsonObject{
      {"metadata", JsonObject{{"name", name}, {"uid", "u-" + name}, {"resourceVersion", version}}}};
}

Json listAt(const std::string& version, JsonArray items) {
  return JsonObject{{"metadata", JsonObject{{"resourceVersion", version}}}, {"items", std::move(items)}};
}

ScriptedApi::Batch batchOf(WatchEvent::Type type, Json object) {
  return std::vector<WatchEvent>{{.type = type, .object = std::move(object)}};
}

class WatchCacheTest : public testing::Test {
 protected:
  // A cache that has listed node a at version 10 and watches.
  void start() {
    api_.answer(listAt("10", {nodeAt("a", "3")}));
    cache_.sync(now_);
    ASSERT_TRUE(cache_.synced());
    ASSERT_EQ(api_.feeds.size(), 1u);
  }
  ScriptedApi::Feed& feed() { return *api_.feeds.back(); }
  std::string watchedFrom() { return queryValue(feed().query, "resourceVersion"); }
  std::string versionOf(const std::string& name) {
    const auto found = cache_.objects().find(name);
    return found == cache_.objects().end() ? "" : found->second->meta.resourceVersion;
  }

  ScriptedApi api_;
  Signal signal_;
  TimePoint now_ = TimePoint(seconds(1'000'000));
  WatchCache<api::Node> cache_{
      api_, api::kNodes, api::decodeNode, signal_, {.selectors = {{"labelSelector", "x"}}}};
};

TEST_F(WatchCacheTest, ListsThenWatchesFromTheListsVersion) {
  start();
  EXPECT_EQ(versionOf("a"), "3");
  EXPECT_EQ(watchedFrom(), "10");
  EXPECT_EQ(feed().path, "/api/v1/nodes");
  EXPECT_EQ(queryValue(feed().query, "labelSelector"), "x");
  EXPECT_EQ(cache_.staleSince(), std::nullopt);
}

TEST_F(WatchCacheTest, FollowsEvents) {
  start();
  feed().batches.push_back(batchOf(WatchEvent::Type::kAdded, nodeAt("b", "11")));
  feed().batches.push_back(batchOf(WatchEvent::Type::kModified, nodeAt("a", "12")));
  feed().batches.push_back(batchOf(WatchEvent::Type::kDeleted, nodeAt("b", "13")));
  cache_.sync(now_);
  EXPECT_EQ(versionOf("a"), "12");
  EXPECT_EQ(versionOf("b"), "");
}

TEST_F(WatchCacheTest, ResumesABrokenWatchFromTheLastBookmark) {
  start();
  feed().batches.push_back(batchOf(WatchEvent::Type::kBookmark, nodeAt("", "40")));
  feed().batches.push_back(fail(Code::kUnavailable, "broke"));
  const TimePoint wake = cache_.sync(now_);
  EXPECT_EQ(cache_.staleSince(), now_);
  EXPECT_EQ(cache_.lastError(), "broke");
  EXPECT_GT(wake, now_);
  EXPECT_LE(wake, now_ + seconds(1));
  EXPECT_EQ(cache_.sync(now_), wake) << "it waits for the back-off";

  cache_.sync(wake);
  EXPECT_EQ(api_.feeds.size(), 2u);
  EXPECT_EQ(watchedFrom(), "40");
  EXPECT_EQ(api_.calls.size(), 1u) << "no second list";
  EXPECT_EQ(cache_.staleSince(), std::nullopt);
}

TEST_F(WatchCacheTest, ListsAgainAtOnceWhenItsVersionIsGone) {
  start();
  feed().batches.push_back(fail(Code::kGone, "too old resource version"));
  api_.answer(listAt("50", {nodeAt("b", "45")}));
  EXPECT_EQ(cache_.sync(now_), now_);
  cache_.sync(now_);
  EXPECT_EQ(versionOf("a"), "") << "what was deleted meanwhile is gone";
  EXPECT_EQ(versionOf("b"), "45");
  EXPECT_EQ(watchedFrom(), "50");
}

TEST_F(WatchCacheTest, ListsAgainWhenOpeningTheWatchSaysGone) {
  api_.answer(listAt("10", {nodeAt("a", "3")}));
  api_.refuseWatch(Error(Code::kGone, "too old resource version"));
  EXPECT_EQ(cache_.sync(now_), now_);
  api_.answer(listAt("11", {nodeAt("a", "3")}));
  cache_.sync(now_);
  EXPECT_EQ(watchedFrom(), "11");
}

TEST_F(WatchCacheTest, BacksOffLongerAndLongerWhileNothingCanBeRead) {
  TimePoint now = now_;
  Duration longest{0};
  for (int i = 0; i < 12; ++i) {
    api_.answer(fail(Code::kUnavailable, "connection refused"));
    const TimePoint wake = cache_.sync(now);
    ASSERT_GT(wake, now);
    longest = std::max(longest, wake - now);
    now = wake;
  }
  EXPECT_FALSE(cache_.synced());
  EXPECT_EQ(cache_.staleSince(), now_);
  EXPECT_GE(longest, seconds(15));
  EXPECT_LE(longest, seconds(45));
}

TEST_F(WatchCacheTest, DoesNotHammerAServerThatSaysGoneForever) {
  TimePoint now = now_;
  for (int i = 0; i < 12; ++i) {
    api_.answer(listAt("10", {}));
    api_.refuseWatch(Error(Code::kGone, "too old resource version"));
    now = cache_.sync(now);
  }
  EXPECT_GT(now, now_ + seconds(20));
}

TEST_F(WatchCacheTest, HonoursRetryAfter) {
  Error busy(Code::kResourceExhausted, "too many requests");
  busy.setRetryAfter(seconds(7));
  api_.answer(fail(busy));
  EXPECT_GE(cache_.sync(now_), now_ + seconds(7));
}

TEST_F(WatchCacheTest, ListsAgainWhenAWatchCannotBeResumed) {
  start();
  feed().batches.push_back(fail(Code::kUnavailable, "broke"));
  TimePoint now = cache_.sync(now_);
  api_.refuseWatch(Error(Code::kDeadlineExceeded, "Too large resource version"));
  now = cache_.sync(now);
  api_.refuseWatch(Error(Code::kDeadlineExceeded, "Too large resource version"));
  now = cache_.sync(now);
  api_.answer(listAt("2", {nodeAt("c", "1")}));
  cache_.sync(now);
  EXPECT_EQ(watchedFrom(), "2");
  EXPECT_EQ(versionOf("c"), "1") << "a store that was restored counts from below";
}

TEST_F(WatchCacheTest, TakesTheEndOfALongLivedWatchLightly) {
  start();
  TimePoint now = now_;
  for (int i = 0; i < 5; ++i) {
    now += minutes(5);
    feed().batches.push_back(fail(Code::kUnavailable, "the server ended the watch"));
    const TimePoint wake = cache_.sync(now);
    EXPECT_LE(wake, now + milliseconds(300));
    now = wake;
    cache_.sync(now);
  }
  EXPECT_EQ(api_.feeds.size(), 6u);
}

TEST_F(WatchCacheTest, ListsAgainEveryResyncAndKeepsTheOldWatchUntilThen) {
  start();
  const TimePoint resync = cache_.sync(now_);
  EXPECT_EQ(resync, now_ + minutes(30));
  api_.answer(fail(Code::kUnavailable, "down for a moment"));
  const TimePoint retry = cache_.sync(resync);
  EXPECT_EQ(api_.feeds.size(), 1u);
  EXPECT_TRUE(feed().open);
  EXPECT_EQ(cache_.staleSince(), std::nullopt) << "the watch still brings all there is";

  feed().batches.push_back(batchOf(WatchEvent::Type::kAdded, nodeAt("b", "11")));
  cache_.sync(resync);
  EXPECT_EQ(versionOf("b"), "11") << "events are taken in during the back-off";

  api_.answer(listAt("60", {nodeAt("a", "3")}));
  cache_.sync(retry);
  EXPECT_EQ(versionOf("b"), "");
  EXPECT_EQ(watchedFrom(), "60");
  EXPECT_FALSE(api_.feeds[0]->open);
}

TEST_F(WatchCacheTest, TakesInAFloodPieceByPiece) {
  start();
  for (int i = 0; i < 100; ++i) {
    feed().batches.push_back(batchOf(WatchEvent::Type::kModified, nodeAt("a", std::to_string(20 + i))));
  }
  EXPECT_EQ(cache_.sync(now_), now_) << "there is more";
  EXPECT_GT(cache_.sync(now_), now_);
  EXPECT_EQ(versionOf("a"), "119");
}

TEST_F(WatchCacheTest, KeepsObjectsThatCannotBeDecodedApart) {
  start();
  Json bad = nodeAt("bad", "11");
  bad.get_object()["spec"] = JsonObject{{"taints", 7}};
  feed().batches.push_back(batchOf(WatchEvent::Type::kAdded, bad));
  feed().batches.push_back(batchOf(WatchEvent::Type::kAdded, nodeAt("good", "12")));
  cache_.sync(now_);
  EXPECT_EQ(versionOf("good"), "12");
  ASSERT_TRUE(cache_.broken().contains("bad"));
  EXPECT_NE(cache_.broken().at("bad").find("spec.taints"), std::string::npos);

  feed().batches.push_back(batchOf(WatchEvent::Type::kModified, nodeAt("bad", "13")));
  cache_.sync(now_);
  EXPECT_TRUE(cache_.broken().empty());
  EXPECT_EQ(versionOf("bad"), "13");
}

TEST_F(WatchCacheTest, OwnWritesAreNotUndoneByOlderEvents) {
  start();
  cache_.observe(nodeAt("a", "20"));
  feed().batches.push_back(batchOf(WatchEvent::Type::kModified, nodeAt("a", "19")));
  feed().batches.push_back(batchOf(WatchEvent::Type::kDeleted, nodeAt("a", "18")));
  cache_.sync(now_);
  EXPECT_EQ(versionOf("a"), "20");
  feed().batches.push_back(batchOf(WatchEvent::Type::kModified, nodeAt("a", "100")));
  cache_.sync(now_);
  EXPECT_EQ(versionOf("a"), "100") << "versions are numbers, not text";
}

}  // namespace
}  // namespace mainstay::kube
