#include "kube/http_watch.h"

#include <pthread.h>

#include <charconv>

namespace mainstay::kube {
namespace {

// Objects are at most 1.5 MiB in etcd; a server-side copy with managed fields in JSON stays well below this.
constexpr std::size_t kMaxLine = 8 << 20;
// Events that wait for the loop; beyond it the connection fills up and the server waits.
constexpr std::size_t kMaxWaiting = 256;
constexpr std::size_t kMaxRefusal = 64 << 10;

std::optional<WatchEvent::Type> typeOf(std::string_view name) {
  if (name == "ADDED") {
    return WatchEvent::Type::kAdded;
  }
  if (name == "MODIFIED") {
    return WatchEvent::Type::kModified;
  }
  if (name == "DELETED") {
    return WatchEvent::Type::kDeleted;
  }
  if (name == "BOOKMARK") {
    return WatchEvent::Type::kBookmark;
  }
  return std::nullopt;
}

// The error in an ERROR event, whose object is a Status. An unknown kind of event ends the stream the same
// way.
Error errorEvent(const Json& event) {
  if (findString(event, "type") != "ERROR") {
    return Error(Code::kUnavailable, "the watch brought a line that is not a watch event");
  }
  const Json* status = find(event, "object");
  const Json* code = find(event, "object", "code");
  const int number = code && code->is_int64() ? static_cast<int>(code->get_int64() % 1000) : 500;
  return statusError(number, status ? *status : Json(), std::nullopt);
}

std::optional<Duration> retryAfterHeader(const HttpHeaders& headers) {
  const auto header = headers.find("Retry-After");
  int seconds = 0;
  if (header == headers.end() ||
      std::from_chars(header->second.data(), header->second.data() + header->second.size(), seconds).ec !=
          std::errc() ||
      seconds <= 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(std::min(seconds, 3600));
}

}  // namespace

Error responseError(const HttpResponse& response) {
  const Result<Json> body = parseJson(response.body);
  return statusError(response.status, body ? *body : Json(response.body), retryAfterHeader(response.headers));
}

HttpWatch::HttpWatch(std::shared_ptr<HttpClient> client, HttpRequest request, Duration idleLimit,
                     std::string name, Signal& signal)
    : signal_(signal), events_(kMaxWaiting) {
  reader_ = std::jthread([this, client = std::move(client), idleLimit, request = std::move(request),
                          name = name.substr(0, 15)](std::stop_token stop) {
    pthread_setname_np(pthread_self(), name.c_str());
    run(*client, request, idleLimit, stop);
  });
}

Result<> HttpWatch::awaitHead(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, deadline.left(), [&] { return state_ != State::kOpening; })) {
    return fail(Code::kDeadlineExceeded, "the server did not begin to answer the watch");
  }
  if (state_ == State::kEnded && events_.size() == 0) {
    return fail(*end_);
  }
  return {};
}

Result<std::vector<WatchEvent>> HttpWatch::poll() {
  // Looked at in this order: what came before the end is handed out before the end is told.
  const bool ended = events_.closed();
  std::vector<WatchEvent> events = events_.drain();
  if (events.empty() && ended) {
    std::lock_guard lock(mutex_);
    return fail(*end_);
  }
  return events;
}

void HttpWatch::run(HttpClient& client, const HttpRequest& request, Duration idleLimit,
                    std::stop_token stop) {
  const Result<> streamed = client.stream(
      request, [this](const HttpResponse& head) { return onHead(head); },
      [&](std::string_view data) { return onData(data, stop); }, idleLimit, stop);
  {
    std::lock_guard lock(mutex_);
    end_ = howItEnded(streamed);
    state_ = State::kEnded;
  }
  events_.close();
  changed_.notify_all();
  signal_.notify();
}

Error HttpWatch::howItEnded(const Result<>& streamed) const {
  if (verdict_) {
    return *verdict_;
  }
  if (!streamed) {
    return Error(Code::kUnavailable, "the watch broke: " + streamed.error().toString());
  }
  if (refused_.status != 200) {
    return responseError(refused_);
  }
  return Error(Code::kUnavailable, "the server ended the watch");
}

bool HttpWatch::onHead(const HttpResponse& head) {
  refused_ = head;
  if (head.status == 200) {
    std::lock_guard lock(mutex_);
    state_ = State::kOpen;
    changed_.notify_all();
  }
  return true;
}

bool HttpWatch::onData(std::string_view data, std::stop_token stop) {
  if (refused_.status != 200) {
    refused_.body += data.substr(0, kMaxRefusal - std::min(kMaxRefusal, refused_.body.size()));
    return true;
  }
  while (!data.empty()) {
    const std::size_t end = data.find('\n');
    partial_ += data.substr(0, end);
    if (partial_.size() > kMaxLine) {
      return refuse(Error(Code::kResourceExhausted, "the watch brought a line longer than 8 MiB"));
    }
    if (end == std::string_view::npos) {
      return true;
    }
    data.remove_prefix(end + 1);
    if (!onLine(std::exchange(partial_, {}), stop)) {
      return false;
    }
  }
  return true;
}

bool HttpWatch::onLine(std::string_view line, std::stop_token stop) {
  if (line.empty() || line == "\r") {
    return true;
  }
  Result<Json> event = parseJson(line);
  if (!event) {
    return refuse(std::move(event).error().with("reading a watch event"));
  }
  const std::optional<WatchEvent::Type> type = typeOf(findString(*event, "type"));
  Json* object = event->is_object() ? event->get_object().if_contains("object") : nullptr;
  if (!type || !object || !object->is_object()) {
    return refuse(errorEvent(*event));
  }
  if (!events_.push({.type = *type, .object = std::move(*object)}, stop)) {
    return false;
  }
  signal_.notify();
  return true;
}

bool HttpWatch::refuse(Error error) {
  verdict_ = std::move(error);
  return false;
}

}  // namespace mainstay::kube
