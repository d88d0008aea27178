#include "agent/status_board.h"

#include <gtest/gtest.h>

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;

const TimePoint kNoon = *parseTime("2026-11-29T12:00:00Z");

TEST(StatusBoardTest, ConditionsAreNullBeforeTheFirst) {
  StatusBoard board;
  EXPECT_EQ(board.answer("/conditions", kNoon).body, "null");
  board.show({{"NeuronHealth", "True", "Dma", "line", kNoon, {}}});
  EXPECT_EQ(board.answer("/conditions", kNoon).body,
            R"([{"type":"NeuronHealth","status":"True","transition":"2026-11-29T12:00:00.000000Z",)"
            R"("reason":"Dma","message":"line"}])");
}

TEST(StatusBoardTest, HealthzTellsALoopThatIsStuck) {
  StatusBoard board;
  EXPECT_EQ(board.answer("/healthz", kNoon).body, "ok");
  board.stepped(kNoon);
  EXPECT_EQ(board.answer("/healthz", kNoon + StatusBoard::kStuckAfter).status, 200);
  const HttpResponse stuck = board.answer("/healthz", kNoon + StatusBoard::kStuckAfter + 1s);
  EXPECT_EQ(stuck.status, 503);
  EXPECT_NE(stuck.body.find("2026-11-29T12:00:00Z"), std::string::npos);
  EXPECT_EQ(board.answer("/other", kNoon).status, 404);
}

class CapturedReply final : public HttpReply {
 public:
  void send(HttpResponse response) override { sent = std::move(response); }
  Result<> startStream(int, HttpHeaders) override { return fail(Code::kInternal, "not a stream"); }
  Result<> write(std::string_view) override { return fail(Code::kInternal, "not a stream"); }
  std::stop_token stopToken() const override { return {}; }
  HttpResponse sent;
};

HttpResponse ask(const HttpServer::Handler& handler, const std::string& method, const std::string& target) {
  CapturedReply reply;
  handler({.method = method, .target = target, .headers = {}, .body = ""}, reply);
  return reply.sent;
}

TEST(StatusHandlersTest, ServeTheirPathsForReadingOnly) {
  StatusBoard board;
  SteadyWallClock clock;
  Metrics metrics;
  metrics.count("problem_counter", "help", {{"reason", "Dma"}}, 1);
  const auto status = statusHandler(board, clock);
  const auto exposition = metricsHandler(metrics);
  EXPECT_EQ(ask(status, "GET", "/healthz?verbose").body, "ok");
  EXPECT_EQ(ask(status, "POST", "/healthz").status, 405);
  EXPECT_NE(ask(exposition, "GET", "/metrics").body.find("problem_counter{reason=\"Dma\"} 1"),
            std::string::npos);
  EXPECT_EQ(ask(exposition, "GET", "/").status, 404);
  EXPECT_EQ(ask(exposition, "DELETE", "/metrics").status, 405);
}

}  // namespace
}  // namespace mainstay::agent
