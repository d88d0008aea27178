#include "cli/local.h"

#include "api/names.h"
#include "base/http_client.h"
#include "cli/demo_cluster.h"
#include "cli/interrupt.h"

namespace mainstay::cli {

namespace {

constexpr Duration kLocalCallLimit = std::chrono::seconds(10);

Result<HttpResponse> askLocal(Connection& connection, const std::string& method, const std::string& path,
                              const std::string& body) {
  MAINSTAY_ASSIGN(const std::string server, connection.localServer());
  HttpClient client({});
  MAINSTAY_ASSIGN(HttpResponse response,
                  client.send({.method = method, .target = server + path, .headers = {}, .body = body},
                              Deadline::after(kLocalCallLimit)));
  if (response.status / 100 != 2) {
    const auto document = parseJson(response.body);
    const std::string message = document ? findString(*document, "message") : response.body;
    return fail(Code::kFailedPrecondition,
                message.empty() ? "HTTP status " + std::to_string(response.status) : message);
  }
  return response;
}

}  // namespace

int localUp(const DemoOptions& options, std::ostream& out) {
  blockInterrupts();
  const SteadyWallClock clock;
  const auto cluster = DemoCluster::start(options, clock);
  if (!cluster) {
    out << "mainstay local up: " << cluster.error().toString() << "\n";
    return 1;
  }
  out << " The cluster stays up until you press Ctrl-C. In another terminal:\n\n   export KUBECONFIG="
      << (*cluster)->kubeconfig() << "\n   kubectl get nodes -L " << api::kHealthStatusLabel
      << "\n   kubectl apply --validate=false -f examples/llama-mini.yaml"
      << "\n   mainstay local kmsg node-b \"$(date -u +%FT%TZ) NEURON_HW_ERR=DMA_ERROR nd-id=3 x\"\n   "
         "mainstay why node node-b\n";
  out.flush();
  waitForInterrupt();
  return 0;
}

int localPost(Connection& connection, const std::string& path, const std::string& body, std::ostream& out) {
  const auto answer = askLocal(connection, "POST", path, body);
  if (!answer) {
    out << "mainstay local: " << answer.error().toString() << "\n";
    return 1;
  }
  return 0;
}

int localNodes(Connection& connection, Format format, std::ostream& out) {
  const auto answer = askLocal(connection, "GET", "/local/v1/nodes", "");
  const auto nodes = answer ? parseJson(answer->body) : tl::make_unexpected(answer.error());
  if (!nodes) {
    out << "mainstay local nodes: " << nodes.error().toString() << "\n";
    return 1;
  }
  Table table({"NAME", "MACHINE", "KUBELET", "PROVIDER-ID"});
  DecodeErrors errors;
  for (const Cursor& node : Cursor(*nodes, errors).elements()) {
    table.add({node.at("name").string(), node.at("alive").boolean() ? "on" : "off",
               node.at("kubelet").boolean() ? "answers" : "silent", node.at("providerId").string()});
  }
  print(out, format, *nodes, table.text());
  return 0;
}

}  // namespace mainstay::cli
