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
  board.stepped(kNoon, {});
  EXPECT_EQ(board.answer("/healthz", kNoon + StatusBoard::kStuckAfter).status, 200);
  const HttpResponse stuck = board.answer("/healthz", kNoon + StatusBoard::kStuckAfter + 1s);
  EXPECT_EQ(stuck.status, 503);
  EXPECT_NE(stuck.body.find("2026-11-29T12:00:00Z"), std::string::npos);
  EXPECT_EQ(board.answer("/other", kNoon).status, 404);
}

const SourceStatus kSeeing{"kmsg", "", kNoon - 3s, 2ms};
const SourceStatus kBlind{"journald", "opening /var/log/journal: Permission denied", std::nullopt, {}};

TEST(StatusBoardTest, ReadyzFailsWhileASourceIsBlindAndSaysWhich) {
  StatusBoard board;
  EXPECT_EQ(board.answer("/readyz", kNoon).status, 503) << "before the first step nothing is known";
  board.stepped(kNoon, {kSeeing, kBlind});
  const HttpResponse blind = board.answer("/readyz", kNoon);
  EXPECT_EQ(blind.status, 503);
  EXPECT_EQ(blind.body,
            "[+]kmsg ok, last news 3.000 s ago, 0.002 s old when taken\n"
            "[-]journald failed: opening /var/log/journal: Permission denied, no news yet\n"
            "readyz check failed\n");
  board.stepped(kNoon, {kSeeing});
  EXPECT_EQ(board.answer("/readyz", kNoon).status, 200);
  EXPECT_EQ(board.answer("/readyz", kNoon + StatusBoard::kStuckAfter + 1s).status, 503);
}

TEST(StatusBoardTest, HealthzIsForLivenessAndTellsTheSourcesWhenAsked) {
  StatusBoard board;
  board.stepped(kNoon, {kBlind});
  EXPECT_EQ(board.answer("/healthz", kNoon).body, "ok") << "to end a blind agent would not make it see";
  const HttpResponse verbose = board.answer("/healthz?verbose", kNoon);
  EXPECT_EQ(verbose.status, 200);
  EXPECT_EQ(verbose.body,
            "[-]journald failed: opening /var/log/journal: Permission denied, no news yet\n"
            "healthz check passed\n");
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
  const auto exposition = metricsHandler(metrics, board, clock);
  EXPECT_EQ(ask(status, "GET", "/healthz?x=1").body, "ok");
  EXPECT_EQ(ask(status, "GET", "/readyz").status, 503);
  EXPECT_EQ(ask(status, "GET", "/debug/pprof/").status, 404) << "that is Go's own";
  EXPECT_EQ(ask(status, "POST", "/healthz").status, 405);
  EXPECT_NE(ask(exposition, "GET", "/metrics").body.find("problem_counter{reason=\"Dma\"} 1"),
            std::string::npos);
  EXPECT_EQ(ask(exposition, "GET", "/healthz").body, "ok") << "the status server may be off";
  EXPECT_EQ(ask(exposition, "GET", "/readyz").status, 503);
  EXPECT_EQ(ask(exposition, "GET", "/conditions").status, 404);
  EXPECT_EQ(ask(exposition, "GET", "/").status, 404);
  EXPECT_EQ(ask(exposition, "DELETE", "/metrics").status, 405);
}

}  // namespace
}  // namespace mainstay::agent
