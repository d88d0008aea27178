// One store, two transports: what a client sees must not depend on how it reaches the API server.
#include <gtest/gtest.h>

#include "kube/http_api.h"
#include "kube/watch_cache.h"
#include "local/api/direct_api.h"
#include "local/api/http_front.h"

namespace mainstay::local {
namespace {

class TransportsTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    auto http = HttpServer::listen(
        {}, [this](const HttpRequest& request, HttpReply& reply) { front_.handle(request, reply); });
    ASSERT_TRUE(http) << http.error().toString();
    http_ = *std::move(http);
    kube::Config config;
    config.server = "http://127.0.0.1:" + std::to_string(http_->port());
    overHttp_ = std::make_unique<kube::HttpApi>(config, files_, clock_);
  }
  kube::Api& api() { return GetParam() ? static_cast<kube::Api&>(*overHttp_) : direct_; }

  Json createNode(const std::string& name) {
    const auto made =
        kube::create(api(), api::kNodes, "", JsonObject{{"metadata", JsonObject{{"name", name}}}}, "test");
    EXPECT_TRUE(made) << made.error().toString();
    return made ? *made : Json();
  }
  Result<Json> patchNode(const std::string& name, std::string_view patch) {
    return kube::patch(api(), api::kNodes, "", name, kube::Body::kStrategicMergePatch, *parseJson(patch),
                       "test");
  }
  // Steps the reflector until it is content with what its sink holds.
  bool syncUntil(kube::Reflector& reflector, const std::function<bool()>& content) {
    const Deadline deadline = Deadline::after(std::chrono::seconds(30));
    while (!content() && !deadline.expired()) {
      const TimePoint wake = reflector.sync(clock_.now());
      signal_.waitUntil(clock_, std::min(wake, clock_.now() + std::chrono::milliseconds(50)), {});
    }
    return content();
  }

  SteadyWallClock clock_;
  ApiServer server_{clock_, {}};
  HttpFront front_{server_, clock_};
  DirectApi direct_{server_};
  FakeFileSystem files_;
  Signal signal_;
  std::unique_ptr<HttpServer> http_;
  std::unique_ptr<kube::HttpApi> overHttp_;
};

// Names of the objects that a reflector holds.
class NameSink final : public kube::Reflector::Sink {
 public:
  void replaceAll(std::vector<Json> objects) override {
    names.clear();
    for (Json& object : objects) {
      put(std::move(object));
    }
  }
  void put(Json object) override { names.insert(findString(object, "metadata", "name")); }
  void erase(const Json& object) override { names.erase(findString(object, "metadata", "name")); }
  std::set<std::string> names;
};

TEST_P(TransportsTest, ReadsWhatItWrote) {
  createNode("a");
  const auto patched = patchNode("a", R"({"metadata":{"labels":{"x":"y"}}})");
  ASSERT_TRUE(patched) << patched.error().toString();
  const auto found = kube::get(api(), api::kNodes, "", "a");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, *patched);
  EXPECT_EQ(findString(found->at("metadata").at("managedFields").as_array()[0], "manager"), "test");
}

TEST_P(TransportsTest, TellsErrorsApart) {
  const Json node = createNode("a");
  ASSERT_TRUE(patchNode("a", R"({"spec":{"unschedulable":true}})"));

  EXPECT_EQ(kube::get(api(), api::kNodes, "", "b").error().code(), Code::kNotFound);
  EXPECT_EQ(
      kube::create(api(), api::kNodes, "", *parseJson(R"({"metadata":{"name":"a"}})"), "test").error().code(),
      Code::kAlreadyExists);
  EXPECT_EQ(kube::update(api(), api::kNodes, node, "test").error().code(), Code::kConflict);
  EXPECT_EQ(kube::remove(api(), api::kNodes, "", "a", "another-uid").error().code(), Code::kConflict);
  EXPECT_EQ(patchNode("a", R"({"metadata":{"labels":{"no good":""}}})").error().code(),
            Code::kInvalidArgument);
  server_.faults().arm({.status = 429, .reason = "TooManyRequests", .retryAfterSeconds = 2});
  const auto busy = kube::get(api(), api::kNodes, "", "a");
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), Code::kResourceExhausted);
  EXPECT_EQ(busy.error().retryAfter(), Duration(std::chrono::seconds(2)));
}

TEST_P(TransportsTest, ListsPageByPage) {
  for (int i = 0; i < 12; ++i) {
    createNode("n" + std::to_string(i));
  }
  const auto page =
      api().call({.path = "/api/v1/nodes", .query = {{"limit", "5"}}}, Deadline::after(kube::kCallTimeout));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->at("items").as_array().size(), 5u);
  const auto all = kube::list(api(), api::kNodes);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->items.size(), 12u);
}

TEST_P(TransportsTest, DeletesAndEvictsPods) {
  const Json pod = *parseJson(
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"a","containers":[{"name":"c","image":"i"}]}})");
  ASSERT_TRUE(kube::create(api(), api::kPods, "default", pod, "test"));
  EXPECT_TRUE(kube::evict(api(), "default", "p", ""));
  EXPECT_TRUE(kube::remove(api(), api::kPods, "default", "p", "", 0));
  EXPECT_EQ(kube::evict(api(), "default", "p", "").error().code(), Code::kNotFound);
}

TEST_P(TransportsTest, KeepsAWatchCacheUpToDateThroughTroubles) {
  createNode("a");
  NameSink sink;
  kube::Reflector reflector(api(), api::kNodes, {}, signal_, sink);
  using Names = std::set<std::string>;
  ASSERT_TRUE(syncUntil(reflector, [&] { return sink.names == Names{"a"}; }));
  createNode("b");
  ASSERT_TRUE(kube::remove(api(), api::kNodes, "", "a", ""));
  EXPECT_TRUE(syncUntil(reflector, [&] { return sink.names == Names{"b"}; }));

  server_.dropWatches();
  createNode("c");
  EXPECT_TRUE(syncUntil(reflector, [&] { return sink.names == Names{"b", "c"}; }));

  server_.dropWatches();
  createNode("d");
  server_.compact();
  EXPECT_TRUE(syncUntil(reflector, [&] { return sink.names == Names{"b", "c", "d"}; }));
}

INSTANTIATE_TEST_SUITE_P(Transports, TransportsTest, testing::Bool(),
                         [](const auto& chosen) { return chosen.param ? "Http" : "Direct"; });

}  // namespace
}  // namespace mainstay::local
