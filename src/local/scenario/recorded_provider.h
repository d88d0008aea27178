// RecordedProvider: the local cloud as the simulated controller reaches it; every call that could change
// something is written down, with whether it did.
#pragma once

#include "local/cluster/cluster.h"
#include "local/scenario/recorder.h"

namespace mainstay::local {

class RecordedProvider final : public cloud::Provider {
 public:
  // Both outlive it.
  RecordedProvider(Cluster& cluster, Recorder& recorder)
      : cluster_(cluster), recorder_(recorder), inner_(cluster.cloud()) {}
  std::string name() const override { return inner_.name(); }
  Result<std::optional<cloud::Instance>> describe(const std::string& id) override {
    return inner_.describe(id);
  }
  Result<cloud::Group> describeGroup(const std::string& group) override {
    return inner_.describeGroup(group);
  }
  Result<> markUnhealthy(const std::string& id, const std::string& token) override;
  Result<> markHealthy(const std::string& id) override;

 private:
  void note(const std::string& id, const char* status, bool effect, const Result<>& result);

  Cluster& cluster_;
  Recorder& recorder_;
  DirectProvider inner_;
};

// The names by which a scenario may call an instance: its id, and that of its node.
JsonArray namesOfInstance(const Cluster& cluster, const std::string& id);

}  // namespace mainstay::local
