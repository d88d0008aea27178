// ExecSource: credentials from a plugin, such as `aws eks get-token` (client.authentication.k8s.io).
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "kube/credentials.h"

namespace mainstay::kube {

// Runs the plugin when the first credential is asked for, a minute before one ends (earlier than client-go,
// which lets a request fail first), and after a 401. While it runs, at most kPluginPatience, other callers
// wait: they have nothing to send either. A plugin that fails is left alone for kPluginPause; until its end,
// the credential it gave before stands.
class ExecSource final : public CredentialSource {
 public:
  static constexpr Duration kPluginPatience = std::chrono::seconds(30);
  static constexpr Duration kPluginPause = std::chrono::seconds(5);

  // `origin` is for messages: where the plugin is configured.
  ExecSource(ExecPlugin plugin, std::string origin);

  Result<Credential> current(TimePoint now) override;
  bool refresh(const Credential& used, TimePoint now) override;

 private:
  struct Held {
    Credential credential = {};
    TimePoint renewAt = kNever;
    TimePoint end = kNever;
  };

  Result<> renew(TimePoint now);
  Result<Held> runPlugin(TimePoint now) const;
  Result<Held> decode(const std::string& output, TimePoint now) const;

  const ExecPlugin plugin_;
  const std::string origin_;
  std::mutex mutex_;
  std::optional<Held> held_;                 // guarded by mutex_
  std::optional<Error> failure_;             // guarded by mutex_; of the last run
  TimePoint quietUntil_ = TimePoint::min();  // guarded by mutex_; no run before
};

}  // namespace mainstay::kube
