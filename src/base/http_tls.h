// TLS under HttpServer's connections (OpenSSL): the certificate of the moment, and a session that never blocks.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

struct ssl_ctx_st;
struct ssl_st;

namespace mainstay {

// Files in PEM. A certificate with its chain, its key, and the CA whose clients are let in.
struct TlsFiles {
  std::string certificate = {};  // "" = plain text
  std::string key = {};
  std::string clientCa = {};  // "" = every client
};

// What a step of a session came to: bytes moved, or what to poll(2) the socket for before the same step is
// tried again.
struct TlsStep {
  std::size_t count = 0;
  short waitFor = 0;  // POLLIN, POLLOUT; 0 = done
};

// One connection's TLS, server side, at least 1.2. Used by the connection's thread.
class TlsSession {
 public:
  // `socket` is non-blocking and outlives this.
  TlsSession(ssl_ctx_st& context, int socket);

  Result<TlsStep> accept();
  // Done with count 0: the client has closed its side.
  Result<TlsStep> read(void* data, std::size_t size);
  Result<TlsStep> write(std::string_view bytes);
  // Bytes that have left the socket already wait to be read.
  bool pending() const;
  // Tells the client that nothing more comes, as far as that goes without waiting.
  void close();

 private:
  struct Free {
    void operator()(ssl_st* session) const;
  };
  Result<TlsStep> stepOf(int answer, std::size_t count, std::string_view what);

  std::unique_ptr<ssl_st, Free> session_;
  bool broken_ = false;  // OpenSSL forbids to close such a session
};

// Thread-safe.
class TlsIdentity {
 public:
  // kInvalidArgument names the file that cannot be used.
  static Result<std::unique_ptr<TlsIdentity>> load(const TlsFiles& files);
  ~TlsIdentity();

  // For a connection that has just come. Files that have changed are loaded first; while they cannot be used,
  // what was loaded before stands, and a warning says why.
  TlsSession session(int socket);

 private:
  explicit TlsIdentity(TlsFiles files);
  Result<> reload();

  const TlsFiles files_;
  std::mutex mutex_;
  std::string seen_;                     // guarded by mutex_: which state of the files was tried last
  std::shared_ptr<ssl_ctx_st> context_;  // guarded by mutex_; sessions hold what they use
};

}  // namespace mainstay
