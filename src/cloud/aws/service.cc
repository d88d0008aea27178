#include "cloud/aws/service.h"

#include <algorithm>
#include <string_view>

namespace mainstay::cloud::aws {
namespace {

// Regions outside the common partition begin so; their hosts end so.
// https://github.com/aws/aws-sdk-go-v2/blob/main/internal/endpoints/awsrulesfn/partitions.json
struct Partition {
  std::string_view regions;
  std::string_view suffix;
};
constexpr Partition kPartitions[] = {
    {"cn-", "amazonaws.com.cn"},    {"us-iso-", "c2s.ic.gov"},      {"us-isob-", "sc2s.sgov.gov"},
    {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"},
};
constexpr std::string_view kCommonSuffix = "amazonaws.com";

bool isRegion(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string_view suffixOf(std::string_view region) {
  const auto at =
      std::ranges::find_if(kPartitions, [&](const Partition& p) { return region.starts_with(p.regions); });
  return at == std::end(kPartitions) ? kCommonSuffix : at->suffix;
}

}  // namespace

Result<std::string> endpointOf(const Service& service, const std::string& region,
                               const std::function<std::string(const std::string&)>& environment) {
  const std::string common = "AWS_ENDPOINT_URL";
  for (const std::string& name : {common + "_" + service.variable, common}) {
    std::string url = environment(name);
    if (url.empty()) {
      continue;
    }
    if (!url.starts_with("https://") && !url.starts_with("http://")) {
      return fail(Code::kInvalidArgument, name + " is not a URL such as https://host:port");
    }
    return url.ends_with('/') ? url : url + "/";
  }
  if (!isRegion(region)) {
    return fail(Code::kInvalidArgument,
                "\"" + region + "\" is not the name of an AWS region, such as us-west-2");
  }
  return "https://" + std::string(service.host) + "." + region + "." + std::string(suffixOf(region)) + "/";
}

std::string originOf(const std::string& url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string::npos ? "" : url.substr(0, url.find('/', scheme + 3));
}

}  // namespace mainstay::cloud::aws
