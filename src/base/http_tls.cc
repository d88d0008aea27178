#include "base/http_tls.h"

#include <poll.h>
#include <sys/stat.h>

#include <csignal>
#include <new>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/log.h"

namespace mainstay {

namespace {

// Takes the oldest of OpenSSL's queue, which is nearest to the cause, and empties it.
std::string tlsProblem() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

// Changes when a file is replaced or written to; a Secret's files are symbolic links that are switched.
std::string stateOf(const TlsFiles& files) {
  std::string state;
  for (const std::string& path : {files.certificate, files.key, files.clientCa}) {
    struct stat status {};
    if (!path.empty() && ::stat(path.c_str(), &status) == 0) {
      state += std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + ":" +
               std::to_string(status.st_size) + ":" + std::to_string(status.st_mtim.tv_sec) + "." +
               std::to_string(status.st_mtim.tv_nsec);
    }
    state += "/";
  }
  return state;
}

Result<> unusable(const char* what, const std::string& path) {
  return fail(Code::kInvalidArgument,
              std::string("the TLS ") + what + " " + path + " cannot be used: " + tlsProblem());
}

// A key with a pass phrase would make OpenSSL ask at the terminal.
int noPassPhrase(char*, int, int, void*) {
  return -1;
}

Result<std::shared_ptr<SSL_CTX>> loadContext(const TlsFiles& files) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) {
    throw std::bad_alloc();
  }
  SSL_CTX* const raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(raw, 0);  // few clients, long connections: nothing to resume
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_default_passwd_cb(raw, noPassPhrase);
  if (SSL_CTX_use_certificate_chain_file(raw, files.certificate.c_str()) != 1) {
    MAINSTAY_TRY(unusable("certificate", files.certificate));
  }
  if (SSL_CTX_use_PrivateKey_file(raw, files.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(raw) != 1) {
    MAINSTAY_TRY(unusable("private key", files.key));
  }
  if (!files.clientCa.empty()) {
    if (SSL_CTX_load_verify_locations(raw, files.clientCa.c_str(), nullptr) != 1) {
      MAINSTAY_TRY(unusable("client CA", files.clientCa));
    }
    SSL_CTX_set_client_CA_list(raw, SSL_load_client_CA_file(files.clientCa.c_str()));
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

}  // namespace

void TlsSession::Free::operator()(ssl_st* session) const {
  SSL_free(session);
}

TlsSession::TlsSession(ssl_ctx_st& context, int socket) : session_(SSL_new(&context)) {
  if (!session_ || SSL_set_fd(session_.get(), socket) != 1) {
    throw std::bad_alloc();
  }
}

Result<TlsStep> TlsSession::accept() {
  return stepOf(SSL_accept(session_.get()), 0, "TLS could not be agreed");
}

Result<TlsStep> TlsSession::read(void* data, std::size_t size) {
  std::size_t count = 0;
  const int answer = SSL_read_ex(session_.get(), data, size, &count);
  return stepOf(answer, count, "reading from the client");
}

Result<TlsStep> TlsSession::write(std::string_view bytes) {
  std::size_t count = 0;
  const int answer = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count);
  return stepOf(answer, count, "writing to the client");
}

bool TlsSession::pending() const {
  return SSL_pending(session_.get()) > 0;
}

void TlsSession::close() {
  if (!broken_ && SSL_is_init_finished(session_.get()) == 1) {
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
}

Result<TlsStep> TlsSession::stepOf(int answer, std::size_t count, std::string_view what) {
  if (answer > 0) {
    return TlsStep{count, 0};
  }
  switch (SSL_get_error(session_.get(), answer)) {
    case SSL_ERROR_WANT_READ:
      return TlsStep{0, POLLIN};
    case SSL_ERROR_WANT_WRITE:
      return TlsStep{0, POLLOUT};
    case SSL_ERROR_ZERO_RETURN:
      return TlsStep{};
    default:
      broken_ = true;
      const bool plain = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
      const std::string problem = tlsProblem();
      return fail(plain ? Code::kInvalidArgument : Code::kUnavailable, std::string(what) + ": " + problem);
  }
}

TlsIdentity::TlsIdentity(TlsFiles files) : files_(std::move(files)) {}
TlsIdentity::~TlsIdentity() = default;

Result<std::unique_ptr<TlsIdentity>> TlsIdentity::load(const TlsFiles& files) {
  if (files.key.empty()) {
    return fail(Code::kInvalidArgument,
                "the TLS certificate " + files.certificate + " needs its private key");
  }
  // OpenSSL writes without MSG_NOSIGNAL: a client that closes must be an error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<TlsIdentity> identity(new TlsIdentity(files));
  MAINSTAY_TRY(identity->reload());
  return identity;
}

TlsSession TlsIdentity::session(int socket) {
  const std::lock_guard lock(mutex_);
  if (stateOf(files_) != seen_) {
    if (const Result<> loaded = reload(); !loaded) {
      logWarning("changed TLS files cannot be used; going on with those of before",
                 {{"error", loaded.error()}});
    } else {
      logInfo("TLS certificate loaded anew", {{"file", files_.certificate}});
    }
  }
  return {*context_, socket};
}

// The state is noted before the files are read: what changes meanwhile is seen the next time.
Result<> TlsIdentity::reload() {
  seen_ = stateOf(files_);
  MAINSTAY_ASSIGN(context_, loadContext(files_));
  return {};
}

}  // namespace mainstay
