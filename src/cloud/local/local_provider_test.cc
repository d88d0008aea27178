#include "cloud/local/local_provider.h"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "base/http_server.h"
#include "base/json.h"
#include "cloud/provider_contract.h"

namespace mainstay::cloud {
namespace {

// The server's side of the little protocol: one group that replaces what is unhealthy when it is told to
// settle.
class SmallCloud {
 public:
  SmallCloud() {
    for (int i = 0; i < 3; ++i) {
      launch();
    }
    activities_.clear();
    server_ = HttpServer::listen({}, [this](const HttpRequest& request, HttpReply& reply) {
                std::lock_guard lock(mutex_);
                reply.send(answer(request));
              }).value();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  void settle() {
    std::lock_guard lock(mutex_);
    std::vector<std::string> bad;
    for (auto& [id, instance] : instances_) {
      if (instance.at("healthStatus") == "Unhealthy" && instance.at("lifecycle") == "InService") {
        instance["lifecycle"] = "Terminated";
        instance["group"] = "";
        note("Terminating EC2 instance: " + id);
        bad.push_back(id);
      }
    }
    for (std::size_t i = 0; i < bad.size(); ++i) {
      launch();
    }
  }
  // Answers every request so, until it is given nullopt.
  void refuseWith(std::optional<HttpResponse> response) {
    std::lock_guard lock(mutex_);
    refusal_ = std::move(response);
  }
  int posts() {
    std::lock_guard lock(mutex_);
    return posts_;
  }
  std::string lastToken() {
    std::lock_guard lock(mutex_);
    return lastToken_;
  }

 private:
  void launch() {
    const std::string id = "i-" + std::to_string(++serial_);
    instances_[id] =
        JsonObject{{"id", id},
                   {"providerId", "local:///zone-a/" + id},
                   {"group", "workers"},
                   {"lifecycle", "InService"},
                   {"healthStatus", "Healthy"},
                   {"launchTime", formatMicroTime(TimePoint(std::chrono::hours(9000 + serial_)))}};
    note("Launching a new EC2 instance: " + id);
  }
  void note(const std::string& text) {
    activities_.insert(
        activities_.begin(),
        JsonObject{{"status", "Successful"}, {"statusMessage", text}, {"startTime", "2026-11-29T20:14:07Z"}});
  }
  static HttpResponse json(int status, const Json& body) {
    return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = toText(body)};
  }
  HttpResponse answer(const HttpRequest& request) {
    if (refusal_) {
      return *refusal_;
    }
    if (request.target == "/cloud/v1/groups/workers") {
      return json(200, group());
    }
    const std::string prefix = "/cloud/v1/instances/";
    std::string id = request.target.starts_with(prefix) ? request.target.substr(prefix.size()) : "";
    id = id.substr(0, id.find('/'));
    const auto found = instances_.find(id);
    if (found == instances_.end()) {
      return json(404, JsonObject{{"message", "not here"}});
    }
    if (request.method == "POST") {
      ++posts_;
      const Json body = parseJson(request.body).value();
      found->second["healthStatus"] = body.at("healthStatus");
      lastToken_ = findString(body, "token");
    }
    return json(200, found->second);
  }
  JsonObject group() const {
    JsonArray members;
    for (const auto& [id, instance] : instances_) {
      if (instance.at("group") == "workers") {
        members.push_back(instance);
      }
    }
    return {{"name", "workers"},    {"minSize", 1},         {"maxSize", 5},
            {"desiredCapacity", 3}, {"instances", members}, {"activities", activities_}};
  }

  std::mutex mutex_;
  std::map<std::string, JsonObject> instances_;
  JsonArray activities_;
  int serial_ = 0;
  int posts_ = 0;
  std::string lastToken_;
  std::optional<HttpResponse> refusal_;
  std::unique_ptr<HttpServer> server_;
};

class LocalWorld final : public ProviderWorld {
 public:
  Provider& provider() override { return *provider_; }
  std::string group() override { return "workers"; }
  std::string unknownProviderId() override { return "local:///zone-a/i-999"; }
  void settle() override { cloud_.settle(); }

 private:
  SmallCloud cloud_;
  std::unique_ptr<LocalProvider> provider_ = LocalProvider::create(cloud_.url()).value();
};

std::unique_ptr<ProviderWorld> makeLocalWorld() {
  return std::make_unique<LocalWorld>();
}

TEST(LocalProviderUrlTest, AcceptsLoopbackOnly) {
  for (const char* url :
       {"http://127.0.0.1:6443", "http://127.9.8.7", "http://[::1]:80", "http://localhost:1"}) {
    EXPECT_TRUE(LocalProvider::create(url).has_value()) << url;
  }
  for (const char* url :
       {"", "http://10.0.0.1:6443", "https://127.0.0.1:6443", "http://127.0.0.1@evil.example",
        "http://127.0.0.1.evil.example", "http://127.0.0.1:80@evil.example", "http://localhost.evil.example",
        "http://[::2]:80", "http://0.0.0.0:80", "http://127.0.0.1:0", "http://127.0.0.1:99999",
        "http://127.0.0.1/path", "http://[::1]evil.example", "http://"}) {
    const auto provider = LocalProvider::create(url);
    ASSERT_FALSE(provider.has_value()) << url;
    EXPECT_EQ(provider.error().code(), Code::kFailedPrecondition);
    EXPECT_NE(provider.error().toString().find("provider: aws"), std::string::npos);
  }
}

class LocalProviderTest : public testing::Test {
 protected:
  SmallCloud cloud_;
  std::unique_ptr<LocalProvider> provider_ = LocalProvider::create(cloud_.url()).value();
};

TEST_F(LocalProviderTest, ReadsFirstAndMarksOnce) {
  ASSERT_TRUE(provider_->markUnhealthy("local:///zone-a/i-1", "incident-7").has_value());
  EXPECT_EQ(cloud_.lastToken(), "incident-7");
  ASSERT_TRUE(provider_->markUnhealthy("local:///zone-a/i-1", "incident-7").has_value());
  EXPECT_EQ(cloud_.posts(), 1);
}

TEST_F(LocalProviderTest, TakesAMarkBackBeforeTheEnd) {
  ASSERT_TRUE(provider_->markUnhealthy("local:///zone-a/i-1", "t").has_value());
  ASSERT_TRUE(provider_->markHealthy("local:///zone-a/i-1").has_value());
  cloud_.settle();
  EXPECT_EQ((*provider_->describe("local:///zone-a/i-1"))->lifecycle, "InService");
}

TEST_F(LocalProviderTest, DoesNothingWithAnInstanceOfTheSameIdElsewhere) {
  const auto marked = provider_->markUnhealthy("local:///zone-b/i-1", "t");
  ASSERT_FALSE(marked.has_value());
  EXPECT_EQ(marked.error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(cloud_.posts(), 0);
}

TEST_F(LocalProviderTest, PassesOnWhyTheCloudRefused) {
  cloud_.refuseWith(
      HttpResponse{.status = 409, .headers = {}, .body = R"({"message":"Launch is suspended"})"});
  const auto marked = provider_->markUnhealthy("local:///zone-a/i-1", "t");
  ASSERT_FALSE(marked.has_value());
  EXPECT_EQ(marked.error().code(), Code::kFailedPrecondition);
  EXPECT_NE(marked.error().toString().find("Launch is suspended"), std::string::npos);
}

TEST_F(LocalProviderTest, SurvivesAnswersOfAnyShape) {
  for (const char* body : {"", "{", "[]", "null", "{\"id\":7}", "{\"instances\":{}}", "\xff"}) {
    cloud_.refuseWith(HttpResponse{.status = 200, .headers = {}, .body = body});
    EXPECT_FALSE(provider_->describe("local:///zone-a/i-1").has_value()) << body;
    EXPECT_FALSE(provider_->describeGroup("workers").has_value()) << body;
  }
}

TEST_F(LocalProviderTest, TellsTroubleOfTheCloudAsPassing) {
  cloud_.refuseWith(HttpResponse{.status = 503, .headers = {}, .body = "busy"});
  EXPECT_EQ(provider_->describeGroup("workers").error().code(), Code::kUnavailable);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Local, ProviderContract, testing::Values(&makeLocalWorld));

}  // namespace mainstay::cloud
