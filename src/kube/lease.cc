#include "kube/lease.h"

#include <algorithm>

#include "base/log.h"

namespace mainstay::kube {
namespace {

// A holder that claims more than a day is not believed.
constexpr std::int64_t kMaxLeaseSeconds = 24 * 3600;

std::int64_t integerOf(const Json& lease, std::string_view key, std::int64_t fallback) {
  const Json* value = find(lease, "spec", key);
  return value && value->is_int64() ? value->get_int64() : fallback;
}

std::int64_t wholeSeconds(Duration span) {
  return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(span).count());
}

}  // namespace

LeaderElector::LeaderElector(Api& api, const Clock& clock, Options options)
    : api_(api), clock_(clock), options_(std::move(options)) {}

bool LeaderElector::leading() const {
  return token().valid();
}

LeaderToken LeaderElector::token() const {
  return LeaderToken(clock_, validUntil_.load());
}

std::string LeaderElector::holder() const {
  return findString(lease_, "spec", "holderIdentity");
}

TimePoint LeaderElector::step(TimePoint now) {
  if (now >= nextTry_ || (wasLeading_ && !leading())) {
    settle(acquireOrRenew(now), now);
    nextTry_ = now + options_.retryPeriod;
    if (!leading() && !holder().empty() && !ours()) {
      nextTry_ = std::min(nextTry_, std::max(takeoverAt(), now + Duration(1)));
    }
  }
  return wasLeading_ ? std::min(nextTry_, validUntil_.load()) : nextTry_;
}

// Tells of changes, once each.
void LeaderElector::settle(const Result<>& result, TimePoint now) {
  if (result && ours()) {
    validUntil_ = now + options_.renewDeadline;
  } else if (!ours()) {
    validUntil_ = TimePoint{};
  }
  const bool leads = leading();
  if (leads != wasLeading_) {
    logInfo(leads ? "leadership gained" : "leadership lost", {{"lease", options_.ns + "/" + options_.name},
                                                              {"identity", options_.identity},
                                                              {"holder", holder()}});
  }
  wasLeading_ = leads;
  const bool lostRace =
      !result && (result.error().code() == Code::kConflict || result.error().code() == Code::kAlreadyExists);
  const std::string trouble = result || lostRace ? "" : result.error().toString();
  if (!trouble.empty() && trouble != trouble_) {
    logWarning("leader lease could not be read or written; trying on",
               {{"lease", options_.ns + "/" + options_.name}, {"error", trouble}});
  }
  trouble_ = trouble;
}

Result<> LeaderElector::acquireOrRenew(TimePoint now) {
  const ApiRequest request{.path = api::kLeases.path(options_.ns, options_.name)};
  Result<Json> lease = api_.call(request, callDeadline());
  if (!lease && lease.error().code() == Code::kNotFound) {
    return create(now);
  }
  if (!lease) {
    return fail(std::move(lease).error());
  }
  see(*lease, now);
  if (!holder().empty() && !ours() && now < takeoverAt()) {
    return {};
  }
  return write(*lease, now);
}

Result<> LeaderElector::create(TimePoint now) {
  JsonObject spec = record(options_.identity, options_.leaseDuration, now, now);
  spec["leaseTransitions"] = 0;
  const Json lease = JsonObject{{"apiVersion", api::kLeases.apiVersion()},
                                {"kind", api::kLeases.kind},
                                {"metadata", JsonObject{{"name", options_.name}, {"namespace", options_.ns}}},
                                {"spec", std::move(spec)}};
  const ApiRequest request{
      .method = "POST", .path = api::kLeases.path(options_.ns), .kind = Body::kJson, .body = lease};
  MAINSTAY_ASSIGN(const Json answer, api_.call(request, callDeadline()));
  see(answer, now);
  return {};
}

// Takes the lease, or renews it. The whole object goes back, guarded by its resourceVersion: of two who try,
// one wins.
Result<> LeaderElector::write(const Json& lease, TimePoint now) {
  const std::optional<TimePoint> since = parseTime(findString(lease, "spec", "acquireTime"));
  const bool renews = ours();
  JsonObject spec = record(options_.identity, options_.leaseDuration, renews && since ? *since : now, now);
  spec["leaseTransitions"] = integerOf(lease, "leaseTransitions", 0) + (renews ? 0 : 1);
  Json body = lease;
  mergePatch(body, JsonObject{{"spec", std::move(spec)}});
  const ApiRequest request{.method = "PUT",
                           .path = api::kLeases.path(options_.ns, options_.name),
                           .kind = Body::kJson,
                           .body = std::move(body)};
  MAINSTAY_ASSIGN(const Json answer, api_.call(request, callDeadline()));
  see(answer, now);
  return {};
}

void LeaderElector::see(const Json& lease, TimePoint now) {
  if (findString(lease, "metadata", "resourceVersion") != findString(lease_, "metadata", "resourceVersion")) {
    observedAt_ = now;
  }
  lease_ = lease;
}

TimePoint LeaderElector::takeoverAt() const {
  const std::int64_t seconds =
      integerOf(lease_, "leaseDurationSeconds", wholeSeconds(options_.leaseDuration));
  return observedAt_ + std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMaxLeaseSeconds));
}

JsonObject LeaderElector::record(std::string_view holder, Duration duration, TimePoint acquired,
                                 TimePoint now) const {
  return {{"holderIdentity", holder},
          {"leaseDurationSeconds", wholeSeconds(duration)},
          {"acquireTime", formatMicroTime(acquired)},
          {"renewTime", formatMicroTime(now)}};
}

void LeaderElector::release() {
  if (!leading()) {
    return;
  }
  validUntil_ = TimePoint{};  // first: nothing is done any more in the name of a lease that is being given up
  const TimePoint now = clock_.now();
  Json body = lease_;
  mergePatch(body, JsonObject{{"spec", record("", std::chrono::seconds(1), now, now)}});
  const ApiRequest request{.method = "PUT",
                           .path = api::kLeases.path(options_.ns, options_.name),
                           .kind = Body::kJson,
                           .body = std::move(body)};
  ignore(api_.call(request, callDeadline()),
         "without it the next leader waits for the lease to end, that is all");
}

TimePoint Election::step(TimePoint now) {
  const LeaderToken before = elector_.token();
  const TimePoint wake = elector_.step(now);
  // Also when only our own term had run out for a moment: a loop that looked just then waits to be told.
  if (elector_.leading() && !before.valid()) {
    for (Loop* follower : followers_) {
      follower->signal().notify();
    }
  }
  return wake;
}

Result<Json> LeaderOnlyApi::call(const ApiRequest& request, Deadline deadline) {
  if (request.isWrite() && !elector_.leading()) {
    return fail(Code::kFailedPrecondition, request.method + " " + request.path +
                                               ": not sent, this process does not hold the leader lease");
  }
  return inner_.call(request, deadline);
}

Result<std::unique_ptr<WatchStream>> LeaderOnlyApi::watch(const std::string& path, Query query,
                                                          Signal& signal) {
  return inner_.watch(path, std::move(query), signal);
}

}  // namespace mainstay::kube
