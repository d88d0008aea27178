#include "agent/status_board.h"

namespace mainstay::agent {
namespace {

HttpResponse plainText(int status, std::string body) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(body)};
}

std::string pathOf(const HttpRequest& request) {
  return request.target.substr(0, request.target.find('?'));
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

void StatusBoard::stepped(TimePoint now) {
  std::lock_guard lock(mutex_);
  steppedAt_ = now;
}

HttpResponse StatusBoard::answer(const std::string& path, TimePoint now) const {
  std::lock_guard lock(mutex_);
  if (path == "/conditions") {
    return {200, {{"Content-Type", "application/json"}}, conditions_};
  }
  if (path != "/healthz") {
    return plainText(404, "404 page not found\n");
  }
  if (steppedAt_ != TimePoint{} && now - steppedAt_ > kStuckAfter) {
    return plainText(503, "the agent's loop has not run since " + formatTime(steppedAt_) + "\n");
  }
  return plainText(200, "ok");
}

HttpServer::Handler statusHandler(const StatusBoard& board, const Clock& clock) {
  return [&board, &clock](const HttpRequest& request, HttpReply& reply) {
    reply.send(isRead(request) ? board.answer(pathOf(request), clock.now()) : plainText(405, "only GET\n"));
  };
}

HttpServer::Handler metricsHandler(const Metrics& metrics) {
  return [&metrics](const HttpRequest& request, HttpReply& reply) {
    if (!isRead(request)) {
      reply.send(plainText(405, "only GET\n"));
    } else if (pathOf(request) != "/metrics") {
      reply.send(plainText(404, "404 page not found\n"));
    } else {
      reply.send({200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, metrics.text()});
    }
  };
}

}  // namespace mainstay::agent
