// Fit: is there room for a whole group right now? First fit into the free part of healthy nodes, as coarse as
// the scheduler is fine: a group is only started when all of it has a place.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/core.h"
#include "jobs/job.h"

namespace mainstay::jobs {

template <class T>
using Objects = std::map<std::string, std::shared_ptr<const T>>;

class Fit {
 public:
  // Nodes that are Schedulable, Ready and not cordoned, less what the pods on them ask for.
  Fit(const Objects<api::Node>& nodes, const Objects<api::Pod>& pods);

  // Takes room for every pod of the job, or for none of them: then the answer says which did not fit.
  bool place(const Job& job, std::string& why);
  // Takes whatever room there is for pods of the job that are not yet on a node: `missing` of each replica.
  void reserve(const Job& job, const std::vector<int>& missing);

 private:
  struct Room {
    std::shared_ptr<const api::Node> node;
    api::Resources free;
  };
  // How many of `count` equal pods found a place in `rooms`.
  static int fill(std::vector<Room>& rooms, const api::Pod& pod, int count);
  std::vector<Room> rooms_;
};

}  // namespace mainstay::jobs
