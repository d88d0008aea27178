#include "cli/operate.h"

#include "cloud/aws/aws_provider.h"
#include "cloud/local/local_provider.h"
#include "jobs/release.h"
#include "recovery/release.h"
#include "recovery/why.h"

namespace mainstay::cli {

namespace {

// The API server, and the clouds that can be reached from here.
struct Reach {
  std::unique_ptr<kube::HttpApi> api;
  std::unique_ptr<cloud::Provider> localCloud;
  std::unique_ptr<cloud::Provider> aws;
  recovery::Providers providers;
};

Result<Reach> reach(Connection& connection) {
  Reach reached;
  MAINSTAY_ASSIGN(reached.api, connection.open());
  // A server on loopback is a local cluster, and serves its cloud as well.
  if (auto provider = cloud::LocalProvider::create(reached.api->config().server)) {
    reached.localCloud = *std::move(provider);
    reached.providers["local"] = reached.localCloud.get();
  }
  // With the person's own credentials; asked only about incidents that AWS was to replace.
  reached.aws = std::make_unique<cloud::aws::AwsProvider>(connection.awsSurroundings());
  reached.providers["aws"] = reached.aws.get();
  return reached;
}

// The command was given a cluster that cannot be: a file that is missing or wrong.
int refuseCluster(const Error& error, std::ostream& errors) {
  errors << "mainstay: " << error.toString() << "\n";
  return kWrongCluster;
}

int tell(const Result<std::string>& sentence, std::ostream& out, std::ostream& errors) {
  if (!sentence) {
    errors << "mainstay: " << sentence.error().toString() << "\n";
    return 1;
  }
  out << *sentence << "\n";
  return 0;
}

template <class Released>
bool tellAll(const Result<Released>& released, std::ostream& out, std::ostream& errors) {
  if (!released) {
    errors << "mainstay: " << released.error().toString() << "\n";
    return false;
  }
  for (const std::string& sentence : released->sentences) {
    out << sentence << "\n";
  }
  return !released->failed;
}

// A release undoes a safety measure: it is kept with who-knows-why only if someone says so.
bool reasonGiven(const ReleaseOptions& options, std::ostream& errors) {
  if (options.reason.empty() && !options.dryRun) {
    errors << "mainstay: say why with --reason; it is kept with the incident. (--dry-run needs none.)\n";
    return false;
  }
  return true;
}

}  // namespace

int whyNode(Connection& connection, const std::string& node, Format format, std::ostream& out,
            std::ostream& errors) {
  const auto api = connection.open();
  if (!api) {
    return refuseCluster(api.error(), errors);
  }
  const auto why = recovery::whyNode(**api, node, connection.clock().now());
  if (!why) {
    errors << "mainstay why node " << node << ": " << why.error().toString() << "\n";
    return 1;
  }
  print(out, format, recovery::explanationJson(*why), recovery::explanationText(*why));
  return 0;
}

int releaseNode(Connection& connection, const std::string& node, const ReleaseOptions& options,
                std::ostream& out, std::ostream& errors) {
  if (!reasonGiven(options, errors)) {
    return 2;
  }
  const auto reached = reach(connection);
  if (!reached) {
    return refuseCluster(reached.error(), errors);
  }
  return tell(
      recovery::releaseNode(*reached->api, reached->providers, node,
                            {.reason = options.reason, .dryRun = options.dryRun}, connection.clock().now()),
      out, errors);
}

int releaseJob(Connection& connection, const std::string& ns, const std::string& name,
               const ReleaseOptions& options, std::ostream& out, std::ostream& errors) {
  if (!reasonGiven(options, errors)) {
    return 2;
  }
  const auto api = connection.open();
  if (!api) {
    return refuseCluster(api.error(), errors);
  }
  return tell(jobs::releaseJob(**api, ns, name, {.reason = options.reason, .dryRun = options.dryRun},
                               connection.clock().now()),
              out, errors);
}

int releaseAll(Connection& connection, const ReleaseOptions& options, std::ostream& out,
               std::ostream& errors) {
  if (!reasonGiven(options, errors)) {
    return 2;
  }
  const auto reached = reach(connection);
  if (!reached) {
    return refuseCluster(reached.error(), errors);
  }
  const TimePoint now = connection.clock().now();
  const auto nodes =
      recovery::releaseAllNodes(*reached->api, reached->providers,
                                {.reason = options.reason, .dryRun = options.dryRun, .uninstall = true}, now);
  const auto jobs =
      jobs::releaseAllJobs(*reached->api, {.reason = options.reason, .dryRun = options.dryRun}, now);
  const bool nodesDone = tellAll(nodes, out, errors);
  const bool jobsDone = tellAll(jobs, out, errors);
  return nodesDone && jobsDone ? 0 : 1;
}

}  // namespace mainstay::cli
