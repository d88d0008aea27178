// ApiServer: the local cluster's Kubernetes API: one object store behind one request handler. Two transports
// reach it: DirectApi (direct_api.h) and HTTP (http_front.h).
//
// Served: namespaces, nodes, pods (status, binding, eviction, log), events, configmaps, secrets, services,
// daemonsets (as objects only), leases, poddisruptionbudgets, customresourcedefinitions and the kinds that
// these define. Not served: exec and attach, protobuf, OpenAPI v2, users and rights.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "base/loop.h"
#include "kube/api.h"
#include "local/api/faults.h"
#include "local/api/log_source.h"
#include "local/api/registry.h"
#include "local/api/watch.h"

namespace mainstay::local {

struct Answer {
  int status = 200;
  Json body;         // an object, a list, a Status
  std::string text;  // instead of a body: a log
};

class ApiServer {
 public:
  struct Options {
    std::uint64_t seed = 1;      // of UIDs and generated names
    std::size_t history = 1024;  // changes kept per kind for those who watch
  };
  // `clock` outlives it. The namespaces default, kube-system, kube-public and kube-node-lease exist from the
  // start.
  ApiServer(const Clock& clock, Options options);

  // All of it may be called from any thread, and never waits.

  // Everything but watches. The path's query is `request.query`; the field manager is its fieldManager.
  Answer call(const kube::ApiRequest& request);
  // `signal` is raised when there is something to poll: also that the version to begin from is no longer
  // known. The watch must be gone before the server.
  Outcome<std::unique_ptr<Watch>> watch(const std::string& path, const Query& query, Signal& signal);

  // Where the text of `pods/NAME/log` comes from; must outlive the server. Until then logs are 503.
  void serveLogs(LogSource& logs);
  struct LogRequest {
    Json pod;
    std::string container;
    bool previous = false;
  };
  // Checks a request for a log as far as it can be without the node.
  Outcome<LogRequest> logRequest(const std::string& path, const Query& query) const;
  Outcome<LogSource::Chunk> readLog(const LogRequest& request, std::uint64_t offset) const;

  Faults& faults() { return faults_; }
  // Breaks every watch that is open.
  void dropWatches();
  // Forgets the history: those who resume a watch from before get 410.
  void compact();

  // What happens behind the scenes of a cluster: owner references, namespaces and definitions that are being
  // deleted, disruption budgets, old events. One loop, to be run by the cluster's driver; it must not outlive
  // the server.
  std::shared_ptr<Loop> housekeeper();

  // As KindTable's.
  std::optional<Json> aggregatedDiscovery(const std::string& path) const;
  // The kind and object that a path names: for the printing of tables.
  Outcome<Target> resolve(const std::string& path) const;

 private:
  Outcome<Answer> dispatch(const kube::ApiRequest& request);
  Outcome<Answer> read(const Target& target, const kube::ApiRequest& request);
  Outcome<Answer> write(const Target& target, const kube::ApiRequest& request);
  Outcome<Answer> patch(const Target& target, const kube::ApiRequest& request, const WriteOptions& options);
  Outcome<Answer> post(const Target& target, const kube::ApiRequest& request, const WriteOptions& options);
  void createNamespaces();

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards store_, kinds_, registry_
  Store store_;
  KindTable kinds_;
  Registry registry_;
  Faults faults_;
  std::atomic<int> drops_{0};
  std::atomic<LogSource*> logs_{nullptr};
};

// "list", "watch", "deletecollection": the verb of a request, as Kubernetes names it.
std::string verbOf(const std::string& method, const Query& query, bool hasName);

}  // namespace mainstay::local
