#include "cloud/aws/testing.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/http_client.h"
#include "cloud/aws/service.h"
#include "cloud/loopback.h"

namespace mainstay::cloud::aws {
namespace {

constexpr char kGroup[] = "workers";
constexpr char kZone[] = "us-west-2b";
constexpr int kDesired = 3;

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string tag(const std::string& name, const std::string& content) {
  return "<" + name + ">" + content + "</" + name + ">";
}

std::string textTag(const std::string& name, const std::string& text) {
  return tag(name, escaped(text));
}

// The values of "prefix.1", "prefix.2", ...
std::set<std::string> valuesOf(const Query& query, const std::string& prefix) {
  std::set<std::string> values;
  for (const auto& [key, value] : query) {
    if (key.starts_with(prefix + ".")) {
      values.insert(value);
    }
  }
  return values;
}

HttpResponse awsXml(int status, const std::string& body) {
  return {
      .status = status, .headers = {{"Content-Type", "text/xml"}}, .body = "<?xml version=\"1.0\"?>" + body};
}

Transport loopbackOnly() {
  return [client = std::make_shared<HttpClient>(HttpClientOptions())](
             const HttpRequest& request, Deadline deadline, std::stop_token stop) -> Result<HttpResponse> {
    if (!isLoopbackUrl(originOf(request.target))) {
      return fail(Code::kPermissionDenied, "tests call loopback only, not " + originOf(request.target));
    }
    return client->send(request, deadline, std::move(stop));
  };
}

}  // namespace

HttpResponse awsError(int status, const std::string& code, const std::string& message) {
  return awsXml(status, tag("ErrorResponse", tag("Error", textTag("Type", "Sender") + textTag("Code", code) +
                                                              textTag("Message", message)) +
                                                 textTag("RequestId", "request-1")));
}

// --- The cloud ---

FakeAws::FakeAws() {
  for (int i = 0; i < kDesired; ++i) {
    launch();
  }
  activities_.clear();
  server_ = HttpServer::listen({}, [this](const HttpRequest& request, HttpReply& reply) {
              const std::lock_guard lock(mutex_);
              reply.send(answer(request));
            }).value();
}

void FakeAws::launch() {
  const std::string id = "i-" + std::to_string(++serial_);
  machines_[id] = {.group = kGroup, .launched = TimePoint(std::chrono::hours(400000 + serial_))};
  note("Successful", "Launching a new EC2 instance: " + id, "");
}

void FakeAws::note(const std::string& status, const std::string& description, const std::string& message) {
  const TimePoint at(std::chrono::hours(450000) + std::chrono::seconds(activities_.size()));
  activities_.insert(
      activities_.begin(),
      tag("member", textTag("StatusCode", status) + textTag("StatusMessage", message) +
                        textTag("Description", description) + textTag("StartTime", formatTime(at))));
}

// Whether something happened.
bool FakeAws::terminateUnhealthy() {
  bool changed = false;
  for (auto& [id, machine] : machines_) {
    const bool bad = machine.lifecycle == "InService" && machine.health == "Unhealthy";
    const bool mayBegin = !suspended_.contains("Terminate") && !suspended_.contains("ReplaceUnhealthy");
    if (bad && mayBegin) {
      machine.lifecycle = hook_ ? "Terminating:Wait" : "Terminating";
      changed = true;
    } else if (machine.lifecycle == "Terminating" || (machine.lifecycle == "Terminating:Wait" && !hook_)) {
      machine = {.group = "", .lifecycle = "Terminated", .state = "terminated", .launched = machine.launched};
      note("Successful", "Terminating EC2 instance: " + id, "");
      changed = true;
    }
  }
  return changed;
}

void FakeAws::settle() {
  const std::lock_guard lock(mutex_);
  while (terminateUnhealthy()) {
  }
  const auto members =
      std::ranges::count_if(machines_, [](const auto& entry) { return entry.second.group == kGroup; });
  if (suspended_.contains("Launch")) {
    return;
  }
  if (!capacityTrouble_.empty() && members < kDesired) {
    note("Failed", "Launching a new EC2 instance", capacityTrouble_);
    return;
  }
  for (auto missing = members; missing < kDesired; ++missing) {
    launch();
  }
}

void FakeAws::suspend(const std::string& process, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  suspended_[process] = reason;
}

void FakeAws::resume(const std::string& process) {
  const std::lock_guard lock(mutex_);
  suspended_.erase(process);
}

void FakeAws::setTerminationHook(bool on) {
  const std::lock_guard lock(mutex_);
  hook_ = on;
}

void FakeAws::setCapacityTrouble(const std::string& words) {
  const std::lock_guard lock(mutex_);
  capacityTrouble_ = words;
}

void FakeAws::setLifecycle(const std::string& id, const std::string& lifecycle) {
  const std::lock_guard lock(mutex_);
  machines_.at(id).lifecycle = lifecycle;
}

void FakeAws::setEc2State(const std::string& id, const std::string& state) {
  const std::lock_guard lock(mutex_);
  machines_.at(id).state = state;
}

void FakeAws::detach(const std::string& id) {
  const std::lock_guard lock(mutex_);
  machines_.at(id).group.clear();
}

void FakeAws::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  machines_.erase(id);
}

void FakeAws::forgetAll() {
  const std::lock_guard lock(mutex_);
  machines_.clear();
}

void FakeAws::setDeaf(bool on) {
  const std::lock_guard lock(mutex_);
  deaf_ = on;
}

void FakeAws::setPageSize(int size) {
  const std::lock_guard lock(mutex_);
  pageSize_ = size;
}

void FakeAws::answerWith(HttpResponse response) {
  const std::lock_guard lock(mutex_);
  scripted_.push_back(std::move(response));
}

std::vector<HttpRequest> FakeAws::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::vector<std::string> FakeAws::actions() {
  std::vector<std::string> names;
  for (const HttpRequest& request : requests()) {
    names.push_back(queryValue(parseQuery(request.body), "Action"));
  }
  return names;
}

std::set<std::string> FakeAws::permissionsUsed() {
  std::set<std::string> used;
  for (const HttpRequest& request : requests()) {
    const Query query = parseQuery(request.body);
    for (const Service* service : {&kAutoScaling, &kEc2, &kCloudWatch, &kSts}) {
      if (queryValue(query, "Version") == service->version) {
        used.insert(std::string(service->permission) + ":" + queryValue(query, "Action"));
      }
    }
  }
  return used;
}

// --- The wire ---

HttpResponse FakeAws::answer(const HttpRequest& request) {
  requests_.push_back(request);
  if (!scripted_.empty()) {
    HttpResponse next = std::move(scripted_.front());
    scripted_.pop_front();
    return next;
  }
  const Query query = parseQuery(request.body);
  const std::string action = queryValue(query, "Action");
  const std::string result = resultOf(action, query);
  if (result.empty()) {
    return awsError(400, "ValidationError",
                    "No managed instance found, or no such action: Instance Id not found");
  }
  const bool ec2 = queryValue(query, "Version") == kEc2.version;
  return awsXml(200, tag(action + "Response", ec2 ? result : tag(action + "Result", result)));
}

std::string FakeAws::resultOf(const std::string& action, const Query& query) {
  if (action == "DescribeAutoScalingInstances") {
    return describeMembers(query);
  }
  if (action == "DescribeAutoScalingGroups") {
    return describeGroups(query);
  }
  if (action == "DescribeScalingActivities") {
    return describeActivities(query);
  }
  if (action == "DescribeInstances") {
    return describeMachines(query);
  }
  if (action == "DescribeInstanceStatus") {
    return describeStatus(query);
  }
  if (action == "SetInstanceHealth" || action == "TerminateInstanceInAutoScalingGroup") {
    return setHealth(query);
  }
  const bool known = action == "RebootInstances" || action == "PutMetricData";
  return known ? textTag("return", "true") : "";
}

std::string FakeAws::describeMembers(const Query& query) const {
  const std::set<std::string> wanted = valuesOf(query, "InstanceIds.member");
  std::string list;
  for (const auto& [id, machine] : machines_) {
    if (!machine.group.empty() && wanted.contains(id)) {
      list += tag("member",
                  textTag("InstanceId", id) + textTag("AutoScalingGroupName", machine.group) +
                      textTag("AvailabilityZone", kZone) + textTag("LifecycleState", machine.lifecycle) +
                      textTag("HealthStatus", machine.health == "Healthy" ? "HEALTHY" : "UNHEALTHY"));
    }
  }
  return tag("AutoScalingInstances", list);
}

std::string FakeAws::describeGroups(const Query& query) const {
  if (!valuesOf(query, "AutoScalingGroupNames.member").contains(kGroup)) {
    return tag("AutoScalingGroups", "");
  }
  std::string members;
  for (const auto& [id, machine] : machines_) {
    if (machine.group == kGroup) {
      members += tag("member", textTag("InstanceId", id) + textTag("AvailabilityZone", kZone) +
                                   textTag("LifecycleState", machine.lifecycle) +
                                   textTag("HealthStatus", machine.health));
    }
  }
  std::string suspended;
  for (const auto& [process, reason] : suspended_) {
    suspended += tag("member", textTag("ProcessName", process) + textTag("SuspensionReason", reason));
  }
  return tag(
      "AutoScalingGroups",
      tag("member", textTag("AutoScalingGroupName", kGroup) + textTag("MinSize", "1") +
                        textTag("MaxSize", "5") + textTag("DesiredCapacity", std::to_string(kDesired)) +
                        tag("Instances", members) + tag("SuspendedProcesses", suspended)));
}

// Pages by the index of the first machine.
std::string FakeAws::describeMachines(const Query& query) const {
  const std::set<std::string> wanted = valuesOf(query, "Filter.1.Value");
  const std::string token = queryValue(query, "NextToken");
  const int first = token.empty() ? 0 : std::stoi(token);
  std::string list;
  std::string next;
  int index = 0;
  for (const auto& [id, machine] : machines_) {
    if (!wanted.empty() && !wanted.contains(id)) {
      continue;
    }
    const int at = index++;
    if (at >= first && (pageSize_ == 0 || at < first + pageSize_)) {
      list += tag("item",
                  tag("instancesSet", tag("item", textTag("instanceId", id) +
                                                      tag("instanceState", textTag("name", machine.state)) +
                                                      tag("placement", textTag("availabilityZone", kZone)) +
                                                      textTag("launchTime", formatTime(machine.launched)))));
    } else if (at >= first && next.empty()) {
      next = textTag("nextToken", std::to_string(at));
    }
  }
  return tag("reservationSet", list) + next;
}

std::string FakeAws::describeActivities(const Query& query) const {
  const std::size_t limit = std::stoul(queryValue(query, "MaxRecords"));
  std::string list;
  for (std::size_t i = 0; i < std::min(limit, activities_.size()); ++i) {
    list += activities_[i];
  }
  return tag("Activities", list);
}

std::string FakeAws::describeStatus(const Query& query) const {
  const auto at = machines_.find(queryValue(query, "InstanceId.1"));
  if (at == machines_.end()) {
    return "";
  }
  return tag(
      "instanceStatusSet",
      tag("item", tag("systemStatus", textTag("status", "impaired")) +
                      tag("instanceStatus", textTag("status", "ok")) +
                      tag("eventsSet", tag("item", textTag("code", "system-maintenance") +
                                                       textTag("description", "scheduled maintenance")))));
}

std::string FakeAws::setHealth(const Query& query) {
  const auto at = machines_.find(queryValue(query, "InstanceId"));
  if (at == machines_.end() || at->second.group.empty()) {
    return "";
  }
  const std::string status = queryValue(query, "HealthStatus");
  if (!deaf_) {
    at->second.health = status.empty() ? "Unhealthy" : status;  // "" = asked to terminate it
  }
  return textTag("done", "true");
}

// --- Surroundings ---

TestSurroundings::TestSurroundings() : send(loopbackOnly()) {}

TestSurroundings::TestSurroundings(const FakeAws& aws) : TestSurroundings() {
  environment = {{"AWS_ENDPOINT_URL", aws.url()},
                 {"AWS_REGION", "us-west-2"},
                 {"AWS_ACCESS_KEY_ID", "AKIATEST"},
                 {"AWS_SECRET_ACCESS_KEY", "a-secret"}};
}

void TestSurroundings::addFile(const std::string& path, const std::string& content) {
  files.addFolder(std::filesystem::path(path).parent_path());
  if (const Result<> written = files.write(path, content); !written) {
    throw std::invalid_argument(written.error().toString());
  }
}

Surroundings TestSurroundings::get() {
  return {.environment =
              [this](const std::string& name) {
                const auto at = environment.find(name);
                return at == environment.end() ? "" : at->second;
              },
          .files = &files,
          .clock = &clock,
          .send = send,
          .sendDirect = send,
          .pause = [this](Duration span, std::stop_token) { pauses.push_back(span); },
          .random = [] { return 0.5; }};
}

}  // namespace mainstay::cloud::aws
