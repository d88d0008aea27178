#include "sidecar/doors.h"

namespace mainstay::sidecar {
namespace {

constexpr std::size_t kMaxPage = 4u << 20;  // a node-problem-detector with every monitor serves some 100 KB
constexpr Duration kPageTimeout = std::chrono::seconds(5);  // from loopback

tl::unexpected<Error> unidentified(const std::string& why) {
  return fail(Code::kFailedPrecondition, "which EC2 instance this is: " + why);
}

}  // namespace

DetectorPage::DetectorPage(std::string url, std::stop_token stop)
    : url_(std::move(url)), stop_(std::move(stop)), client_({.maxBody = kMaxPage}) {}

Result<std::string> DetectorPage::read() {
  const HttpRequest request{.target = url_};
  MAINSTAY_ASSIGN(HttpResponse response, client_.send(request, Deadline::after(kPageTimeout), stop_));
  if (response.status != 200) {
    return fail(Code::kUnavailable, "the detector answered HTTP " + std::to_string(response.status) +
                                        "; --metrics-url names its /metrics page");
  }
  return std::move(response.body);
}

std::vector<cloud::aws::MetricDatum> metricData(const std::vector<Value>& values,
                                                const std::map<std::string, std::string>& dimensions) {
  std::vector<cloud::aws::MetricDatum> data;
  for (const Value& value : values) {
    data.push_back({.name = value.name, .value = static_cast<double>(value.value)});
    if (!dimensions.empty()) {
      data.push_back({.name = value.name, .value = static_cast<double>(value.value), .dimensions = dimensions});
    }
  }
  return data;
}

AwsDoors::AwsDoors(cloud::aws::Api& api, const Options& options, std::string nodeName)
    : api_(api),
      metricNamespace_(options.metricNamespace),
      dimensionNames_(options.dimensions),
      instanceId_(options.instanceId),
      nodeName_(std::move(nodeName)) {}

Result<std::string> AwsDoors::identify() {
  if (providerId_.empty()) {
    MAINSTAY_ASSIGN(const cloud::aws::Ec2Instance found, findInstance());
    providerId_ = "aws:///" + found.zone + "/" + found.id;
  }
  return providerId_;
}

Result<cloud::aws::Ec2Instance> AwsDoors::findInstance() {
  if (instanceId_.empty() && nodeName_.empty()) {
    return unidentified("set NODE_NAME (spec.nodeName by the downward API) or --instance-id");
  }
  const bool byId = !instanceId_.empty();
  const std::string wanted = byId ? "the id " + instanceId_ : "the private DNS name " + nodeName_;
  auto found = byId ? api_.describeInstances({instanceId_}) : api_.findInstances(nodeName_);
  if (!found) {
    return fail(std::move(found).error().with("which EC2 instance this is"));
  }
  if (found->size() != 1) {
    // The same name may stand in two VPCs.
    return unidentified(std::to_string(found->size()) + " instances have " + wanted + "; set --instance-id");
  }
  return found->front();
}

Result<std::map<std::string, std::string>> AwsDoors::dimensions() {
  std::map<std::string, std::string> dimensions;
  for (const std::string& name : dimensionNames_) {
    if (name == "NodeName") {
      dimensions[name] = nodeName_.empty() ? "unknown" : nodeName_;
    } else {
      MAINSTAY_ASSIGN(const std::string providerId, identify());
      dimensions[name] = cloud::instanceIdOf(providerId);
    }
  }
  return dimensions;
}

Result<> AwsDoors::publish(const std::vector<Value>& values) {
  MAINSTAY_ASSIGN(const auto dimensions, this->dimensions());
  MAINSTAY_TRY(api_.putMetricData(metricNamespace_, metricData(values, dimensions)));
  return {};
}

}  // namespace mainstay::sidecar
