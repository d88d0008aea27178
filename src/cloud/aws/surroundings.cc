#include "cloud/aws/surroundings.h"

#include <mutex>
#include <random>

#include "base/http_client.h"
#include "base/signal.h"

namespace mainstay::cloud::aws {
namespace {

// AWS's answers are pages of at most a few hundred kilobytes.
constexpr std::size_t kMaxAnswer = 8u << 20;

struct Chance {
  std::mutex mutex = {};
  std::mt19937_64 engine{std::random_device()()};

  double next() {
    const std::lock_guard lock(mutex);
    return std::uniform_real_distribution<double>(0, 1)(engine);
  }
};

Transport transport(bool useProxies) {
  HttpClientOptions options;
  options.maxBody = kMaxAnswer;
  options.useProxyEnvironment = useProxies;
  return [client = std::make_shared<HttpClient>(std::move(options))](
             const HttpRequest& request, Deadline deadline, std::stop_token stop) {
    return client->send(request, deadline, std::move(stop));
  };
}

}  // namespace

Surroundings realSurroundings(std::function<std::string(const std::string&)> environment,
                              const FileSystem& files, const Clock& clock, std::stop_token stop) {
  return {.environment = std::move(environment),
          .files = &files,
          .clock = &clock,
          .send = transport(true),
          .sendDirect = transport(false),
          .pause =
              [&clock](Duration span, std::stop_token ended) {
                Signal nobody;
                nobody.waitUntil(clock, clock.now() + span, std::move(ended));
              },
          .random = [chance = std::make_shared<Chance>()] { return chance->next(); },
          .stop = std::move(stop)};
}

}  // namespace mainstay::cloud::aws
