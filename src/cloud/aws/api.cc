#include "cloud/aws/api.h"

#include <algorithm>
#include <charconv>
#include <functional>

namespace mainstay::cloud::aws {
namespace {

constexpr int kMaxPages = 100;             // a next token that never ends is an error, not a loop
constexpr std::size_t kMaxFilter = 200;    // values of one EC2 filter
constexpr std::size_t kMaxMetrics = 1000;  // data of one PutMetricData
constexpr char kFewest[] = "5";            // the smallest page that EC2 allows

std::string numbered(const std::string& prefix, std::size_t index) {
  return prefix + "." + std::to_string(index + 1);
}

void addList(Query& query, const std::string& prefix, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    query.emplace_back(numbered(prefix, i), values[i]);
  }
}

// Reads one element; remembers what it lacks.
class Reader {
 public:
  explicit Reader(const Element& element) : element_(element) {}
  const std::string& text(const char* name) {
    const std::string& value = element_.textOf(name);
    if (value.empty() && lacks_.empty()) {
      lacks_ = name;
    }
    return value;
  }
  int integer(const char* name) {
    const std::string& value = text(name);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) {
      lacks_ = name;
    }
    return number;
  }
  TimePoint time(const char* name) {
    const std::optional<TimePoint> value = parseTime(text(name));
    if (!value) {
      lacks_ = name;
    }
    return value.value_or(TimePoint{});
  }
  const std::string& lacks() const { return lacks_; }

 private:
  const Element& element_;
  std::string lacks_;
};

GroupInstance readGroupInstance(Reader& in, const Element& at) {
  return {.id = in.text("InstanceId"),
          .group = at.textOf("AutoScalingGroupName"),
          .zone = in.text("AvailabilityZone"),
          .lifecycle = in.text("LifecycleState"),
          .health = in.text("HealthStatus")};
}

Activity readActivity(Reader& in, const Element& at) {
  return {.status = in.text("StatusCode"),
          .statusMessage = at.textOf("StatusMessage"),
          .description = at.textOf("Description"),
          .started = in.time("StartTime")};
}

Ec2Instance readEc2Instance(Reader& in, const Element& at) {
  return {.id = in.text("instanceId"),
          .state = at.at("instanceState").textOf("name"),
          .zone = at.at("placement").textOf("availabilityZone"),
          .launched = in.time("launchTime")};
}

AutoScalingGroup readGroup(Reader& in, const Element& at) {
  AutoScalingGroup group{.name = in.text("AutoScalingGroupName"),
                         .min = in.integer("MinSize"),
                         .max = in.integer("MaxSize"),
                         .desired = in.integer("DesiredCapacity"),
                         .instances = {},
                         .suspended = {}};
  for (const Element& process : at.list("SuspendedProcesses")) {
    group.suspended[process.textOf("ProcessName")] = process.textOf("SuspensionReason");
  }
  return group;
}

Ec2Status readStatus(Reader&, const Element& at) {
  Ec2Status status{.system = at.at("systemStatus").textOf("status"),
                   .instance = at.at("instanceStatus").textOf("status"),
                   .events = {}};
  for (const Element& event : at.list("eventsSet")) {
    status.events.push_back(event.textOf("code") + ": " + event.textOf("description"));
  }
  return status;
}

CallError malformed(const std::string& action, const std::string& lacks) {
  return CallError(
      Error(Code::kInternal, "AWS's answer to " + action + " lacks " + lacks + ", or holds no such value"));
}

// Reads each of `items` and adds it to `out`.
template <class T>
CallResult<void> readAll(const std::string& action, const std::vector<Element>& items,
                         T (*read)(Reader&, const Element&), std::vector<T>& out) {
  for (const Element& item : items) {
    Reader in(item);
    T value = read(in, item);
    if (!in.lacks().empty()) {
      return tl::unexpected(malformed(action, in.lacks()));
    }
    out.push_back(std::move(value));
  }
  return {};
}

// Calls until the answer names no next page. `take` is given the part that holds the list and the token.
CallResult<void> forEachPage(QueryClient& client, const Service& service, const std::string& action,
                             Query query, const std::function<CallResult<void>(const Element&)>& take) {
  const bool ec2 = &service == &kEc2;
  const char* const tokenName = ec2 ? "nextToken" : "NextToken";
  for (int page = 0; page < kMaxPages; ++page) {
    MAINSTAY_ASSIGN(const Element answer, client.call(service, action, query));
    const Element& result = ec2 ? answer : answer.at(action + "Result");
    MAINSTAY_TRY(take(result));
    const std::string& token = result.textOf(tokenName);
    if (token.empty()) {
      return {};
    }
    std::erase_if(query, [](const auto& pair) { return pair.first == "NextToken"; });
    query.emplace_back("NextToken", token);
  }
  return tl::unexpected(CallError(
      Error(Code::kResourceExhausted, action + " has more than " + std::to_string(kMaxPages) + " pages")));
}

Query metricQuery(const std::string& nameSpace, const MetricDatum* first, std::size_t count) {
  Query query{{"Namespace", nameSpace}};
  for (std::size_t i = 0; i < count; ++i) {
    const MetricDatum& datum = first[i];
    const std::string prefix = numbered("MetricData.member", i);
    char value[32] = {};
    const auto written = std::to_chars(value, value + sizeof value, datum.value);
    query.emplace_back(prefix + ".MetricName", datum.name);
    query.emplace_back(prefix + ".Value", std::string(value, written.ptr));
    query.emplace_back(prefix + ".Unit", datum.unit);
    if (datum.at) {
      query.emplace_back(prefix + ".Timestamp", formatTime(*datum.at));
    }
    std::size_t dimension = 0;
    for (const auto& [name, text] : datum.dimensions) {
      const std::string at = numbered(prefix + ".Dimensions.member", dimension++);
      query.emplace_back(at + ".Name", name);
      query.emplace_back(at + ".Value", text);
    }
  }
  return query;
}

}  // namespace

bool GroupInstance::healthy() const {
  return std::ranges::equal(health, std::string_view("HEALTHY"), {}, [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
}

CallResult<std::vector<GroupInstance>> Api::describeAutoScalingInstances(
    const std::vector<std::string>& ids) {
  const std::string action = "DescribeAutoScalingInstances";
  Query query;
  addList(query, "InstanceIds.member", ids);
  std::vector<GroupInstance> found;
  MAINSTAY_TRY(forEachPage(client_, kAutoScaling, action, std::move(query), [&](const Element& page) {
    return readAll(action, page.list("AutoScalingInstances"), readGroupInstance, found);
  }));
  return found;
}

CallResult<std::optional<AutoScalingGroup>> Api::describeAutoScalingGroup(const std::string& name) {
  const std::string action = "DescribeAutoScalingGroups";
  std::vector<AutoScalingGroup> found;
  const auto take = [&](const Element& page) -> CallResult<void> {
    for (const Element& group : page.list("AutoScalingGroups")) {
      MAINSTAY_TRY(readAll(action, {group}, readGroup, found));
      MAINSTAY_TRY(readAll(action, group.list("Instances"), readGroupInstance, found.back().instances));
    }
    return {};
  };
  const Query query{{"AutoScalingGroupNames.member.1", name}};
  MAINSTAY_TRY(forEachPage(client_, kAutoScaling, action, query, take));
  const auto at = std::ranges::find(found, name, &AutoScalingGroup::name);
  return at == found.end() ? std::optional<AutoScalingGroup>() : std::optional(*std::move(at));
}

CallResult<std::vector<Activity>> Api::describeScalingActivities(const std::string& group, int limit) {
  const std::string action = "DescribeScalingActivities";
  MAINSTAY_ASSIGN(const Element answer,
                  client_.call(kAutoScaling, action,
                               {{"AutoScalingGroupName", group}, {"MaxRecords", std::to_string(limit)}}));
  std::vector<Activity> found;
  MAINSTAY_TRY(readAll(action, answer.at(action + "Result").list("Activities"), readActivity, found));
  return found;
}

CallResult<void> Api::setInstanceHealth(const std::string& id, const std::string& status,
                                        bool respectGracePeriod) {
  MAINSTAY_TRY(client_.call(kAutoScaling, "SetInstanceHealth",
                            {{"InstanceId", id},
                             {"HealthStatus", status},
                             {"ShouldRespectGracePeriod", respectGracePeriod ? "true" : "false"}}));
  return {};
}

CallResult<void> Api::terminateInstanceInAutoScalingGroup(const std::string& id) {
  MAINSTAY_TRY(client_.call(kAutoScaling, "TerminateInstanceInAutoScalingGroup",
                            {{"InstanceId", id}, {"ShouldDecrementDesiredCapacity", "false"}}));
  return {};
}

// By a filter: an id that EC2 has forgotten would make the whole call by ids fail.
CallResult<std::vector<Ec2Instance>> Api::describeInstances(const std::vector<std::string>& ids) {
  return filterInstances("instance-id", ids);
}

CallResult<std::vector<Ec2Instance>> Api::findInstances(const std::string& privateDnsName) {
  return filterInstances("private-dns-name", {privateDnsName});
}

CallResult<std::vector<Ec2Instance>> Api::filterInstances(const std::string& filter,
                                                          const std::vector<std::string>& values) {
  const std::string action = "DescribeInstances";
  std::vector<Ec2Instance> found;
  const auto take = [&](const Element& page) -> CallResult<void> {
    for (const Element& reservation : page.list("reservationSet")) {
      MAINSTAY_TRY(readAll(action, reservation.list("instancesSet"), readEc2Instance, found));
    }
    return {};
  };
  for (std::size_t first = 0; first < values.size(); first += kMaxFilter) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
    const std::size_t count = std::min(kMaxFilter, values.size() - first);
    Query query{{"Filter.1.Name", filter}};
    addList(query, "Filter.1.Value", {begin, begin + static_cast<std::ptrdiff_t>(count)});
    MAINSTAY_TRY(forEachPage(client_, kEc2, action, std::move(query), take));
  }
  return found;
}

CallResult<bool> Api::hasInstances() {
  MAINSTAY_ASSIGN(const Element answer, client_.call(kEc2, "DescribeInstances", {{"MaxResults", kFewest}}));
  return !answer.list("reservationSet").empty();
}

CallResult<std::optional<Ec2Status>> Api::describeInstanceStatus(const std::string& id) {
  const std::string action = "DescribeInstanceStatus";
  std::vector<Ec2Status> found;
  const CallResult<void> asked =
      forEachPage(client_, kEc2, action, {{"InstanceId.1", id}, {"IncludeAllInstances", "true"}},
                  [&](const Element& page) {
                    return readAll(action, page.list("instanceStatusSet"), readStatus, found);
                  });
  if (!asked && asked.error().code() != Code::kNotFound) {
    return tl::unexpected(asked.error());
  }
  return found.empty() ? std::optional<Ec2Status>() : std::optional(found.front());
}

CallResult<void> Api::rebootInstance(const std::string& id) {
  MAINSTAY_TRY(client_.call(kEc2, "RebootInstances", {{"InstanceId.1", id}}));
  return {};
}

CallResult<void> Api::putMetricData(const std::string& nameSpace, const std::vector<MetricDatum>& data) {
  for (std::size_t first = 0; first < data.size(); first += kMaxMetrics) {
    const std::size_t count = std::min(kMaxMetrics, data.size() - first);
    MAINSTAY_TRY(client_.call(kCloudWatch, "PutMetricData", metricQuery(nameSpace, &data[first], count)));
  }
  return {};
}

}  // namespace mainstay::cloud::aws
