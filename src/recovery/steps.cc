#include "recovery/steps.h"

#include <array>

namespace mainstay::recovery {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Action>> kStepNames = {
    "OpenIncident", "UpdateIncident", "DeleteIncident", "TakeSlots",   "ReleaseSlots",
    "IsolateNode",  "RestoreNode",    "SetSchedulable", "DeleteNode",  "EvictPod",
    "DeletePod",    "ForceDeletePod", "MarkUnhealthy",  "MarkHealthy", "PostEvent"};

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;  // clang 16 does not deduce aggregates by itself

std::string podText(const PodRef& pod) {
  return pod.ns + "/" + pod.name + " " + pod.uid;
}

std::string targetOf(const Step& step) {
  return std::visit(Overloaded{
                        [&](const OpenIncident& a) { return step.incident + " for " + a.node.name; },
                        [&](const UpdateIncident& a) {
                          return step.incident + " " + std::string(phaseName(a.status.phase));
                        },
                        [&](const DeleteIncident&) { return step.incident; },
                        [&](const TakeSlots& a) { return step.incident + " in " + a.policy; },
                        [&](const ReleaseSlots& a) { return step.incident + " in " + a.policy; },
                        [](const EvictPod& a) { return podText(a.pod); },
                        [](const DeletePod& a) { return podText(a.pod); },
                        [](const ForceDeletePod& a) { return podText(a.pod); },
                        [](const MarkUnhealthy& a) { return a.providerId; },
                        [](const MarkHealthy& a) { return a.providerId; },
                        [](const PostEvent& a) {
                          return a.subject.kind + "/" + a.subject.name + " " + a.reason + ": " + a.message;
                        },
                        [&](const auto&) { return step.node; },
                    },
                    step.action);
}

}  // namespace

std::string_view stepName(const Step& step) {
  return kStepNames.at(step.action.index());
}

std::string describe(const Step& step) {
  return std::string(stepName(step)) + " " + targetOf(step);
}

// What follows these assumes that they have happened. The others are tried again by the next plan.
bool isBarrier(const Step& step) {
  return std::visit(Overloaded{
                        [](const OpenIncident&) { return true; },
                        [](const UpdateIncident&) { return true; },
                        [](const TakeSlots&) { return true; },
                        [](const IsolateNode&) { return true; },
                        [](const SetSchedulable&) { return true; },
                        [](const MarkUnhealthy&) { return true; },
                        [](const MarkHealthy&) { return true; },
                        [](const auto&) { return false; },
                    },
                    step.action);
}

}  // namespace mainstay::recovery
