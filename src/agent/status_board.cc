#include "agent/status_board.h"

#include <algorithm>

namespace mainstay::agent {
namespace {

HttpResponse plainText(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

std::string pathOf(const std::string& target) {
  return target.substr(0, target.find('?'));
}

bool asksForDetails(const std::string& target) {
  const Query query = parseQuery(target.substr(std::min(target.find('?'), target.size() - 1) + 1));
  return std::ranges::any_of(query, [](const auto& parameter) { return parameter.first == "verbose"; });
}

// A line for each source, as API servers tell their checks: "[+]kmsg ok, last news 3.000 s ago, 0.002 s old
// when taken".
std::string linesAbout(const std::vector<SourceStatus>& sources, TimePoint now) {
  std::string lines;
  for (const SourceStatus& source : sources) {
    lines += (source.trouble.empty() ? "[+]" : "[-]") + source.name + " " +
             (source.trouble.empty() ? "ok" : "failed: " + source.trouble);
    lines += source.lastNews ? ", last news " + humanDuration(now - *source.lastNews) + " ago, " +
                                   humanDuration(source.lag) + " old when taken"
                             : ", no news yet";
    lines += "\n";
  }
  return lines;
}

bool isRead(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD";
}

}  // namespace

void StatusBoard::show(const std::vector<api::Condition>& conditions) {
  JsonArray list;
  for (const api::Condition& condition : conditions) {
    list.push_back(JsonObject{{"type", condition.type},
                              {"status", condition.status},
                              {"transition", formatMicroTime(condition.lastTransition)},
                              {"reason", condition.reason},
                              {"message", condition.message}});
  }
  std::string text = toText(list);
  std::lock_guard lock(mutex_);
  conditions_ = std::move(text);
}

void StatusBoard::stepped(TimePoint now, std::vector<SourceStatus> sources) {
  std::lock_guard lock(mutex_);
  steppedAt_ = now;
  sources_ = std::move(sources);
}

HttpResponse StatusBoard::answer(const std::string& target, TimePoint now) const {
  const std::string path = pathOf(target);
  std::lock_guard lock(mutex_);
  if (path == "/conditions") {
    return {200, {{"Content-Type", "application/json"}}, conditions_};
  }
  if (path == "/healthz") {
    return health(asksForDetails(target), now);
  }
  if (path == "/readyz") {
    return readiness(now);
  }
  return plainText(404, "404 page not found\n");
}

// Before the first step it is alive: a liveness probe must not end an agent that waits for its API server.
bool StatusBoard::stuck(TimePoint now) const {
  return steppedAt_ != TimePoint{} && now - steppedAt_ > kStuckAfter;
}

HttpResponse StatusBoard::health(bool verbose, TimePoint now) const {
  if (stuck(now)) {
    return plainText(503, "the agent's loop has not run since " + formatTime(steppedAt_) + "\n");
  }
  return plainText(200, verbose ? linesAbout(sources_, now) + "healthz check passed\n" : "ok");
}

HttpResponse StatusBoard::readiness(TimePoint now) const {
  const bool sees = std::ranges::all_of(
      sources_, [](const SourceStatus& source) { return source.trouble.empty() || !source.needed; });
  const bool ready = steppedAt_ != TimePoint{} && !stuck(now) && sees;
  return plainText(ready ? 200 : 503,
                   linesAbout(sources_, now) + "readyz check " + (ready ? "passed" : "failed") + "\n");
}

HttpServer::Handler statusHandler(const StatusBoard& board, const Clock& clock) {
  return [&board, &clock](const HttpRequest& request, HttpReply& reply) {
    reply.send(isRead(request) ? board.answer(request.target, clock.now()) : plainText(405, "only GET\n"));
  };
}

HttpServer::Handler metricsHandler(const Metrics& metrics, const StatusBoard& board, const Clock& clock) {
  return [&metrics, &board, &clock](const HttpRequest& request, HttpReply& reply) {
    const std::string path = pathOf(request.target);
    if (!isRead(request)) {
      reply.send(plainText(405, "only GET\n"));
    } else if (path == "/metrics") {
      reply.send({200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, metrics.text()});
    } else {
      reply.send(path == "/conditions" ? plainText(404, "404 page not found\n")
                                       : board.answer(request.target, clock.now()));
    }
  };
}

}  // namespace mainstay::agent
