#include "kube/events.h"

#include <array>
#include <charconv>
#include <functional>

namespace mainstay::kube {
namespace {

constexpr Duration kSameEventFor = std::chrono::minutes(10);  // client-go's aggregation interval
// The API's bound of 1,024 bytes is only for Events with eventTime, which client-go's recorder does not set
// either.
constexpr std::size_t kMaxMessage = 16u << 10;
constexpr std::size_t kMaxSubjectInName = 200;  // of the 253 that a name may have

// At most `limit` bytes, not ending within a character.
std::string cutText(const std::string& text, std::size_t limit) {
  if (text.size() <= limit) {
    return text;
  }
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

std::string hexText(std::uint64_t value) {
  std::array<char, 16> digits;
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), value, 16);
  return std::string(digits.begin(), end);
}

}  // namespace

EventRecorder::EventRecorder(Api& api, std::string component, std::string host, FloodControl floods)
    : api_(api), component_(std::move(component)), host_(std::move(host)), floods_(floods) {}

Result<> EventRecorder::record(const EventSubject& subject, const std::string& type,
                               const std::string& reason, const std::string& message, TimePoint now,
                               std::optional<TimePoint> happened) {
  const auto verdict = correlator_.observe(subject, {type, reason, message}, now);
  const std::string text = cutText(verdict.message, kMaxMessage);
  Seen* seen = seen_.find(verdict.key);
  if (seen && now - seen->last >= kSameEventFor) {
    seen_.erase(verdict.key);
    seen = nullptr;
  }
  if (verdict.spam && floods_ == FloodControl::kRecorder) {
    if (seen) {
      ++seen->count;
    }
    return {};
  }
  if (seen) {
    Result<> repeated = repeat(*seen, text, now, happened.value_or(now));
    if (repeated || repeated.error().code() != Code::kNotFound) {
      return repeated;
    }
    seen_.erase(verdict.key);
  }
  MAINSTAY_ASSIGN(Seen created, first(subject, {type, reason, text}, now, happened.value_or(now)));
  seen_.get(verdict.key) = std::move(created);
  return {};
}

Result<> EventRecorder::repeat(Seen& seen, const std::string& message, TimePoint now, TimePoint happened) {
  JsonObject change{{"count", seen.count + 1}, {"lastTimestamp", formatTime(happened)}};
  if (message != seen.message) {
    change["message"] = message;
  }
  MAINSTAY_TRY(patch(api_, api::kEvents, seen.ns, seen.name, Body::kMergePatch, change, component_));
  ++seen.count;
  seen.last = now;
  seen.message = message;
  return {};
}

Result<EventRecorder::Seen> EventRecorder::first(const EventSubject& subject, const EventText& text,
                                                 TimePoint now, TimePoint happened) {
  // An Event about a cluster-scoped object lives in "default"; the API server insists.
  // Two programs may speak about one subject in the same microsecond.
  const std::uint64_t speaker = std::hash<std::string>()(component_ + "/" + host_) & 0xFFFF;
  Seen seen{.ns = subject.ns.empty() ? "default" : subject.ns,
            .name = subject.name.substr(0, kMaxSubjectInName) + "." +
                    hexText(static_cast<std::uint64_t>(now.time_since_epoch().count())) + "-" +
                    hexText(speaker) + "-" + hexText(++serial_),
            .message = text.message,
            .count = 1,
            .last = now};
  const Json event = JsonObject{{"apiVersion", "v1"},
                                {"kind", "Event"},
                                {"metadata", JsonObject{{"name", seen.name}, {"namespace", seen.ns}}},
                                {"involvedObject", JsonObject{{"apiVersion", subject.apiVersion},
                                                              {"kind", subject.kind},
                                                              {"namespace", subject.ns},
                                                              {"name", subject.name},
                                                              {"uid", subject.uid}}},
                                {"type", text.type},
                                {"reason", text.reason},
                                {"message", text.message},
                                {"source", JsonObject{{"component", component_}, {"host", host_}}},
                                {"reportingComponent", component_},
                                {"reportingInstance", host_},
                                {"firstTimestamp", formatTime(happened)},
                                {"lastTimestamp", formatTime(happened)},
                                {"count", 1}};
  MAINSTAY_TRY(create(api_, api::kEvents, seen.ns, event, component_));
  return seen;
}

}  // namespace mainstay::kube
