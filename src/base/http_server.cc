// Beast does the part that is hard to get right, parsing requests. The sockets are our own (http_socket.h): Asio's
// blocking calls know neither deadlines nor stops.
#include "base/http_server.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <charconv>
#include <list>
#include <set>
#include <thread>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/http_socket.h"
#include "base/log.h"

namespace mainstay {

namespace {

namespace beast = boost::beast;

constexpr std::size_t kReadChunk = 8u << 10;
// Out of descriptors or memory: how long until the next try to accept.
constexpr int kAcceptPauseMs = 100;

// Line breaks in a value would start a header, or an answer, of somebody else's making.
std::string oneLine(std::string text) {
  for (char& c : text) {
    c = c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
  }
  return text;
}

// The headers that say where the body ends and whether the connection stays are ours alone to set.
bool isFraming(std::string_view name) {
  static const std::set<std::string, CaseLess> kFraming = {"Connection", "Content-Length",
                                                           "Transfer-Encoding"};
  return kFraming.contains(name);
}

std::string formatHead(int status, const HttpHeaders& headers, std::string_view framing) {
  const std::string_view reason = beast::http::obsolete_reason(static_cast<beast::http::status>(status));
  std::string head = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  for (const auto& [name, value] : headers) {
    if (!isFraming(name)) {
      head += oneLine(name) + ": " + oneLine(value) + "\r\n";
    }
  }
  return head.append(framing) + "\r\n";
}

std::string contentLength(std::size_t size) {
  return "Content-Length: " + std::to_string(size) + "\r\n";
}

// Why no request came: the status to answer before closing, or 0 to close without a word.
struct Refusal {
  int status = 0;
  std::string reason;
};

// What of a request decides how its answer is framed.
struct Exchange {
  bool http11 = true;
  bool head = false;  // the method is HEAD: no body follows
  bool keepAlive = true;
};

class RequestReader {
 public:
  RequestReader(const HttpSocket& socket, const HttpServerOptions& options)
      : socket_(socket), options_(options) {}

  // Waits for the next request of the connection, whole.
  tl::expected<HttpRequest, Refusal> next(Exchange& exchange) {
    if (buffer_.size() == 0 && !socket_.waitReadable(Deadline::after(options_.idleTimeout))) {
      return tl::make_unexpected(Refusal{});
    }
    Parser parser;
    parser.eager(true);
    parser.header_limit(static_cast<std::uint32_t>(options_.maxHeader));
    parser.body_limit(options_.maxBody);
    const Deadline deadline = Deadline::after(options_.readTimeout);
    bool mayContinue = true;
    while (!parser.is_done()) {
      beast::error_code error = beast::http::error::need_more;
      if (buffer_.size() > 0) {
        buffer_.consume(parser.put(buffer_.data(), error));
      }
      if (error && error != beast::http::error::need_more) {
        return tl::make_unexpected(refusalOf(error));
      }
      if (error && mayContinue && parser.is_header_done()) {
        mayContinue = false;
        sendContinue(parser, deadline);
      }
      if (const int status = error ? fill(deadline) : 200; status != 200) {
        return tl::make_unexpected(
            Refusal{parser.got_some() ? status : 0, "the request did not arrive in time"});
      }
    }
    exchange = {parser.get().version() >= 11, parser.get().method() == beast::http::verb::head,
                parser.keep_alive()};
    return take(parser.get());
  }

 private:
  using Parser = beast::http::request_parser<beast::http::string_body>;

  // 200, or the status to close with.
  int fill(const Deadline& deadline) {
    const auto room = buffer_.prepare(kReadChunk);
    const auto count = socket_.read(room.data(), room.size(), deadline);
    if (!count) {
      return count.error().code() == Code::kDeadlineExceeded ? 408 : 0;
    }
    buffer_.commit(*count);
    return *count > 0 ? 200 : 0;
  }

  // A client with a large body may ask first whether we want it.
  void sendContinue(const Parser& parser, const Deadline& deadline) const {
    if (beast::iequals(parser.get()[beast::http::field::expect], "100-continue")) {
      ignore(socket_.write("HTTP/1.1 100 Continue\r\n\r\n", deadline),
             "a client that has gone shows at the next read");
    }
  }

  static Refusal refusalOf(const beast::error_code& error) {
    if (error == beast::http::error::header_limit) {
      return {431, "the request's header is larger than this server accepts"};
    }
    if (error == beast::http::error::body_limit) {
      return {413, "the request's body is larger than this server accepts"};
    }
    return {400, "not an HTTP request: " + error.message()};
  }

  static HttpRequest take(Parser::value_type& message) {
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message) {
      std::string& value = request.headers[std::string(field.name_string())];
      value += (value.empty() ? "" : ", ") + std::string(field.value());
    }
    request.body = std::move(message.body());
    return request;
  }

  const HttpSocket& socket_;
  const HttpServerOptions& options_;
  beast::flat_buffer buffer_;
};

class SocketReply final : public HttpReply {
 public:
  SocketReply(const HttpSocket& socket, const HttpServerOptions& options, Exchange exchange,
              std::stop_token stop)
      : socket_(socket), options_(options), exchange_(exchange), stop_(std::move(stop)) {}

  void send(HttpResponse response) override {
    if (state_ != State::kNothing) {
      return;
    }
    state_ = State::kDone;
    const bool bodiless = response.status == 204 || response.status == 304;
    const std::string framing = (bodiless ? "" : contentLength(response.body.size())) + connectionHeader();
    std::string bytes = formatHead(response.status, response.headers, framing);
    if (!bodiless && !exchange_.head) {
      bytes += response.body;
    }
    ignore(transmit(bytes), "the connection is closed then, see alive()");
  }

  Result<> startStream(int status, HttpHeaders headers) override {
    if (state_ != State::kNothing) {
      return fail(Code::kInternal, "this request has been answered already");
    }
    state_ = State::kStreaming;
    exchange_.keepAlive =
        exchange_.keepAlive && exchange_.http11;  // HTTP/1.0 knows no chunks: closing ends the body
    const std::string chunked = exchange_.http11 ? "Transfer-Encoding: chunked\r\n" : "";
    return transmit(formatHead(status, headers, chunked + connectionHeader()));
  }

  Result<> write(std::string_view chunk) override {
    if (state_ != State::kStreaming) {
      return fail(Code::kInternal, "no stream has been started");
    }
    if (stop_.stop_requested()) {
      return fail(Code::kCancelled, "the server stops");
    }
    if (!alive_ || socket_.peerClosed()) {
      alive_ = false;
      return fail(Code::kUnavailable, "the client has gone");
    }
    if (chunk.empty() || exchange_.head) {
      return {};  // an empty chunk would end the stream
    }
    return transmit(exchange_.http11 ? asChunk(chunk) : std::string(chunk));
  }

  std::stop_token stopToken() const override { return stop_; }

  // Completes what the handler left open. False when the connection cannot be used again.
  bool finish() {
    if (state_ == State::kNothing) {
      send({500, {{"Content-Type", "text/plain"}}, "the server gave no answer\n"});
    }
    if (state_ == State::kStreaming && alive_ && exchange_.http11 && !exchange_.head) {
      ignore(transmit("0\r\n\r\n"), "the connection is closed then");
    }
    return alive_ && exchange_.keepAlive;
  }

  // After an exception: a stream is cut, so that its end is not taken for a good one.
  void abandon(const std::string& reason) {
    if (state_ == State::kStreaming) {
      alive_ = false;
    }
    send({500, {{"Content-Type", "text/plain"}}, "internal error: " + reason + "\n"});
  }

 private:
  enum class State { kNothing, kStreaming, kDone };

  Result<> transmit(std::string_view bytes) {
    auto written = socket_.write(bytes, Deadline::after(options_.writeTimeout));
    alive_ = alive_ && written;
    return written;
  }

  std::string connectionHeader() const {
    if (!exchange_.keepAlive) {
      return "Connection: close\r\n";
    }
    return exchange_.http11 ? "" : "Connection: keep-alive\r\n";
  }

  static std::string asChunk(std::string_view data) {
    std::array<char, 2 * sizeof(std::size_t)> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), data.size(), 16).ptr;
    std::string chunk(digits.data(), end);
    return chunk.append("\r\n").append(data).append("\r\n");
  }

  const HttpSocket& socket_;
  const HttpServerOptions& options_;
  Exchange exchange_;
  std::stop_token stop_;
  State state_ = State::kNothing;
  bool alive_ = true;
};

class ThreadedServer final : public HttpServer {
 public:
  ThreadedServer(HttpServerOptions options, Handler handler, std::unique_ptr<TlsIdentity> tls,
                 Descriptor listener, Descriptor stopped, int port)
      : options_(std::move(options)),
        handler_(std::move(handler)),
        tls_(std::move(tls)),
        listener_(std::move(listener)),
        stopped_(std::move(stopped)),
        port_(port),
        acceptor_([this] { acceptAll(); }) {}

  ~ThreadedServer() override {
    stop_.request_stop();
    ::eventfd_write(stopped_.get(), 1);
    acceptor_.join();
    for (Connection& connection : connections_) {
      connection.thread.join();
    }
  }

  int port() const override { return port_; }

 private:
  struct Connection {
    std::thread thread;
    std::atomic<bool> done = false;
  };

  void acceptAll() {
    while (!stop_.stop_requested()) {
      pollfd states[] = {{listener_.get(), POLLIN, 0}, {stopped_.get(), POLLIN, 0}};
      if (::poll(states, 2, -1) <= 0 || states[1].revents != 0) {
        continue;
      }
      Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (socket) {
        admit(std::move(socket));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        logWarning("cannot accept a connection", {{"port", port_}, {"error", systemError("accept")}});
        ::poll(&states[1], 1, kAcceptPauseMs);
      }
    }
  }

  void admit(Descriptor socket) {
    connections_.remove_if([](Connection& connection) {
      const bool done = connection.done;
      if (done) {
        connection.thread.join();
      }
      return done;
    });
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connections_.size() >= static_cast<std::size_t>(options_.maxConnections)) {
      refuse(socket);
      return;
    }
    Connection& connection = connections_.emplace_back();
    try {
      connection.thread = std::thread([this, &connection, owned = std::move(socket)]() mutable {
        HttpSocket client(std::move(owned), stopped_.get());
        if (secure(client)) {
          serve(client);
        }
        client.finish();
        connection.done = true;
      });
    } catch (const std::system_error& error) {
      logWarning("cannot start a thread for a connection", {{"port", port_}, {"error", error.what()}});
      connections_.pop_back();
    }
  }

  // Never waits: it is called by the thread that accepts. Under TLS there is nothing to say without waiting.
  void refuse(const Descriptor& socket) const {
    if (tls_) {
      return;
    }
    const std::string body = "too many connections; try again later\n";
    const std::string bytes = formatHead(503, {{"Content-Type", "text/plain"}, {"Retry-After", "1"}},
                                         contentLength(body.size()) + "Connection: close\r\n") +
                              body;
    if (::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
      ::shutdown(socket.get(), SHUT_WR);
    }
  }

  void serve(const HttpSocket& socket) const {
    RequestReader reader(socket, options_);
    for (bool open = true; open && !stop_.stop_requested();) {
      Exchange exchange;
      const auto request = reader.next(exchange);
      if (!request) {
        refuseRequest(socket, request.error());
        break;
      }
      SocketReply reply(socket, options_, exchange, stop_.get_token());
      answer(*request, reply);
      open = reply.finish();
    }
  }

  bool secure(HttpSocket& socket) const {
    const auto agreed = tls_ ? socket.secure(*tls_, Deadline::after(options_.readTimeout)) : Result<>();
    if (!agreed) {
      logDebug("a client was not served", {{"port", port_}, {"error", agreed.error()}});
    }
    return agreed.has_value();
  }

  void refuseRequest(const HttpSocket& socket, const Refusal& refusal) const {
    if (refusal.status != 0) {
      SocketReply reply(socket, options_, {.keepAlive = false}, stop_.get_token());
      reply.send({refusal.status, {{"Content-Type", "text/plain"}}, refusal.reason + "\n"});
    }
  }

  void answer(const HttpRequest& request, SocketReply& reply) const {
    try {
      handler_(request, reply);
    } catch (const std::exception& error) {
      logError("an HTTP handler threw", {{"method", request.method}, {"error", error.what()}});
      reply.abandon(error.what());
    }
  }

  const HttpServerOptions options_;
  const Handler handler_;
  const std::unique_ptr<TlsIdentity> tls_;  // null: plain text
  const Descriptor listener_;
  const Descriptor stopped_;
  const int port_;
  std::stop_source stop_;
  std::list<Connection> connections_;  // touched by the acceptor only, and by the destructor after its end
  std::thread acceptor_;               // last: it uses all of the above
};

Result<Descriptor> listenOn(const addrinfo& address) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return fail(systemError("cannot be used"));
  }
  return socket;
}

int portOf(const Descriptor& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::listen(HttpServerOptions options, Handler handler) {
  const std::string where = "listening on " + options.address + " port " + std::to_string(options.port);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int problem =
          ::getaddrinfo(options.address.c_str(), std::to_string(options.port).c_str(), &hints, &found)) {
    return fail(
        Error(Code::kInvalidArgument, std::string("not an address: ") + ::gai_strerror(problem)).with(where));
  }
  auto listener = listenOn(*found);
  ::freeaddrinfo(found);
  if (!listener) {
    return fail(std::move(listener).error().with(where));
  }
  Descriptor stopped(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stopped) {
    return fail(systemError("making an eventfd").with(where));
  }
  std::unique_ptr<TlsIdentity> tls;
  if (!options.tls.certificate.empty()) {
    MAINSTAY_ASSIGN(tls, TlsIdentity::load(options.tls));
  }
  const int port = portOf(*listener);
  return std::make_unique<ThreadedServer>(std::move(options), std::move(handler), std::move(tls),
                                          *std::move(listener), std::move(stopped), port);
}

}  // namespace mainstay
