#include "cli/demo.h"

#include <algorithm>
#include <functional>

#include "api/names.h"
#include "base/interrupt.h"
#include "cli/demo_cluster.h"
#include "cli/progress.h"
#include "cli/rehearsal.h"
#include "cli/story.h"
#include "kube/watch_cache.h"

namespace mainstay::cli {

namespace {

using namespace std::chrono_literals;

constexpr int kCheckpointStep = 77;  // the seed's own story: AWS's write-up of Llama-2 on Trainium
constexpr int kFaultStep = 86;
constexpr char kFaultyNode[] = "node-b";
constexpr Duration kStageLimit = 60s;  // no stage of the story takes longer on a machine that works
constexpr Duration kLookEvery = 10ms;  // at the trainer's progress file and the cloud's record

// The line of the Neuron runtime, as AWS's tutorial writes it (npd.md 3.2).
std::string faultLine(TimePoint now) {
  return formatTime(now) +
         " NEURON_HW_ERR=DMA_ERROR instance-id=i-00000000000000000 hostname=node-b nd-id=3 nc-id=0 "
         "serial-num=0000 action=TERMINATE_INSTANCE";
}

// Every version of every object of one kind, as the watch tells them.
class Onlooker final : private kube::Reflector::Sink {
 public:
  using Saw = std::function<void(const Json&, TimePoint)>;
  Onlooker(kube::Api& api, const api::Resource& resource, Signal& signal, Saw saw)
      : saw_(std::move(saw)), reflector_(api, resource, {}, signal, *this) {}
  // Takes in what is new, then tells it: two steps, so that several onlookers can look first and tell in order of cause.
  void look(TimePoint now) { reflector_.sync(now); }
  void tell(TimePoint now) {
    for (const Json& object : std::exchange(news_, {})) {
      saw_(object, now);
    }
  }

 private:
  void replaceAll(std::vector<Json> objects) override { news_ = std::move(objects); }
  void put(Json object) override { news_.push_back(std::move(object)); }
  void erase(const Json&) override {}

  const Saw saw_;
  std::vector<Json> news_;
  kube::Reflector reflector_;
};

// Plays the story and watches it: one thread, all it sees goes into the Story.
class Stage {
 public:
  Stage(const DemoOptions& options, DemoCluster& cluster, const Clock& clock, std::ostream& out)
      : options_(options),
        cluster_(cluster),
        clock_(clock),
        out_(out),
        story_(cluster.job(), kFaultyNode),
        progress_(cluster.checkpointFolder() + "/progress-rank-0.jsonl") {
    watch(api::kNodeRecoveries,
          [this](const Json& object, TimePoint now) { story_.sawRecovery(object, now); });
    watch(api::kNodes, [this](const Json& object, TimePoint now) {
      sawNode(object);
      story_.sawNode(object, now);
    });
    watch(api::kPyTorchJobs, [this](const Json& object, TimePoint now) { story_.sawJob(object, now); });
  }

  Result<> play() {
    MAINSTAY_TRY(await("three nodes to be Schedulable", [&] { return schedulable_.size() >= 3; }));
    MAINSTAY_TRY(cluster_.submitJob());
    MAINSTAY_TRY(await("training to reach step " + std::to_string(kFaultStep),
                       [&] { return story_.step() >= kFaultStep; }));
    const std::string line = faultLine(clock_.now());
    say(" fault     writing to " + std::string(kFaultyNode) + "'s kernel log: " + line + "\n");
    story_.fault(clock_.now(), line, story_.step());
    MAINSTAY_TRY(cluster_.writeFault(kFaultyNode, line));
    return await("the incident to be closed and training to finish", [&] { return story_.over(); });
  }

  const Story& story() const { return story_; }

 private:
  Result<> await(const std::string& what, const std::function<bool()>& reached) {
    const Deadline deadline = Deadline::after(kStageLimit);
    while (true) {
      look();
      if (reached()) {
        return {};
      }
      if (interrupted()) {
        return fail(Code::kCancelled, "interrupted while waiting for " + what);
      }
      if (deadline.expired()) {
        cluster_.keepFolder();
        return fail(Code::kDeadlineExceeded, "waited " + humanDuration(kStageLimit) + " in vain for " + what +
                                                 "; the logs are in " + cluster_.folder());
      }
      MAINSTAY_TRY(cluster_.checkPrograms());
      signal_.waitUntil(clock_, clock_.now() + kLookEvery, {});
    }
  }

  void watch(const api::Resource& resource, Onlooker::Saw saw) {
    onlookers_.push_back(std::make_unique<Onlooker>(cluster_.api(), resource, signal_, std::move(saw)));
  }

  // Incidents cause what nodes show, and nodes what jobs do: a look at the effects first cannot miss a cause.
  void look() {
    const TimePoint now = clock_.now();
    for (auto onlooker = onlookers_.rbegin(); onlooker != onlookers_.rend(); ++onlooker) {
      (*onlooker)->look(now);
    }
    for (const auto& onlooker : onlookers_) {
      onlooker->tell(now);
    }
    const auto effects = cluster_.cloud().effects();
    for (; effects_ < effects.size(); ++effects_) {
      const local::CloudEffect& effect = effects[effects_];
      story_.sawCloud(effect.action, effect.instance, effect.detail, effect.at);
    }
    for (const Json& line : progress_.poll()) {
      story_.sawProgress(line);
      tellStep(line);
    }
  }

  void sawNode(const Json& object) {
    const std::string status = findString(object, "metadata", "labels", api::kHealthStatusLabel);
    if (status == api::kSchedulable) {
      schedulable_.insert(findString(object, "metadata", "name"));
    }
  }

  // A few of the steps, so that one sees it train.
  void tellStep(const Json& line) {
    const Json* number = find(line, "step");
    const std::string event = findString(line, "event");
    if (!number || !number->is_int64()) {
      return;
    }
    const std::int64_t step = number->get_int64();
    if (event == "step" && (step == 1 || step % 40 == 0)) {
      char text[64];
      std::snprintf(text, sizeof text, " step %3d  loss %.3f\n", static_cast<int>(step),
                    find(line, "loss") ? find(line, "loss")->to_number<double>() : 0);
      say(text);
    } else if (event == "checkpoint" && step == kCheckpointStep) {
      say(" step  77  checkpoint (complete)\n");
    } else if (event == "resumed") {
      say(" resumed   from step " + std::to_string(step) + "\n");
    }
  }

  void say(const std::string& text) {
    if (options_.format == Format::kText && options_.progress) {
      out_ << text;
      out_.flush();
    }
  }

  const DemoOptions& options_;
  DemoCluster& cluster_;
  const Clock& clock_;
  std::ostream& out_;
  Signal signal_;
  Story story_;
  Progress progress_;
  std::vector<std::unique_ptr<Onlooker>> onlookers_;
  std::set<std::string> schedulable_;
  std::size_t effects_ = 0;
};

void printEnd(const Stage& stage, const Story::Expected& expected, const DemoOptions& options,
              std::ostream& out) {
  const Palette palette = Palette::ofTerminal(1);
  std::string text = "\n" + stage.story().timeline(palette) + "\n" + stage.story().summary(expected);
  for (const std::string& failure : stage.story().failures(expected)) {
    text += palette.paint(Colour::kRed, " NOT SO: ") + failure + "\n";
  }
  print(out, options.format, stage.story().document(expected), text);
}

Result<bool> playDemo(const DemoOptions& options, std::ostream& out) {
  const SteadyWallClock clock;
  MAINSTAY_ASSIGN(auto cluster, DemoCluster::start(options, clock));
  MAINSTAY_ASSIGN(Rehearsal rehearsal, Rehearsal::start(options.programs + "/mainstay-trainer",
                                                        cluster->trainerArguments(), cluster->ranks()));
  if (options.format == Format::kText) {
    out << " cluster   3 x trn1.32xlarge in Auto Scaling group " << kWorkerGroup << ", 1 job, "
        << cluster->ranks() << " ranks\n";
    out.flush();
  }
  Stage stage(options, *cluster, clock, out);
  MAINSTAY_TRY(stage.play());
  Story::Expected expected;
  expected.checkpoint = kCheckpointStep;
  auto unbroken = rehearsal.sha256(Deadline::after(kStageLimit));
  if (!unbroken) {
    return fail(std::move(unbroken).error().with("the run without a fault, to compare with"));
  }
  expected.sha256 = *unbroken;
  printEnd(stage, expected, options, out);
  if (options.keep) {
    out << "\n The cluster stays up until you press Ctrl-C. In another terminal:\n\n   export KUBECONFIG="
        << cluster->kubeconfig() << "\n   kubectl get nodes -L " << api::kHealthStatusLabel
        << "\n   kubectl get noderecoveries\n   mainstay why node " << kFaultyNode << "\n";
    out.flush();
    waitForInterrupt();
  }
  return stage.story().failures(expected).empty();
}

}  // namespace

int demo(const DemoOptions& options, std::ostream& out) {
  if (!options.kmsg.empty() && !options.allowRealKmsg) {
    out << "mainstay demo: --kmsg " << options.kmsg
        << " writes a fault line into this machine's real kernel log, where another detector on this machine "
           "would act on "
           "it.\n  If there is none, say so: MAINSTAY_REAL_KMSG=1 mainstay demo --kmsg "
        << options.kmsg << "\n";
    return 2;
  }
  blockInterrupts();
  const Result<bool> good = playDemo(options, out);
  if (!good) {
    out << "mainstay demo: " << good.error().toString() << "\n";
    return 1;
  }
  return *good ? 0 : 1;
}

}  // namespace mainstay::cli
