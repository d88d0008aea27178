#include "local/cluster/cloud.h"

#include "cloud/local/local_provider.h"
#include "cloud/provider_contract.h"
#include "local/cluster/cluster_http.h"
#include "local/cluster/cluster_testing.h"

namespace mainstay::local {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// Remembers what it was told.
class RecordedMachines final : public Machines {
 public:
  void powerOn(const cloud::Instance& instance, const LaunchTemplate& launch) override {
    log.push_back("on " + instance.id + " " + launch.instanceType);
  }
  void powerOff(const cloud::Instance& instance) override { log.push_back("off " + instance.id); }
  std::vector<std::string> log;
};

class CloudTest : public testing::Test {
 protected:
  void start(CloudOptions options = {}) {
    options.groups = {{.name = "workers", .min = 0, .max = 4, .desired = 2}};
    options.terminateDelay = seconds(5);
    cloud_ = std::make_shared<Cloud>(options, time_, machines_);
    time_.start(cloud_);
    pass(seconds(2));
    machines_.log.clear();
  }
  void pass(Duration span) { ASSERT_TRUE(time_.runUntil(time_.now() + span)); }
  cloud::Group group() { return cloud_->group("workers").value(); }
  std::string lifecycle(const std::string& id) {
    const auto instance = cloud_->instance(id);
    return instance ? instance->lifecycle : "gone";
  }

  RecordedMachines machines_;
  VirtualDriver time_{TimePoint(std::chrono::hours(24 * 365 * 50)), 1};
  std::shared_ptr<Cloud> cloud_;
};

TEST_F(CloudTest, LaunchesWhatTheGroupWants) {
  start();
  ASSERT_EQ(group().instances.size(), 2u);
  for (const cloud::Instance& instance : group().instances) {
    EXPECT_EQ(instance.lifecycle, "InService");
    EXPECT_EQ(instance.id.size(), 19u);
    EXPECT_EQ(instance.providerId, "aws:///us-west-2b/" + instance.id);
  }
}

TEST_F(CloudTest, AnUnhealthyInstanceGoesFirstAndThenItsSuccessorComes) {
  start();
  const std::string id = group().instances[0].id;
  ASSERT_TRUE(cloud_->setHealth(id, false, "token-1"));
  pass(seconds(1));
  EXPECT_EQ(lifecycle(id), "Terminating");
  EXPECT_EQ(machines_.log, std::vector<std::string>{"off " + id});
  EXPECT_EQ(group().instances.size(), 2u);
  pass(seconds(5));
  EXPECT_EQ(lifecycle(id), "Terminated");
  EXPECT_EQ(machines_.log.size(), 2u);
  EXPECT_EQ(group().instances.size(), 2u);
  pass(std::chrono::hours(2));
  EXPECT_EQ(lifecycle(id), "gone");
}

TEST_F(CloudTest, TheLedgerHoldsEachEffectOnceWithItsToken) {
  start();
  const std::string id = group().instances[0].id;
  const std::size_t before = cloud_->effects().size();
  ASSERT_TRUE(cloud_->setHealth(id, false, "token-1"));
  ASSERT_TRUE(cloud_->setHealth(id, false, "token-2"));
  pass(seconds(20));
  std::vector<std::string> after;
  for (const CloudEffect& effect : cloud_->effects()) {
    after.push_back(effect.action + " " + effect.token);
  }
  after.erase(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_EQ(after,
            (std::vector<std::string>{"SetInstanceHealth token-1", "TerminateInstance ", "LaunchInstance "}));
}

TEST_F(CloudTest, HealthCannotBeSetOnTheWayOut) {
  start();
  const std::string id = group().instances[0].id;
  ASSERT_TRUE(cloud_->setHealth(id, false, ""));
  pass(seconds(1));
  EXPECT_EQ(cloud_->setHealth(id, true, "").error().code(), Code::kFailedPrecondition);
  EXPECT_EQ(cloud_->setHealth("i-0none", false, "").error().code(), Code::kNotFound);
}

TEST_F(CloudTest, AMarkTakenBackInTimeHasNoEffect) {
  start();
  const std::string id = group().instances[0].id;
  ASSERT_TRUE(cloud_->setHealth(id, false, ""));
  ASSERT_TRUE(cloud_->setHealth(id, true, ""));
  pass(minutes(1));
  EXPECT_EQ(lifecycle(id), "InService");
}

TEST_F(CloudTest, WithoutCapacityTheGroupSaysSoAndTriesAgain) {
  start();
  cloud_->setCapacity("trn1.32xlarge", 0);
  ASSERT_TRUE(cloud_->setHealth(group().instances[0].id, false, ""));
  pass(seconds(10));
  EXPECT_EQ(group().instances.size(), 1u);
  EXPECT_EQ(group().activities[0].status, "Failed");
  EXPECT_TRUE(group().activities[0].statusMessage.starts_with(
      "We currently do not have sufficient trn1.32xlarge capacity in the Availability Zone you requested "
      "(us-west-2b). Our system will be working on provisioning additional capacity."));
  pass(minutes(30));
  EXPECT_EQ(group().activities.size(), 20u);
  cloud_->setCapacity("trn1.32xlarge", 1);
  pass(minutes(2));
  EXPECT_EQ(group().instances.size(), 2u);
  EXPECT_EQ(group().activities[0].status, "Successful");
}

TEST_F(CloudTest, AMachineThatIsLostIsReplaced) {
  start();
  const std::string id = group().instances[0].id;
  ASSERT_TRUE(cloud_->destroy(id, "power"));
  pass(seconds(10));
  EXPECT_EQ(lifecycle(id), "Terminated");
  EXPECT_EQ(group().instances.size(), 2u);
}

TEST_F(CloudTest, CapacityIsRaisedWithinTheMaximum) {
  start();
  ASSERT_TRUE(cloud_->setDesired("workers", 4));
  pass(seconds(5));
  EXPECT_EQ(group().instances.size(), 4u);
  EXPECT_EQ(cloud_->setDesired("workers", 5).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(cloud_->setDesired("workers", 3).error().code(), Code::kInvalidArgument);
  EXPECT_EQ(cloud_->setDesired("others", 1).error().code(), Code::kNotFound);
}

// --- The contract of all providers, by direct calls and over HTTP ---

class LocalWorld final : public cloud::ProviderWorld {
 public:
  explicit LocalWorld(bool http) {
    ClusterOptions options;
    options.cloud.groups = {threeWorkers()};
    options.http = http;
    options.objects = readObjects("examples/crds/pytorchjobs.yaml");
    cluster_ = Cluster::start(options, time_, time_).value();
    if (http) {
      provider_ = cloud::LocalProvider::create(cluster_->url()).value();
    } else {
      provider_ = std::make_unique<DirectProvider>(cluster_->cloud());
    }
    settle();
  }
  cloud::Provider& provider() override { return *provider_; }
  std::string group() override { return "workers"; }
  std::string unknownProviderId() override { return "aws:///us-west-2b/i-00000000000000000"; }
  void settle() override { ASSERT_TRUE(time_.runUntil(time_.now() + seconds(10))); }

 private:
  VirtualDriver time_{TimePoint(std::chrono::hours(24 * 365 * 50)), 1};
  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<cloud::Provider> provider_;
};

template <bool kHttp>
std::unique_ptr<cloud::ProviderWorld> makeLocalWorld() {
  return std::make_unique<LocalWorld>(kHttp);
}

}  // namespace
}  // namespace mainstay::local

namespace mainstay::cloud {

INSTANTIATE_TEST_SUITE_P(Direct, ProviderContract, testing::Values(&local::makeLocalWorld<false>));
INSTANTIATE_TEST_SUITE_P(Http, ProviderContract, testing::Values(&local::makeLocalWorld<true>));

}  // namespace mainstay::cloud
