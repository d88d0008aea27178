// HttpFront: the API server over HTTP: bodies and content types, Tables for kubectl, watches and logs as
// streams, and the switches for faults. Plain HTTP on loopback; see HttpServer for its limits.
//
//   GET    /local/v1/faults       what is armed
//   POST   /local/v1/faults       {"verb": "patch", "path": "/api/v1/nodes", "count": 3, "status": 500,
//   "delay": "200ms"} DELETE /local/v1/faults       disarms all POST   /local/v1/watches/drop breaks every
//   open watch POST   /local/v1/compact      forgets the history of changes
#pragma once

#include "base/http_server.h"
#include "local/api/api_server.h"

namespace mainstay::local {

class HttpFront {
 public:
  // Both outlive it.
  HttpFront(ApiServer& server, const Clock& clock) : server_(server), clock_(clock) {}

  // The handler of an HttpServer; any number of threads. An owner that has paths of its own looks at them
  // first.
  void handle(const HttpRequest& request, HttpReply& reply);

 private:
  struct Call;  // a request, taken apart
  void answer(const Call& call, HttpReply& reply);
  HttpResponse answerOnce(const Call& call);
  void streamWatch(const Call& call, HttpReply& reply);
  void streamLog(const Call& call, HttpReply& reply);
  Outcome<std::string> wholeLog(const ApiServer::LogRequest& wanted, LogSource::Chunk& chunk);
  void followLog(const ApiServer::LogRequest& wanted, std::string text, LogSource::Chunk chunk,
                 HttpReply& reply);
  HttpResponse controlFaults(const Call& call);
  void delay(const Call& call, std::stop_token stop);

  ApiServer& server_;
  const Clock& clock_;
};

// Requests that a web page in a browser may have sent, or that were meant for another host's name: not
// served, because whoever can reach this server can run programs through it.
bool isForeignRequest(const HttpRequest& request);

}  // namespace mainstay::local
