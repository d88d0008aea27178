#include "local/api/watch.h"

#include "local/api/api_server_testing.h"

namespace mainstay::local {
namespace {

using Type = kube::WatchEvent::Type;

class WatchTest : public ApiServerTest {
 protected:
  std::unique_ptr<Watch> open(const std::string& path, const std::string& query = "") {
    auto watch = server_.watch(path, parseQuery(query), signal_);
    EXPECT_TRUE(watch);
    return watch ? *std::move(watch) : nullptr;
  }
  // "+a ~b -c *": added, modified, deleted, bookmark; or the code that ended the watch.
  static std::string told(Watch& watch) {
    auto events = watch.poll();
    if (!events) {
      return std::to_string(events.error().code);
    }
    std::string text;
    for (const kube::WatchEvent& event : *events) {
      const char* sign = event.type == Type::kAdded      ? "+"
                         : event.type == Type::kModified ? "~"
                         : event.type == Type::kDeleted  ? "-"
                                                         : "*";
      text += sign + findString(event.object, "metadata", "name") + " ";
    }
    return text;
  }
  std::string version() { return findString(get("/api/v1/nodes").body, "metadata", "resourceVersion"); }

  Signal signal_;
};

TEST_F(WatchTest, TellsWhatIsThereAndThenWhatChanges) {
  createNode("a");
  const auto watch = open("/api/v1/nodes");

  EXPECT_TRUE(signal_.take());
  EXPECT_EQ(told(*watch), "+a ");
  EXPECT_FALSE(signal_.take());
  createNode("b");
  EXPECT_TRUE(signal_.take());
  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"y"}}})").status, 200);
  ASSERT_EQ(remove("/api/v1/nodes/b").status, 200);
  EXPECT_EQ(told(*watch), "+b ~a -b ");
  EXPECT_EQ(told(*watch), "");
}

TEST_F(WatchTest, ResumesAfterTheRevisionOfAList) {
  createNode("a");
  const auto watch = open("/api/v1/nodes", "resourceVersion=" + version());

  EXPECT_EQ(told(*watch), "");
  createNode("b");
  EXPECT_EQ(told(*watch), "+b ");
}

TEST_F(WatchTest, MakesAnObjectComeAndGoAsItBeginsAndEndsToMatch) {
  createNode("a");
  const auto watch = open("/api/v1/nodes", "labelSelector=x%3Dy&resourceVersion=" + version());
  signal_.take();

  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"z":"1"}}})").status, 200);
  EXPECT_FALSE(signal_.take());
  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":"y"}}})").status, 200);
  EXPECT_TRUE(signal_.take());
  ASSERT_EQ(patch("/api/v1/nodes/a", R"({"metadata":{"labels":{"x":null}}})").status, 200);
  EXPECT_EQ(told(*watch), "+a -a ");
}

TEST_F(WatchTest, EndsWithGoneWhenItsPlaceInTheHistoryIsCompacted) {
  const std::string start = version();
  const auto watch = open("/api/v1/nodes", "resourceVersion=" + start);
  createNode("a");
  server_.compact();

  EXPECT_EQ(told(*watch), "410");
  EXPECT_EQ(told(*open("/api/v1/nodes", "resourceVersion=" + start)), "410") << "told, not refused";
  EXPECT_EQ(told(*open("/api/v1/nodes", "resourceVersion=999999")), "410") << "of another life of the server";
}

TEST_F(WatchTest, HearsOfThePresentRevisionShortlyBeforeItsEnd) {
  const auto watch = open("/api/v1/nodes", "allowWatchBookmarks=true&timeoutSeconds=10");
  EXPECT_EQ(told(*watch), "");
  EXPECT_EQ(watch->end(), time_.now() + std::chrono::seconds(10));
  ASSERT_TRUE(time_.runUntil(watch->end() - Watch::kBookmarkBeforeEnd));
  EXPECT_EQ(told(*watch), "* ");
}

TEST_F(WatchTest, HearsOfThePresentRevisionWhileItsKindIsQuiet) {
  const auto watch = open("/api/v1/nodes", "allowWatchBookmarks=true");
  EXPECT_EQ(told(*watch), "");
  createPod("p");
  ASSERT_TRUE(time_.runUntil(time_.now() + Watch::kBookmarkEvery));
  EXPECT_EQ(told(*watch), "* ");
  EXPECT_EQ(told(*watch), "");
}

TEST_F(WatchTest, MarksTheEndOfTheFirstObjectsWhenAsked) {
  createNode("a");
  const auto watch =
      open("/api/v1/nodes", "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=1");
  const auto events = watch->poll();
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 2u);
  EXPECT_EQ(findString(events->back().object, "metadata", "annotations", "k8s.io/initial-events-end"),
            "true");
}

TEST_F(WatchTest, BreaksWhenDroppedOnPurpose) {
  const auto watch = open("/api/v1/nodes");
  signal_.take();
  server_.dropWatches();
  EXPECT_TRUE(signal_.take());
  EXPECT_EQ(told(*watch), "503");
}

TEST_F(WatchTest, TellsDirectCallersWhichErrorEndedIt) {
  auto stream = api_.watch("/api/v1/nodes", {}, signal_);
  ASSERT_TRUE(stream);
  server_.dropWatches();
  const auto broken = (*stream)->poll();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace mainstay::local
