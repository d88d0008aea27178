// HttpServer: a small HTTP/1.1 server on Boost.Beast: status pages, metrics, the local cluster. Plain text for loopback,
// TLS where a network is. One thread per connection; limits on header, body, connections and slow clients.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "base/http.h"
#include "base/http_tls.h"
#include "base/result.h"

namespace mainstay {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  int port = 0;       // 0 = any free one
  TlsFiles tls = {};  // read again when they change, at the next connection
  std::size_t maxHeader = 64u << 10;
  std::size_t maxBody = 8u << 20;
  int maxConnections = 1024;                         // one more is answered 503 and closed
  Duration readTimeout = std::chrono::seconds(30);   // a request, or TLS, that takes longer to arrive
  Duration idleTimeout = std::chrono::seconds(120);  // keep-alive without a request
  Duration writeTimeout = std::chrono::seconds(30);  // a client that does not read
};

// The answer to one request: either one whole response, or a head and chunks. Used by the handler's thread
// only.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  virtual void send(HttpResponse response) = 0;
  // Chunked; each write is flushed. An error when the client has gone, is too slow, or the server stops.
  virtual Result<> startStream(int status, HttpHeaders headers) = 0;
  virtual Result<> write(std::string_view chunk) = 0;
  // Set when the server stops: streams end themselves.
  virtual std::stop_token stopToken() const = 0;
};

class HttpServer {
 public:
  using Handler = std::function<void(const HttpRequest&, HttpReply&)>;
  // Listens at once; the error names address and port, or the TLS file that cannot be used.
  static Result<std::unique_ptr<HttpServer>> listen(HttpServerOptions options, Handler handler);
  // Stops accepting, ends streams, joins all threads.
  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace mainstay
