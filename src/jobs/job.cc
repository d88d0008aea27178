#include "jobs/job.h"

#include <charconv>

#include "api/names.h"

namespace mainstay::jobs {
namespace {

constexpr int kMostRetries = 1'000'000;

// A positive integer, or nullopt.
std::optional<int> parseCount(const std::string& text) {
  int count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  const bool good = error == std::errc() && stop == end && count > 0 && count <= kMostRetries;
  return good ? std::optional(count) : std::nullopt;
}

std::string wrongValue(const char* key, const std::string& found, const char* expected) {
  const std::string what = found.empty() ? "is missing" : "is \"" + found.substr(0, 64) + "\"";
  return std::string("annotation ") + key + " " + what + ", expected " + expected;
}

}  // namespace

int Job::podCount() const {
  int count = 0;
  for (const Replica& replica : replicas) {
    count += replica.count;
  }
  return count;
}

OptIn optInOf(const Job& job) {
  OptIn optIn;
  const std::string& enable = job.meta.annotation(api::kAutoResumeAnnotation);
  if (enable.empty() || enable == "false") {
    return optIn;
  }
  if (enable != "true") {
    optIn.error = wrongValue(api::kAutoResumeAnnotation, enable, "\"true\" or \"false\"");
    return optIn;
  }
  const std::string& retries = job.meta.annotation(api::kMaxRetryAnnotation);
  if (const auto count = parseCount(retries)) {
    optIn.enabled = true;
    optIn.maxRetries = *count;
  } else {
    optIn.error = wrongValue(api::kMaxRetryAnnotation, retries, "a positive integer such as \"2\"");
  }
  return optIn;
}

}  // namespace mainstay::jobs
