#include "kube/event_correlator.h"

#include <algorithm>
#include <functional>

#include "base/json.h"

namespace mainstay::kube {
namespace {

constexpr std::size_t kSimilarEvents = 10;                  // defaultAggregateMaxEvents
constexpr Duration kSimilarFor = std::chrono::minutes(10);  // defaultAggregateIntervalInSeconds
constexpr int kSpamBurst = 25;                              // defaultSpamBurst
constexpr double kSpamPerSecond = 1.0 / 300;                // defaultSpamQPS
constexpr char kCombined[] = "(combined from similar events): ";

}  // namespace

EventCorrelator::Verdict EventCorrelator::observe(const EventSubject& subject, const EventText& text,
                                                  TimePoint now) {
  JsonArray parts{subject.apiVersion, subject.kind, subject.ns, subject.name, subject.uid, text.type};
  const std::string budgetKey = toText(parts);
  parts.emplace_back(text.reason);
  Verdict verdict{.key = toText(parts), .message = text.message};
  if (combines(similar_.get(verdict.key), text.message, now)) {
    verdict.message = kCombined + text.message;
  } else {
    parts.emplace_back(text.message);
    verdict.key = toText(parts);
  }
  verdict.spam = budgets_.get(budgetKey, kSpamPerSecond, kSpamBurst).take(now, Duration(0)) > Duration(0);
  return verdict;
}

bool EventCorrelator::combines(Similar& similar, const std::string& message, TimePoint now) const {
  if (now - similar.last > kSimilarFor) {
    similar.messages.clear();
  }
  similar.last = now;
  const std::size_t hash = std::hash<std::string>()(message);
  if (std::ranges::find(similar.messages, hash) == similar.messages.end()) {
    similar.messages.push_back(hash);
  }
  const bool many = similar.messages.size() >= kSimilarEvents;
  if (many) {
    similar.messages.erase(similar.messages.begin());
  }
  return many;
}

}  // namespace mainstay::kube
