#include "local/scenario/simulation.h"

#include <algorithm>

#include "api/names.h"
#include "base/yaml.h"
#include "local/assets.h"
#include "local/cluster/cluster.h"
#include "local/cluster/objects.h"
#include "local/scenario/actions.h"
#include "local/scenario/recorded_provider.h"
#include "local/scenario/recorder.h"
#include "local/scenario/simulated_agent.h"
#include "local/scenario/simulated_controller.h"
#include "local/scenario/views.h"

namespace mainstay::local {
namespace {

constexpr Duration kShutDown = std::chrono::seconds(1);  // of an instance that is terminated
constexpr Duration kStopping = std::chrono::seconds(1);  // of a container that is asked to end
constexpr Duration kSettleWithin = std::chrono::minutes(15);
// Any moment will do; a fixed one makes reports repeat.
constexpr TimePoint kStart =
    std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) + std::chrono::hours(20);

// --- What the cluster is made of ---

Result<std::vector<Json>> definitions() {
  std::vector<Json> all;
  for (const auto& [path, text] : assets()) {
    if (path.find("crds/") == std::string_view::npos) {
      continue;
    }
    MAINSTAY_ASSIGN(const std::vector<YamlDocument> documents, parseYaml(text, std::string(path)));
    for (const YamlDocument& document : documents) {
      all.push_back(document.value);
    }
  }
  return all;
}

GroupOptions groupOptions(const Scenario& scenario) {
  const auto owned = static_cast<int>(std::ranges::count_if(
      scenario.nodes, [](const ScenarioNode& node) { return node.providerId.empty(); }));
  const ScenarioGroup& group = scenario.group;
  return {
      .name = group.name,
      .min = group.min.value_or(owned),
      .max = std::max(group.max.value_or(owned), owned),
      .desired = owned,
      .launch = {.instanceType = kInstanceType, .labels = {}, .allocatable = allocatableWith(group.devices)}};
}

// "--runs=10m" is how long a container lasts; without it, until it is stopped, which takes a moment.
ModelRun containerLife(const ContainerSpec& spec, TimePoint) {
  constexpr std::string_view kRuns = "--runs=";
  ModelRun run;
  run.afterTerm = kStopping;
  for (const std::string& argument : spec.arguments) {
    if (argument.starts_with(kRuns)) {
      run.lasts = parseDuration(std::string_view(argument).substr(kRuns.size()));
    }
  }
  return run;
}

// --- The play ---

// Who did what, as the story tells it.
JsonObject storyOf(const TimelineEntry& entry) {
  if (const auto* line = std::get_if<KernelLine>(&entry.action)) {
    return {{"who", line->node}, {"what", "kernel log line"}, {"why", line->text}};
  }
  return {{"who", "scenario"}, {"what", entry.text}, {"why", ""}};
}

class Simulation {
 public:
  Simulation(const Scenario& scenario, std::uint64_t seed)
      : scenario_(scenario), seed_(seed), driver_(kStart, seed) {}
  // The driver must not outlive the recorder's watches, nor those the server that they are of.
  ~Simulation();
  Result<Report> play();

 private:
  Result<> build();
  Result<> addObjects();
  Result<> addNodes();
  Result<> dressNodes();
  Result<> settle();
  std::string whyUnsettled();
  Result<> playTimeline();
  Result<> run(TimePoint until);
  std::vector<Recorder::Deed> newDeeds();
  Report report();

  const Scenario& scenario_;
  const std::uint64_t seed_;
  VirtualDriver driver_;
  std::unique_ptr<Cluster> cluster_;
  std::shared_ptr<Recorder> recorder_;
  std::unique_ptr<RecordedProvider> provider_;
  std::unique_ptr<SimulatedController> controller_;
  TimePoint zero_{};
  std::size_t deedsSeen_ = 0;
  Result<> agentTrouble_;
};

Simulation::~Simulation() {
  if (recorder_) {
    driver_.stop(*recorder_);
  }
}

Result<Report> Simulation::play() {
  MAINSTAY_TRY(build());
  MAINSTAY_TRY(settle());
  MAINSTAY_TRY(playTimeline());
  MAINSTAY_TRY(run(zero_ + scenario_.until));
  MAINSTAY_TRY(recorder_->health());
  return report();
}

Result<> Simulation::build() {
  ClusterOptions options;
  options.seed = seed_;
  options.cloud.launchDelay = scenario_.group.launchDelay;
  options.cloud.terminateDelay = kShutDown;
  options.cloud.groups = {groupOptions(scenario_)};
  for (const ScenarioNode& node : scenario_.nodes) {
    if (node.providerId.empty()) {
      options.nodeNames.push_back(node.name);
    }
  }
  std::ranges::copy(scenario_.group.names, std::back_inserter(options.nodeNames));
  options.script = containerLife;
  options.http = false;
  MAINSTAY_ASSIGN(options.objects, definitions());
  options.aboard = [this](const Boot& boot) -> std::vector<std::shared_ptr<Loop>> {
    auto agent = simulatedAgent(cluster_->api(), boot, driver_);
    if (!agent) {
      agentTrouble_ = fail(std::move(agent).error());
      return {};
    }
    return {*std::move(agent)};
  };
  MAINSTAY_ASSIGN(cluster_, Cluster::start(std::move(options), driver_, driver_));
  recorder_ = std::make_shared<Recorder>(cluster_->api(), driver_);
  recorder_->follow([this] { return newDeeds(); });
  MAINSTAY_TRY(recorder_->open());
  driver_.start(recorder_);
  provider_ = std::make_unique<RecordedProvider>(*cluster_, *recorder_);
  MAINSTAY_TRY(addNodes());
  controller_ = std::make_unique<SimulatedController>(cluster_->api(), *provider_, driver_);
  controller_->start();
  return {};
}

Result<> Simulation::addObjects() {
  for (const Json& object : scenario_.objects) {
    if (const auto created = createObject(cluster_->api(), object, kPerson); !created) {
      return fail(Code::kInvalidArgument, findString(object, "kind") + " " +
                                              findString(object, "metadata", "name") +
                                              " is refused: " + created.error().toString());
    }
  }
  return {};
}

Result<> Simulation::addNodes() {
  for (const ScenarioNode& node : scenario_.nodes) {
    if (!node.providerId.empty()) {
      MAINSTAY_TRY(cluster_->startNode({.name = node.name,
                                        .providerId = node.providerId,
                                        .instanceType = kInstanceType,
                                        .labels = {},
                                        .taints = {},
                                        .allocatable = allocatableWith(scenario_.group.devices)}));
    }
  }
  return {};
}

// Labels and taints of the page, as a person would set them once the nodes are there.
Result<> Simulation::dressNodes() {
  for (const ScenarioNode& node : scenario_.nodes) {
    JsonObject labels;
    for (const auto& [key, value] : node.labels) {
      labels[key] = value;
    }
    JsonObject patch{{"metadata", JsonObject{{"labels", std::move(labels)}}}};
    if (!node.taints.empty()) {
      patch["spec"] = JsonObject{{"taints", node.taints}};
    }
    MAINSTAY_TRY(
        kube::patch(cluster_->api(), api::kNodes, "", node.name, kube::Body::kMergePatch, patch, kPerson));
  }
  return {};
}

Result<> Simulation::settle() {
  const TimePoint deadline = kStart + scenario_.group.launchDelay + kSettleWithin;
  bool dressed = false;
  std::string why = "nothing has happened yet";
  while (!why.empty() && driver_.now() < deadline) {
    MAINSTAY_TRY(run(driver_.now() + std::chrono::seconds(1)));
    MAINSTAY_TRY(agentTrouble_);
    why = whyUnsettled();
    if (why.empty() && !std::exchange(dressed, true)) {
      MAINSTAY_TRY(dressNodes());
      // Only now: new nodes become schedulable one by one, and a job would take those that come first.
      MAINSTAY_TRY(addObjects());
      why = "labels and taints were just set, and the page's objects made";
    }
  }
  if (!why.empty()) {
    return fail(Code::kFailedPrecondition,
                "the cluster did not settle within " + humanDuration(deadline - kStart) + ": " + why);
  }
  cluster_->cloud().setCapacity(kInstanceType, scenario_.group.capacity);
  recorder_->markZero();
  zero_ = driver_.now();
  return {};
}

std::string Simulation::whyUnsettled() {
  World world;
  for (const Entry& entry : recorder_->recording().entries) {
    world.apply(entry);
  }
  for (const ScenarioNode& node : scenario_.nodes) {
    if (!shows(nodeView(world, node.name), JsonObject{{"ready", true}})) {
      return "node " + node.name + " is not Ready";
    }
  }
  for (const auto& [key, job] : world.all("pytorchjobs")) {
    const JsonObject view = jobView(world, key);
    if (!shows(view, JsonObject{{"suspended", true}}) && !shows(view, JsonObject{{"condition", "Running"}})) {
      return "job " + key + " does not run";
    }
  }
  for (const auto& [key, pod] : world.all("pods")) {
    if (shows(podView(world, key), JsonObject{{"phase", "Pending"}})) {
      return "pod " + key + " is pending";
    }
  }
  return "";
}

Result<> Simulation::run(TimePoint until) {
  if (!driver_.runUntil(until)) {
    return fail(Code::kInternal, "the programs never come to rest at " + formatMicroTime(driver_.now()) +
                                     ": they undo each other's work again and again");
  }
  return {};
}

Result<> Simulation::playTimeline() {
  Actions actions(*cluster_, *controller_, *provider_, driver_, scenario_.group.name);
  for (const TimelineEntry& entry : scenario_.timeline) {
    // What happens at one moment happens before anybody can answer to it.
    if (const TimePoint at = zero_ + entry.at; at > driver_.now()) {
      MAINSTAY_TRY(run(at));
    }
    recorder_->note(kScenarioKind, storyOf(entry));
    recorder_->beginPerson();
    Result<> done = actions.carryOut(entry.action);
    recorder_->endPerson();
    if (!done) {
      return fail(Code::kInvalidArgument,
                  "line " + std::to_string(entry.line) + ": " + entry.text + ": " + done.error().toString());
    }
  }
  return {};
}

std::vector<Recorder::Deed> Simulation::newDeeds() {
  std::vector<Recorder::Deed> deeds;
  const std::vector<CloudEffect> all = cluster_->cloud().effects();
  for (; deedsSeen_ < all.size(); ++deedsSeen_) {
    const CloudEffect& effect = all[deedsSeen_];
    if (effect.action == "SetInstanceHealth") {
      continue;  // the recorded provider tells it
    }
    deeds.push_back({effect.at,
                     {{"cloud", effect.action},
                      {"who", "cloud"},
                      {"id", effect.instance},
                      {"instance", namesOfInstance(*cluster_, effect.instance)},
                      {"effect", true},
                      {"message", effect.detail}}});
  }
  return deeds;
}

Report Simulation::report() {
  const Recording& recording = recorder_->recording();
  Report report{.title = scenario_.title,
                .file = scenario_.file,
                .seed = seed_,
                .zero = recording.zero,
                .span = recording.end - recording.zero,
                .story = narrate(recording),
                .judgements = {},
                .violations = checkInvariants(recording, controller_->runs())};
  for (const Expectation& expectation : scenario_.expectations) {
    report.judgements.push_back({expectation, false, judge(expectation, false, recording)});
  }
  for (const Expectation& expectation : scenario_.nevers) {
    report.judgements.push_back({expectation, true, judge(expectation, true, recording)});
  }
  return report;
}

}  // namespace

bool Report::ok() const {
  return violations.empty() &&
         std::ranges::all_of(judgements, [](const Judgement& one) { return one.verdict.ok; });
}

Result<Report> play(const Scenario& scenario, std::uint64_t seed) {
  return Simulation(scenario, seed).play();
}

}  // namespace mainstay::local
