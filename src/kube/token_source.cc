#include "kube/token_source.h"

#include "base/log.h"

namespace mainstay::kube {
namespace {

// client-go's period; the kubelet renews a token at 80 % of its life, which is 10 minutes at least.
constexpr Duration kTokenAge = std::chrono::minutes(1);
constexpr std::size_t kMaxTokenFile = 64 << 10;

std::string trimmedToken(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

}  // namespace

TokenSource::TokenSource(const FileSystem& files, std::string token, std::string file)
    : files_(files), file_(std::move(file)), token_(std::move(token)) {}

Result<Credential> TokenSource::current(TimePoint now) {
  std::lock_guard lock(mutex_);
  if (!file_.empty() && (!readAt_ || now - *readAt_ >= kTokenAge)) {
    if (Result<> read = readFile(now); !read) {
      if (token_.empty()) {
        return fail(std::move(read).error());
      }
      readAt_ = now;
      logWarning("token file cannot be read; going on with the token read before",
                 {{"file", file_}, {"error", read.error()}});
    }
  }
  return Credential{.token = token_};
}

bool TokenSource::refresh(const Credential& used, TimePoint now) {
  std::lock_guard lock(mutex_);
  if (file_.empty()) {
    return false;
  }
  ignore(readFile(now), "the 401 that led here is the better error");
  return token_ != used.token;
}

Result<> TokenSource::readFile(TimePoint now) {
  Result<std::string> text = files_.read(file_, kMaxTokenFile);
  if (!text) {
    return fail(std::move(text).error().with("reading the API server's token file"));
  }
  std::string token = trimmedToken(*text);
  if (token.empty() || token.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return fail(Code::kInvalidArgument, "token file " + file_ + ": expected one line with a token, found " +
                                            (token.empty() ? "nothing" : "something else"));
  }
  token_ = std::move(token);
  readAt_ = now;
  return {};
}

}  // namespace mainstay::kube
