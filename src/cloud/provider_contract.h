// The contract that every Provider passes, as a GoogleTest suite. A test binary includes this in one file and
// says
//
//   INSTANTIATE_TEST_SUITE_P(Local, ProviderContract, testing::Values(&makeLocalWorld));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cloud/provider.h"

namespace mainstay::cloud {

// A cloud with one group of at least two instances, all InService and healthy, and as many as the group
// wants.
class ProviderWorld {
 public:
  virtual ~ProviderWorld() = default;
  virtual Provider& provider() = 0;
  virtual std::string group() = 0;
  // A provider id of this cloud's form whose instance never was.
  virtual std::string unknownProviderId() = 0;
  // Lets the cloud carry out what is under way, to the end.
  virtual void settle() = 0;
};

class ProviderContract : public testing::TestWithParam<std::unique_ptr<ProviderWorld> (*)()> {
 protected:
  ProviderContract() : world_(GetParam()()) {}
  Provider& provider() { return world_->provider(); }
  Group group() { return provider().describeGroup(world_->group()).value(); }
  Instance first() { return group().instances.at(0); }

  std::unique_ptr<ProviderWorld> world_;
};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProviderContract);

TEST_P(ProviderContract, DescribesAnInstanceAsItsGroupDoes) {
  const Instance member = first();
  const auto alone = provider().describe(member.providerId);
  ASSERT_TRUE(alone.has_value()) << alone.error().toString();
  ASSERT_TRUE(alone->has_value());
  EXPECT_EQ((*alone)->id, member.id);
  EXPECT_EQ((*alone)->providerId, member.providerId);
  EXPECT_EQ((*alone)->group, world_->group());
  EXPECT_EQ((*alone)->lifecycle, "InService");
  EXPECT_TRUE((*alone)->healthy);
  EXPECT_GT((*alone)->launched, TimePoint{});
  EXPECT_EQ(instanceIdOf(member.providerId), member.id);
}

TEST_P(ProviderContract, DescribesAGroupWithinItsBounds) {
  const Group present = group();
  EXPECT_EQ(present.name, world_->group());
  EXPECT_LE(present.min, present.desired);
  EXPECT_LE(present.desired, present.max);
  EXPECT_EQ(static_cast<int>(present.instances.size()), present.desired);
}

TEST_P(ProviderContract, HasNoInstanceThatNeverWas) {
  const auto nobody = provider().describe(world_->unknownProviderId());
  ASSERT_TRUE(nobody.has_value()) << nobody.error().toString();
  EXPECT_FALSE(nobody->has_value());
}

TEST_P(ProviderContract, HasNoGroupThatNeverWas) {
  const auto none = provider().describeGroup("no-such-group");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code(), Code::kNotFound);
}

TEST_P(ProviderContract, RefusesWhatIsNoProviderId) {
  for (const char* text : {"", "i-1", "aws://", "aws:///zone/"}) {
    const auto nobody = provider().describe(text);
    ASSERT_FALSE(nobody.has_value()) << text;
    EXPECT_EQ(nobody.error().code(), Code::kInvalidArgument) << text;
  }
}

TEST_P(ProviderContract, ReplacesAnInstanceThatIsMarkedUnhealthy) {
  const Group before = group();
  const Instance bad = before.instances.at(0);
  const auto marked = provider().markUnhealthy(bad.providerId, "incident-1");
  ASSERT_TRUE(marked.has_value()) << marked.error().toString();
  world_->settle();

  const auto old = provider().describe(bad.providerId);
  ASSERT_TRUE(old.has_value()) << old.error().toString();
  EXPECT_TRUE(!*old || (*old)->lifecycle == "Terminated");
  int fresh = 0;
  for (const Instance& instance : group().instances) {
    if (instance.lifecycle == "InService") {
      EXPECT_NE(instance.id, bad.id);
      fresh += instance.launched > bad.launched ? 1 : 0;
    }
  }
  EXPECT_GE(fresh, 1);
}

TEST_P(ProviderContract, MarkingTwiceReplacesOnce) {
  const Instance bad = first();
  const std::size_t activitiesBefore = group().activities.size();
  ASSERT_TRUE(provider().markUnhealthy(bad.providerId, "incident-1").has_value());
  ASSERT_TRUE(provider().markUnhealthy(bad.providerId, "incident-1").has_value());
  world_->settle();
  const std::size_t activitiesOnce = group().activities.size();
  const auto again = provider().markUnhealthy(bad.providerId, "incident-1");
  EXPECT_TRUE(again.has_value()) << again.error().toString();
  world_->settle();
  EXPECT_EQ(group().activities.size(), activitiesOnce);
  EXPECT_LE(activitiesOnce - activitiesBefore, 2u);  // one terminates, one launches
}

TEST_P(ProviderContract, MarkingWhatIsGoneDoesNothing) {
  const auto gone = provider().markUnhealthy(world_->unknownProviderId(), "incident-1");
  EXPECT_TRUE(gone.has_value()) << gone.error().toString();
  world_->settle();
  EXPECT_EQ(static_cast<int>(group().instances.size()), group().desired);
}

TEST_P(ProviderContract, TakingBackWhatWasNeverMarkedDoesNothing) {
  const Instance sound = first();
  const auto taken = provider().markHealthy(sound.providerId);
  EXPECT_TRUE(taken.has_value()) << taken.error().toString();
  world_->settle();
  EXPECT_EQ(first().id, sound.id);
}

}  // namespace mainstay::cloud
