// What the sidecar asks of the world, for real: the detector's page, and AWS.
#pragma once

#include "base/http_client.h"
#include "cloud/aws/api.h"
#include "sidecar/options.h"

namespace mainstay::sidecar {

// The page at `url`; kUnavailable and the like when there is none to be had.
class DetectorPage {
 public:
  DetectorPage(std::string url, std::stop_token stop);
  Result<std::string> read();

 private:
  const std::string url_;
  const std::stop_token stop_;
  HttpClient client_;
};

// The values as CloudWatch takes them: each without a dimension, so that one alarm watches all nodes, and again with
// `dimensions` unless there are none.
std::vector<cloud::aws::MetricDatum> metricData(const std::vector<Value>& values,
                                                const std::map<std::string, std::string>& dimensions);

// Who we are, and how CloudWatch is told. Used by one thread.
class AwsDoors {
 public:
  // `session` outlives it. NODE_NAME of the environment is, on EKS, the instance's private DNS name.
  AwsDoors(cloud::aws::Session& session, const Options& options);

  // The provider id of our instance: by --instance-id, else by the metadata service, else by NODE_NAME, which is less
  // exact. The error says what was tried and what to set.
  Result<std::string> identify();
  Result<> publish(const std::vector<Value>& values);

 private:
  Result<cloud::aws::Ec2Instance> findInstance();
  Result<cloud::aws::Ec2Instance> askMetadata();
  Result<std::map<std::string, std::string>> dimensions();

  cloud::aws::Session& session_;
  cloud::aws::QueryClient client_;
  cloud::aws::Api api_;
  const std::string metricNamespace_;
  const std::vector<std::string> dimensionNames_;
  const std::string instanceId_;
  const std::string nodeName_;
  std::string providerId_;  // "" until found
};

}  // namespace mainstay::sidecar
