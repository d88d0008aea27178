#include "local/scenario/recorder.h"

#include <algorithm>
#include <charconv>

#include "api/object.h"

namespace mainstay::local {
namespace {

std::uint64_t revisionOf(const Json& object) {
  const std::string text = findString(object, "metadata", "resourceVersion");
  std::uint64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

}  // namespace

Result<> Recorder::open() {
  for (const api::Resource* resource : {&api::kNodes, &api::kPods, &api::kEvents, &api::kPyTorchJobs,
                                        &api::kRecoveryPolicies, &api::kNodeRecoveries}) {
    MAINSTAY_ASSIGN(const kube::ObjectList present, kube::list(api_, *resource));
    for (const Json& object : present.items) {
      take(resource->plural, object, false);
    }
    MAINSTAY_ASSIGN(auto stream,
                    api_.watch(resource->path(), {{"resourceVersion", present.resourceVersion}}, signal()));
    sources_.push_back({resource->plural, std::move(stream)});
  }
  return {};
}

TimePoint Recorder::step(TimePoint) {
  catchUp();
  return kNever;
}

void Recorder::catchUp() {
  for (Deed& deed : deeds_ ? deeds_() : std::vector<Deed>()) {
    insert(deed.at, kCloudKind, std::move(deed.what));
  }
  struct News {
    const std::string* kind;
    kube::WatchEvent event;
  };
  std::vector<News> news;
  for (Source& source : sources_) {
    auto events = source.stream->poll();
    if (!events) {
      health_ = fail(std::move(events).error().with("recording " + source.kind));
      continue;
    }
    for (kube::WatchEvent& event : *events) {
      if (event.type != kube::WatchEvent::Type::kBookmark) {
        news.push_back({&source.kind, std::move(event)});
      }
    }
  }
  // One revision counts the writes of all kinds.
  std::ranges::stable_sort(news, {}, [](const News& one) { return revisionOf(one.event.object); });
  for (const News& one : news) {
    take(*one.kind, one.event.object, one.event.type == kube::WatchEvent::Type::kDeleted);
  }
}

void Recorder::take(const std::string& kind, const Json& object, bool gone) {
  const std::string ns = findString(object, "metadata", "namespace");
  const std::string name = findString(object, "metadata", "name");
  const std::string key = ns.empty() ? name : ns + "/" + name;
  Version& present = present_[{kind, key}];
  Entry entry{clock_.now(), kind, key, present, gone ? nullptr : std::make_shared<const Json>(object),
              person_};
  present = entry.after;
  recording_.entries.push_back(std::move(entry));
}

void Recorder::note(const std::string& kind, JsonObject what) {
  catchUp();
  insert(clock_.now(), kind, std::move(what));
}

// Where it belongs in time: of the cloud's deeds nobody tells us, so that some are found later than what followed them.
void Recorder::insert(TimePoint at, const std::string& kind, JsonObject what) {
  const std::string key = std::to_string(recording_.entries.size());
  const auto place = std::ranges::upper_bound(recording_.entries, at, {}, &Entry::at);
  recording_.entries.insert(place,
                            {at, kind, key, nullptr, std::make_shared<const Json>(std::move(what)), person_});
}

void Recorder::beginPerson() {
  catchUp();
  person_ = true;
}

void Recorder::endPerson() {
  catchUp();
  person_ = false;
}

void Recorder::markZero() {
  catchUp();
  recording_.zero = clock_.now();
  recording_.zeroIndex = recording_.entries.size();
}

const Recording& Recorder::recording() {
  catchUp();
  recording_.end = clock_.now();
  return recording_;
}

}  // namespace mainstay::local
