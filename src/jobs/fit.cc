#include "jobs/fit.h"

#include "api/names.h"

namespace mainstay::jobs {
namespace {

bool open(const api::Node& node) {
  return node.ready() && !node.unschedulable && !node.meta.deleted &&
         node.meta.label(api::kHealthStatusLabel) == api::kSchedulable;
}

// "16 of aws.amazon.com/neuron": what a pod asks for, apart from its own place.
std::string demandOf(const api::Pod& pod) {
  std::string text;
  for (const auto& [name, amount] : pod.requests) {
    if (name != "pods") {
      text += (text.empty() ? "" : ", ") +
              (amount % 1000 == 0 ? std::to_string(amount / 1000) : std::to_string(amount) + "m") + " of " +
              name;
    }
  }
  return text.empty() ? "no resources" : text;
}

}  // namespace

Fit::Fit(const Objects<api::Node>& nodes, const Objects<api::Pod>& pods) {
  std::map<std::string, std::size_t> placeOf;
  for (const auto& [name, node] : nodes) {
    if (open(*node)) {
      placeOf[name] = rooms_.size();
      rooms_.push_back({node, node->allocatable});
    }
  }
  for (const auto& [key, pod] : pods) {
    const auto at = placeOf.find(pod->nodeName);
    if (at != placeOf.end() && !pod->finished()) {
      api::subtract(rooms_[at->second].free, pod->requests);
    }
  }
}

int Fit::fill(std::vector<Room>& rooms, const api::Pod& pod, int count) {
  int placed = 0;
  for (Room& room : rooms) {
    if (!api::matchesNode(pod, *room.node)) {
      continue;
    }
    while (placed < count && api::fits(pod.requests, room.free)) {
      api::subtract(room.free, pod.requests);
      ++placed;
    }
  }
  return placed;
}

bool Fit::place(const Job& job, std::string& why) {
  std::vector<Room> rooms = rooms_;
  for (const Replica& replica : job.replicas) {
    const int placed = fill(rooms, replica.pod, replica.count);
    if (placed < replica.count) {
      why = std::to_string(placed) + " of " + std::to_string(replica.count) + " " + replica.type +
            " pods (each " + demandOf(replica.pod) + ") fit on the " + std::to_string(rooms_.size()) +
            " Schedulable, Ready nodes";
      return false;
    }
  }
  rooms_ = std::move(rooms);
  return true;
}

void Fit::reserve(const Job& job, const std::vector<int>& missing) {
  for (std::size_t i = 0; i < job.replicas.size(); ++i) {
    fill(rooms_, job.replicas[i].pod, missing[i]);
  }
}

}  // namespace mainstay::jobs
