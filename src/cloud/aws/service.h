// The AWS services we call, and where they are.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace mainstay::cloud::aws {

struct Service {
  const char* name;         // for people
  const char* host;         // the first part of its host name
  const char* signingName;  // in the signature
  const char* permission;   // before the colon of an IAM action
  const char* variable;     // AWS_ENDPOINT_URL_<this>
  const char* version;      // of its API
};
inline constexpr Service kAutoScaling{"Auto Scaling", "autoscaling",  "autoscaling",
                                      "autoscaling",  "AUTO_SCALING", "2011-01-01"};
inline constexpr Service kEc2{"EC2", "ec2", "ec2", "ec2", "EC2", "2016-11-15"};
inline constexpr Service kCloudWatch{"CloudWatch", "monitoring", "monitoring",
                                     "cloudwatch", "CLOUDWATCH", "2010-08-01"};
inline constexpr Service kSts{"STS", "sts", "sts", "sts", "STS", "2011-06-15"};

// AWS_ENDPOINT_URL_<SERVICE>, else AWS_ENDPOINT_URL, else "https://autoscaling.us-west-2.amazonaws.com/".
// kInvalidArgument for a region that is not a plain name, or an endpoint that is no http or https URL.
Result<std::string> endpointOf(const Service& service, const std::string& region,
                               const std::function<std::string(const std::string&)>& environment);

// "http://host:port" of a URL, without its path; "" when it has no scheme.
std::string originOf(const std::string& url);

}  // namespace mainstay::cloud::aws
