#include "cli/local.h"

#include "api/names.h"
#include "base/http_client.h"
#include "base/interrupt.h"
#include "cli/demo_cluster.h"

namespace mainstay::cli {

namespace {

constexpr Duration kLocalCallLimit = std::chrono::seconds(10);

Result<HttpResponse> askLocal(const std::string& server, const std::string& method, const std::string& path,
                              const std::string& body) {
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

int tellOf(const Error& error, int code, std::ostream& errors) {
  errors << "mainstay local: " << error.toString() << "\n";
  return code;
}

// For programs: where everything is.
Json howToReach(const DemoCluster& cluster) {
  return JsonObject{
      {"kubeconfig", cluster.kubeconfig()}, {"server", cluster.url()}, {"folder", cluster.folder()}};
}

// For people.
std::string howToUse(const DemoCluster& cluster) {
  return " The cluster stays up until you press Ctrl-C. In another terminal:\n\n   export KUBECONFIG=" +
         cluster.kubeconfig() + "\n   kubectl get nodes -L " + api::kHealthStatusLabel +
         "\n   kubectl apply --validate=false -f examples/llama-mini.yaml\n   mainstay local kmsg node-b "
         "\"$(date -u "
         "+%FT%TZ) NEURON_HW_ERR=DMA_ERROR nd-id=3 x\"\n   mainstay why node node-b\n";
}

}  // namespace

int localUp(const DemoOptions& options, std::ostream& out, std::ostream& errors) {
  blockInterrupts();
  const SteadyWallClock clock;
  const auto cluster = DemoCluster::start(options, clock);
  if (!cluster) {
    return tellOf(cluster.error(), 1, errors);
  }
  print(out, options.format, howToReach(**cluster), howToUse(**cluster));
  waitForInterrupt();
  return 0;
}

int localPost(Connection& connection, const std::string& path, const std::string& body,
              std::ostream& errors) {
  const auto server = connection.localServer();
  if (!server) {
    return tellOf(server.error(), kWrongCluster, errors);
  }
  const auto answer = askLocal(*server, "POST", path, body);
  return answer ? 0 : tellOf(answer.error(), 1, errors);
}

int localNodes(Connection& connection, Format format, std::ostream& out, std::ostream& errors) {
  const auto server = connection.localServer();
  if (!server) {
    return tellOf(server.error(), kWrongCluster, errors);
  }
  const auto answer = askLocal(*server, "GET", "/local/v1/nodes", "");
  const auto nodes = answer ? parseJson(answer->body) : tl::make_unexpected(answer.error());
  if (!nodes) {
    return tellOf(nodes.error(), 1, errors);
  }
  Table table({"NAME", "MACHINE", "KUBELET", "PROVIDER-ID"});
  DecodeErrors problems;
  for (const Cursor& node : Cursor(*nodes, problems).elements()) {
    table.add({node.at("name").string(), node.at("alive").boolean() ? "on" : "off",
               node.at("kubelet").boolean() ? "answers" : "silent", node.at("providerId").string()});
  }
  print(out, format, *nodes, table.text());
  return 0;
}

}  // namespace mainstay::cli
