#include "kube/exec_source.h"

#include <algorithm>

#include "base/log.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace mainstay::kube {
namespace {

// How long before its end a credential is renewed; of one that lives shorter than five times this, a fifth.
constexpr Duration kRenewBefore = std::chrono::minutes(1);
constexpr int kRenewShare = 5;
// A certificate chain and a key are some KiB.
constexpr std::size_t kMaxPluginOutput = 256 << 10;
// Of what a plugin complains, what an error repeats.
constexpr std::size_t kMaxComplaint = 1024;

std::string complaintOf(const std::string& errors) {
  const std::string safe = sanitizeUtf8(errors);
  const std::size_t begin = safe.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) {
    return "it said nothing on standard error";
  }
  const std::size_t end = safe.find_last_not_of(" \t\r\n");
  const std::string text = safe.substr(begin, end - begin + 1);
  const std::string_view cut = cutUtf8(text, kMaxComplaint);
  return std::string(cut) + (cut.size() < text.size() ? "..." : "");
}

Command commandOf(const ExecPlugin& plugin) {
  Command command;
  command.arguments.push_back(plugin.command);
  command.arguments.insert(command.arguments.end(), plugin.arguments.begin(), plugin.arguments.end());
  command.environment = wholeEnvironment();
  for (const auto& [name, value] : plugin.environment) {
    command.environment[name] = value;
  }
  JsonObject spec{{"interactive", false}};
  if (!plugin.cluster.is_null()) {
    spec["cluster"] = plugin.cluster;
  }
  command.environment["KUBERNETES_EXEC_INFO"] =
      toText(JsonObject{{"kind", "ExecCredential"}, {"apiVersion", plugin.apiVersion}, {"spec", spec}});
  return command;
}

void checkCredential(const Credential& credential, const Cursor& status) {
  if (credential.clientCertificate.empty() != credential.clientKey.empty()) {
    status.error("clientCertificateData and clientKeyData belong together; one of them is missing");
  }
  if (credential.token.empty() && credential.clientCertificate.empty()) {
    status.error("holds neither a token nor a client certificate");
  }
  if (credential.token.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    status.at("token").error("expected one line");
  }
}

}  // namespace

ExecSource::ExecSource(ExecPlugin plugin, std::string origin)
    : plugin_(std::move(plugin)), origin_(std::move(origin)) {}

Result<Credential> ExecSource::current(TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (!held_ || now >= held_->renewAt) {
    const Result<> renewed = renew(now);
    if (!renewed && (!held_ || now >= held_->end)) {
      return fail(renewed.error());
    }
  }
  return held_->credential;
}

bool ExecSource::refresh(const Credential& used, TimePoint now) {
  const std::lock_guard lock(mutex_);
  if (held_ && held_->credential != used) {
    return true;  // another call of ours has renewed it meanwhile
  }
  return renew(now) && held_->credential != used;
}

Result<> ExecSource::renew(TimePoint now) {
  if (now < quietUntil_) {
    return fail(failure_.value_or(
        Error(Code::kUnauthenticated,
              "the credential that the plugin gave a moment ago has ended already; compare the clocks")));
  }
  quietUntil_ = now + kPluginPause;
  Result<Held> held = runPlugin(now);
  if (!held) {
    failure_ = std::move(held).error().with("credential plugin " + plugin_.command + " of " + origin_);
    logWarning("cannot renew the credential for the API server", {{"error", *failure_}});
    return fail(*failure_);
  }
  failure_.reset();
  held_ = *std::move(held);
  return {};
}

Result<ExecSource::Held> ExecSource::runPlugin(TimePoint now) const {
  Result<Output> output = runApart(commandOf(plugin_), Deadline::after(kPluginPatience), kMaxPluginOutput);
  if (!output) {
    const bool hint = output.error().code() == Code::kNotFound && !plugin_.installHint.empty();
    return fail(hint ? Error(Code::kNotFound, output.error().toString() + "; " + plugin_.installHint)
                     : std::move(output).error());
  }
  if (output->status.code != 0) {
    return fail(Code::kUnauthenticated,
                "exit code " + std::to_string(output->status.code) + ": " + complaintOf(output->errors));
  }
  return decode(output->text, now);
}

Result<ExecSource::Held> ExecSource::decode(const std::string& output, TimePoint now) const {
  const Result<Json> json = parseJson(output);
  if (!json) {
    return fail(Code::kInvalidArgument, "its output is not JSON; run it by hand to see it");
  }
  DecodeErrors errors("its output");
  const Cursor root(*json, errors);
  if (root.at("kind").string() != "ExecCredential" || root.at("apiVersion").string() != plugin_.apiVersion) {
    root.error("expected an ExecCredential of " + plugin_.apiVersion +
               ": the plugin and the kubeconfig do not agree on the version");
  }
  const Cursor status = root.at("status");
  Held held;
  held.credential = {status.at("token").string(""), status.at("clientCertificateData").string(""),
                     status.at("clientKeyData").string("")};
  checkCredential(held.credential, status);
  if (const auto end = status.at("expirationTimestamp").time()) {
    const Duration life = std::max(*end - now, Duration(0));
    held.end = *end;
    held.renewAt = *end - std::min(kRenewBefore, life / kRenewShare);
  }
  MAINSTAY_TRY(errors.result());
  return held;
}

}  // namespace mainstay::kube
