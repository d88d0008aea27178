#include "cloud/aws/session.h"

#include "base/log.h"

namespace mainstay::cloud::aws {
namespace {

// The SDKs renew some minutes before the end, so that a call under way and a skewed clock do not meet it.
constexpr Duration kRenewBefore = std::chrono::minutes(5);
// After a renewal that failed, while those in hand still last.
constexpr Duration kRenewAgain = std::chrono::minutes(1);

// The first place that has some. One that is set up and fails ends the search: another identity than the one
// that was meant is worse than none.
Result<Credentials> findCredentials(Session& session, Deadline deadline) {
  std::string empty;  // the places that have none
  for (const CredentialPlace& place : credentialPlaces()) {
    Result<std::optional<Credentials>> found = place.find(session, deadline);
    if (!found) {
      found.error().with("AWS credentials from " + std::string(place.name));
      return fail(empty.empty() ? std::move(found).error()
                                : std::move(found).error().with("no AWS credentials in " + empty));
    }
    if (*found) {
      (*found)->source = place.name;
      return **std::move(found);
    }
    empty += (empty.empty() ? "" : ", ") + std::string(place.name);
  }
  return fail(Code::kUnauthenticated,
              "no AWS credentials in " + empty +
                  ". In a pod, give its service account a role by EKS pod identity or IRSA");
}

}  // namespace

Result<std::string> Session::region(Deadline deadline) {
  const std::lock_guard lock(regionMutex_);
  if (region_.empty()) {
    MAINSTAY_ASSIGN(region_, findRegion(surroundings_, deadline));
  }
  return region_;
}

Result<Credentials> Session::credentials(Deadline deadline) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = surroundings_.clock->now();
  if (held_ && now < renewAt_) {
    return *held_;
  }
  Result<Credentials> found = findCredentials(*this, deadline);
  if (found) {
    if (!held_ || held_->source != found->source) {
      logInfo("using AWS credentials", {{"from", found->source}});
    }
    held_ = *found;
    renewAt_ = held_->expires ? std::max(*held_->expires - kRenewBefore, now + kRenewAgain) : kNever;
    return found;
  }
  if (held_ && held_->expires && now < *held_->expires) {
    logWarning("AWS credentials could not be renewed; those in hand are used until they end",
               {{"end", formatTime(*held_->expires)}, {"error", found.error()}});
    renewAt_ = now + kRenewAgain;
    return *held_;
  }
  return found;
}

void Session::expire(const Credentials& ended) {
  const std::lock_guard lock(mutex_);
  if (held_ && *held_ == ended) {
    held_.reset();
  }
}

}  // namespace mainstay::cloud::aws
