#include "base/http_client.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <csignal>
#include <mutex>
#include <new>
#include <vector>

#include <curl/curl.h>

namespace mainstay {

namespace {

constexpr std::size_t kMaxIdleSessions = 16;  // more than the loops of one program that call at the same time
constexpr std::size_t kMaxHeadBytes = 256u << 10;  // curl's own limit in later releases is 300 KiB
constexpr long kKeepConnectionSeconds = 60L * 60;  // curl's 118 s is less than the pause between some calls
constexpr Duration kLongestPoll = std::chrono::hours(1);  // curl knows no endless one
constexpr long kTcpKeepAliveSeconds = 30;                 // finds a peer that vanished under a quiet watch

template <auto Free>
struct CurlDeleter {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
using UrlHandle = std::unique_ptr<CURLU, CurlDeleter<curl_url_cleanup>>;
using StringList = std::unique_ptr<curl_slist, CurlDeleter<curl_slist_free_all>>;

void initialiseCurl() {
  static const bool done = [] {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    // OpenSSL writes without MSG_NOSIGNAL: a peer that closes must be an error, not the end of the process.
    std::signal(SIGPIPE, SIG_IGN);
    return true;
  }();
  static_cast<void>(done);
}

// Where a request goes, taken apart.
struct Destination {
  std::string url;
  std::string
      origin;  // "https://host:port": all of the URL that errors show; paths and queries may hold secrets
  std::string host;  // "host:port"
  bool loopback = false;
  bool renamed = false;  // the URL names another host than the one to connect to, for the sake of TLS
};

std::string urlPart(const UrlHandle& url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) {
    return "";
  }
  std::string copy = text;
  curl_free(text);
  return copy;
}

bool isLoopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "[::1]";
}

Result<Destination> destinationOf(const std::string& target, const std::string& serverName) {
  UrlHandle url{curl_url()};
  if (const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, target.c_str(), CURLU_PATH_AS_IS)) {
    return fail(Code::kInvalidArgument, std::string("not a URL to call: ") + curl_url_strerror(code));
  }
  Destination destination;
  const std::string host = urlPart(url, CURLUPART_HOST);
  destination.host = host + ":" + urlPart(url, CURLUPART_PORT);
  destination.origin = urlPart(url, CURLUPART_SCHEME) + "://" + destination.host;
  destination.loopback = isLoopback(host);
  if (!serverName.empty() && serverName != host) {
    destination.renamed = true;
    if (const CURLUcode code = curl_url_set(url.get(), CURLUPART_HOST, serverName.c_str(), 0)) {
      return fail(Code::kInvalidArgument,
                  "not a TLS server name: " + serverName + ": " + curl_url_strerror(code));
    }
  }
  destination.url = urlPart(url, CURLUPART_URL);
  return destination;
}

// One call under way: what has come, and who is told.
struct Transfer {
  std::function<bool(const HttpResponse&)> onHead;
  std::function<bool(std::string_view)> onData;
  Duration idleLimit = Duration::max();
  CURL* easy = nullptr;
  HttpResponse response = {};
  std::size_t headBytes = 0;
  bool headDone = false;
  std::optional<Error> refused = {};  // why we ended it ourselves
  Deadline idle = Deadline::never();

  void somethingCame() {
    idle = idleLimit == Duration::max() ? Deadline::never() : Deadline::after(idleLimit);
  }

  bool refuse(Code code, std::string why) {
    refused.emplace(code, std::move(why));
    return false;
  }

  // False ends the call.
  bool takeHeaderLine(std::string_view line) {
    somethingCame();
    headBytes += line.size();
    if (headBytes > kMaxHeadBytes) {
      return refuse(Code::kResourceExhausted,
                    "the answer's header is larger than " + std::to_string(kMaxHeadBytes));
    }
    line = line.substr(0, line.find_last_not_of("\r\n") + 1);
    if (headDone) {
      return true;  // a trailer
    }
    if (line.empty()) {
      return endHead();
    }
    if (const std::size_t colon = line.find(':'); colon != line.npos && !line.starts_with("HTTP/")) {
      const std::size_t start = std::min(line.size(), line.find_first_not_of(" \t", colon + 1));
      std::string& value = response.headers[std::string(line.substr(0, colon))];
      value += (value.empty() ? "" : ", ") + std::string(line.substr(start));
    }
    return true;
  }

  bool takeData(std::string_view data) {
    somethingCame();
    return onData(data) || refused || refuse(Code::kCancelled, "the caller ended the call");
  }

 private:
  bool endHead() {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    response.status = static_cast<int>(status);
    if (status < 200) {
      response.headers.clear();  // "100 Continue": the answer proper follows
      return true;
    }
    headDone = true;
    return onHead(response) || refuse(Code::kCancelled, "the caller ended the call");
  }
};

std::size_t onCurlHeader(char* data, std::size_t size, std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->takeHeaderLine({data, size * count}) ? size * count : 0;
}

std::size_t onCurlData(char* data, std::size_t size, std::size_t count, void* transfer) {
  return static_cast<Transfer*>(transfer)->takeData({data, size * count}) ? size * count
                                                                          : CURL_WRITEFUNC_ERROR;
}

// What a person can do about curl's errors, the ones that happen in practice.
struct Trouble {
  CURLcode curl;
  Code code;
  std::string_view what;
  std::string_view check;
};
constexpr Trouble kTroubles[] = {
    {CURLE_URL_MALFORMAT, Code::kInvalidArgument, "not a URL to call", "the URL"},
    {CURLE_UNSUPPORTED_PROTOCOL, Code::kInvalidArgument, "not an http or https URL", "the URL"},
    {CURLE_COULDNT_RESOLVE_HOST, Code::kUnavailable, "the name could not be resolved",
     "the host name and DNS"},
    {CURLE_COULDNT_RESOLVE_PROXY, Code::kUnavailable, "the proxy's name could not be resolved",
     "the variables http_proxy, https_proxy and no_proxy"},
    {CURLE_PROXY, Code::kUnavailable, "the proxy refused",
     "the variables http_proxy, https_proxy and no_proxy"},
    {CURLE_COULDNT_CONNECT, Code::kUnavailable, "no connection",
     "that the server runs, its address and port, firewalls and network policies"},
    {CURLE_OPERATION_TIMEDOUT, Code::kUnavailable, "no connection in time",
     "that the server runs, its address and port, firewalls and network policies"},
    {CURLE_PEER_FAILED_VERIFICATION, Code::kUnavailable, "the server's certificate is not trusted",
     "the CA certificates, the host name in the certificate, and both clocks"},
    {CURLE_SSL_CONNECT_ERROR, Code::kUnavailable, "TLS could not be agreed",
     "that the server speaks TLS on this port and accepts our client certificate"},
    {CURLE_SSL_CERTPROBLEM, Code::kInvalidArgument, "our client certificate or key cannot be used",
     "that both are PEM and belong together"},
    {CURLE_SSL_CACERT_BADFILE, Code::kInvalidArgument, "our CA certificates cannot be used",
     "that they are PEM"},
    {CURLE_GOT_NOTHING, Code::kUnavailable, "the connection was closed without an answer",
     "the server's log"},
    {CURLE_RECV_ERROR, Code::kUnavailable, "the connection broke", "the server's log and the network"},
    {CURLE_SEND_ERROR, Code::kUnavailable, "the connection broke", "the server's log and the network"},
    {CURLE_PARTIAL_FILE, Code::kUnavailable, "the connection was closed inside the answer",
     "the server's log"},
};

Error explain(CURLcode curl, std::string_view detail) {
  const auto* known = std::find_if(std::begin(kTroubles), std::end(kTroubles),
                                   [&](const Trouble& t) { return t.curl == curl; });
  const std::string because = detail.empty() ? curl_easy_strerror(curl) : std::string(detail);
  if (known == std::end(kTroubles)) {
    return {Code::kUnavailable, because};
  }
  return {known->code, std::string(known->what) + " (" + because + "); check " + std::string(known->check)};
}

bool isToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

// Sets one request up on a handle; remembers the first option that was refused.
class Setup {
 public:
  Setup(CURL* easy, const HttpClientOptions& options) : easy_(easy), options_(options) {
    curl_easy_reset(easy);
  }

  Result<> apply(const HttpRequest& request, const Destination& destination, Transfer& transfer) {
    if (!isToken(request.method)) {
      return fail(Code::kInvalidArgument, "not an HTTP method: " + request.method);
    }
    set(CURLOPT_URL, destination.url.c_str());
    set(CURLOPT_ERRORBUFFER, errorText_.data());
    setConnection(destination);
    setTls();
    setMethod(request);
    MAINSTAY_TRY(setHeaders(request, destination));
    if (request.awsSignature) {
      MAINSTAY_TRY(setSignature(*request.awsSignature));
    }
    set(CURLOPT_HEADERFUNCTION, &onCurlHeader);
    set(CURLOPT_HEADERDATA, &transfer);
    set(CURLOPT_WRITEFUNCTION, &onCurlData);
    set(CURLOPT_WRITEDATA, &transfer);
    if (refused_ != CURLE_OK) {
      return fail(Code::kInternal, std::string("libcurl refused an option: ") + curl_easy_strerror(refused_));
    }
    return {};
  }

  std::string_view errorText() const { return errorText_.data(); }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy_, option, value);
    refused_ = refused_ == CURLE_OK ? code : refused_;
  }

  void setConnection(const Destination& destination) {
    const auto connectTimeout = std::chrono::ceil<std::chrono::milliseconds>(options_.connectTimeout).count();
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION,
        static_cast<long>(CURL_HTTP_VERSION_1_1));  // one send per request: faster than 2
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a name that does not resolve must not hold up a stop
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(connectTimeout));
    set(CURLOPT_MAXAGE_CONN, kKeepConnectionSeconds);
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_TCP_KEEPIDLE, kTcpKeepAliveSeconds);
    set(CURLOPT_TCP_KEEPINTVL, kTcpKeepAliveSeconds);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (!options_.useProxyEnvironment || destination.loopback) {
      set(CURLOPT_PROXY, "");
    }
    if (destination.renamed) {
      connectTo_.reset(curl_slist_append(nullptr, ("::" + destination.host).c_str()));
      set(CURLOPT_CONNECT_TO, connectTo_.get());
    }
  }

  void setTls() {
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, options_.verifyTls ? 1L : 0L);
    set(CURLOPT_SSL_VERIFYHOST, options_.verifyTls ? 2L : 0L);
    if (!options_.caCertificates.empty()) {
      setPem(CURLOPT_CAINFO_BLOB, options_.caCertificates);
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // these and no others
    }
    if (!options_.clientCertificate.empty()) {
      setPem(CURLOPT_SSLCERT_BLOB, options_.clientCertificate);
      setPem(CURLOPT_SSLKEY_BLOB, options_.clientKey);
    }
  }

  void setPem(CURLoption option, const std::string& pem) {
    // Not written to: libcurl's struct has no const.
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
    set(option, &blob);
  }

  void setMethod(const HttpRequest& request) {
    const std::string& method = request.method;
    if (method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
      return;
    }
    if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.c_str());
    }
    set(CURLOPT_CUSTOMREQUEST, method.c_str());
  }

  Result<> setHeaders(const HttpRequest& request, const Destination& destination) {
    set(CURLOPT_USERAGENT, options_.userAgent.c_str());
    if (!request
             .awsSignature) {  // curl would sign the empty line and not send it; bodies that AWS takes are too small
      addHeader("Expect:");  // it would cost a round trip, or a second where the server does not know it
    }
    if (!request.headers.contains("Content-Type")) {
      addHeader("Content-Type:");  // curl would call every body a form
    }
    if (destination.renamed && !request.headers.contains("Host")) {
      addHeader("Host: " + destination.host);
    }
    for (const auto& [name, value] : request.headers) {
      if (!isToken(name) || value.find_first_of(std::string_view("\r\n\0", 3)) != value.npos) {
        return fail(Code::kInvalidArgument,
                    "header " + name + " has a line break or a name that HTTP does not allow");
      }
      addHeader(value.empty() ? name + ";"
                              : name + ": " + value);  // ";" is curl's way to send an empty value
    }
    set(CURLOPT_HTTPHEADER, headers_.get());
    return {};
  }

  Result<> setSignature(const AwsSignature& signature) {
    if (!isToken(signature.region) || !isToken(signature.service)) {
      return fail(Code::kInvalidArgument, "the AWS region or service to sign for is not a plain word");
    }
    set(CURLOPT_AWS_SIGV4, ("aws:amz:" + signature.region + ":" + signature.service).c_str());
    set(CURLOPT_USERNAME, signature.accessKeyId.c_str());
    set(CURLOPT_PASSWORD, signature.secretAccessKey.c_str());
    return {};
  }

  void addHeader(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) {
      throw std::bad_alloc();
    }
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  }

  CURL* easy_;
  const HttpClientOptions& options_;
  CURLcode refused_ = CURLE_OK;
  StringList headers_;
  StringList connectTo_;
  std::array<char, CURL_ERROR_SIZE> errorText_{};
};

// Waits for the transfer's end; curl's own result, or why we did not wait for it.
Result<CURLcode> awaitEnd(CURLM* multi, const Transfer& transfer, const Deadline& deadline,
                          const std::stop_token& stop) {
  const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
  for (;;) {
    if (stop.stop_requested()) {
      return fail(Code::kCancelled, "asked to stop");
    }
    int running = 0;
    if (const CURLMcode code = curl_multi_perform(multi, &running)) {
      return fail(Code::kInternal, curl_multi_strerror(code));
    }
    int left = 0;
    if (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      return message->data.result;
    }
    if (deadline.expired()) {
      return fail(Code::kDeadlineExceeded,
                  "no whole answer in time; check the server's load and the network");
    }
    if (transfer.idle.expired()) {
      return fail(Code::kDeadlineExceeded, "nothing came for " + formatDuration(transfer.idleLimit));
    }
    const Duration wait = std::min({deadline.left(), transfer.idle.left(), kLongestPoll});
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(wait).count();
    curl_multi_poll(multi, nullptr, 0, static_cast<int>(milliseconds), nullptr);
  }
}

}  // namespace

Duration RetryPolicy::waitBefore(int next, double random, std::optional<Duration> retryAfter) const {
  const double grown = static_cast<double>(firstWait.count()) * std::pow(factor, std::max(0, next - 2));
  const double capped = std::min(grown, static_cast<double>(maxWait.count()));
  const Duration wait(static_cast<Duration::rep>(capped * (1 - jitter + jitter * random)));
  return std::max(wait, retryAfter.value_or(Duration::zero()));
}

struct HttpClient::Impl {
  // A handle for one call at a time, with the connections it keeps open between calls.
  struct Session {
    CURLM* const multi = curl_multi_init();
    CURL* const easy = curl_easy_init();

    Session() {
      if (multi == nullptr || easy == nullptr) {
        throw std::bad_alloc();
      }
    }
    ~Session() {
      curl_easy_cleanup(easy);
      curl_multi_cleanup(multi);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
  };

  const HttpClientOptions options;
  std::mutex mutex = {};
  std::vector<std::unique_ptr<Session>> idle =
      {};  // guarded by mutex; the last used is the first taken: it is warm

  std::unique_ptr<Session> take() {
    const std::lock_guard lock(mutex);
    if (idle.empty()) {
      return std::make_unique<Session>();
    }
    auto session = std::move(idle.back());
    idle.pop_back();
    return session;
  }

  void giveBack(std::unique_ptr<Session> session) {
    const std::lock_guard lock(mutex);
    if (idle.size() < kMaxIdleSessions) {
      idle.push_back(std::move(session));
    }
  }

  Result<> call(const HttpRequest& request, Transfer& transfer, const Deadline& deadline,
                const std::stop_token& stop) {
    auto destination = destinationOf(request.target, options.serverName);
    if (!destination) {
      return fail(std::move(destination).error().with(request.method));
    }
    auto session = take();
    auto outcome = perform(*session, request, *destination, transfer, deadline, stop);
    giveBack(std::move(session));
    if (!outcome) {
      return fail(std::move(outcome).error().with(request.method + " " + destination->origin));
    }
    return {};
  }

 private:
  Result<> perform(Session& session, const HttpRequest& request, const Destination& destination,
                   Transfer& transfer, const Deadline& deadline, const std::stop_token& stop) const {
    CURL* easy = session.easy;
    CURLM* multi = session.multi;
    Setup setup(easy, options);
    MAINSTAY_TRY(setup.apply(request, destination, transfer));
    transfer.easy = easy;
    transfer.somethingCame();
    curl_multi_add_handle(multi, easy);
    const auto end = awaitEnd(multi, transfer, deadline, stop);
    curl_multi_remove_handle(multi, easy);  // closes the connection of a call that has not ended
    if (transfer.refused) {
      return fail(*transfer.refused);
    }
    if (!end) {
      return fail(end.error());
    }
    return *end == CURLE_OK ? Result<>() : fail(explain(*end, setup.errorText()));
  }
};

HttpClient::HttpClient(HttpClientOptions options) {
  initialiseCurl();
  impl_ = std::make_unique<Impl>(std::move(options));
}

HttpClient::~HttpClient() = default;

Result<HttpResponse> HttpClient::send(const HttpRequest& request, Deadline deadline, std::stop_token stop) {
  Transfer transfer;
  std::string body;
  transfer.onHead = [](const HttpResponse&) { return true; };
  transfer.onData = [&](std::string_view data) {
    if (data.size() > impl_->options.maxBody - body.size()) {
      const std::string limit = std::to_string(impl_->options.maxBody);
      return transfer.refuse(Code::kResourceExhausted,
                             "the answer is larger than the limit of " + limit + " bytes");
    }
    body += data;
    return true;
  };
  MAINSTAY_TRY(impl_->call(request, transfer, deadline, stop));
  transfer.response.body = std::move(body);
  return std::move(transfer.response);
}

Result<> HttpClient::stream(const HttpRequest& request, std::function<bool(const HttpResponse&)> onHead,
                            std::function<bool(std::string_view)> onData, Duration idleLimit,
                            std::stop_token stop) {
  Transfer transfer;
  transfer.onHead = std::move(onHead);
  transfer.onData = std::move(onData);
  transfer.idleLimit = idleLimit;
  return impl_->call(request, transfer, Deadline::never(), stop);
}

}  // namespace mainstay
