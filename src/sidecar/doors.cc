#include "sidecar/doors.h"

#include "base/log.h"
#include "cloud/aws/metadata.h"

namespace mainstay::sidecar {
namespace {

constexpr std::size_t kMaxPage = 4u << 20;  // a node-problem-detector with every monitor serves some 100 KB
constexpr Duration kPageTimeout = std::chrono::seconds(5);  // from loopback
constexpr Duration kMetadataTimeout = std::chrono::seconds(5);

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

AwsDoors::AwsDoors(cloud::aws::Session& session, const Options& options)
    : session_(session),
      client_(session),
      api_(client_),
      metricNamespace_(options.metricNamespace),
      dimensionNames_(options.dimensions),
      instanceId_(options.instanceId),
      nodeName_(session.surroundings().environment("NODE_NAME")) {}

Result<std::string> AwsDoors::identify() {
  if (providerId_.empty()) {
    MAINSTAY_ASSIGN(const cloud::aws::Ec2Instance found, findInstance());
    providerId_ = "aws:///" + found.zone + "/" + found.id;
  }
  return providerId_;
}

Result<cloud::aws::Ec2Instance> AwsDoors::findInstance() {
  if (instanceId_.empty()) {
    auto told = askMetadata();
    if (told || nodeName_.empty()) {
      return told.map_error([](Error error) {
        return std::move(error).with("which EC2 instance this is (or set NODE_NAME, or --instance-id)");
      });
    }
    logInfo("the instance is looked for by NODE_NAME", {{"name", nodeName_}, {"because", told.error()}});
  }
  const bool byId = !instanceId_.empty();
  auto found = byId ? api_.describeInstances({instanceId_}) : api_.findInstances(nodeName_);
  if (!found) {
    return fail(std::move(found).error().with("which EC2 instance this is"));
  }
  if (found->size() != 1) {
    // The same name may stand in two VPCs.
    return fail(Code::kFailedPrecondition, "which EC2 instance this is: " + std::to_string(found->size()) + " have the " +
                                               (byId ? "id " + instanceId_ : "private DNS name " + nodeName_) +
                                               "; set --instance-id");
  }
  return found->front();
}

Result<cloud::aws::Ec2Instance> AwsDoors::askMetadata() {
  const Deadline deadline = Deadline::after(kMetadataTimeout);
  MAINSTAY_ASSIGN(const auto metadata, cloud::aws::Metadata::open(session_.surroundings(), deadline));
  if (!metadata) {
    return fail(Code::kFailedPrecondition, "the instance metadata service is switched off (AWS_EC2_METADATA_DISABLED)");
  }
  cloud::aws::Ec2Instance told;
  MAINSTAY_ASSIGN(told.id, metadata->read("instance-id", deadline));
  MAINSTAY_ASSIGN(told.zone, metadata->read("placement/availability-zone", deadline));
  return told;
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
