#include "agent/testing.h"

#include <algorithm>

#include "api/names.h"

namespace mainstay::agent::testing {

std::vector<std::string> wordsOf(const std::vector<SourceNews>& news) {
  std::vector<std::string> words;
  for (const SourceNews& one : news) {
    if (const auto* record = std::get_if<fault::Record>(&one)) {
      words.push_back(record->text);
    } else if (const auto* lost = std::get_if<RecordsLost>(&one)) {
      words.push_back("lost " + std::to_string(lost->count));
    } else if (const auto* unparsed = std::get_if<LinesUnparsed>(&one)) {
      words.push_back("unparsed " + std::to_string(unparsed->count));
    } else {
      words.push_back(std::holds_alternative<SourceBlind>(one) ? "blind" : "reading");
    }
  }
  return words;
}

std::string explanationIn(const std::vector<SourceNews>& news) {
  std::string text;
  for (const SourceNews& one : news) {
    if (const auto* lost = std::get_if<RecordsLost>(&one)) {
      text = lost->what;
    } else if (const auto* unparsed = std::get_if<LinesUnparsed>(&one)) {
      text = unparsed->example;
    } else if (const auto* blind = std::get_if<SourceBlind>(&one)) {
      text = blind->why;
    }
  }
  return text;
}

class FakeKernelLog::Log final : public KernelLog {
 public:
  explicit Log(FakeKernelLog& owner) : owner_(owner), at_(owner.gone_) {}

  Result<KernelLogRead> read() override {
    if (owner_.broken_) {
      Error error = *std::exchange(owner_.broken_, std::nullopt);
      return fail(std::move(error));
    }
    if (std::exchange(owner_.overrun_, false)) {
      at_ = owner_.gone_;
      return KernelLogRead{KernelLogRead::Kind::kOverrun, {}};
    }
    if (at_ >= owner_.records_.size()) {
      return KernelLogRead{};
    }
    return KernelLogRead{KernelLogRead::Kind::kRecord, owner_.records_[at_++]};
  }
  Result<> seekOldest() override {
    at_ = owner_.gone_;
    return {};
  }
  Result<> seekEnd() override {
    at_ = owner_.records_.size();
    return {};
  }
  int descriptor() const override { return -1; }

 private:
  FakeKernelLog& owner_;
  std::size_t at_;
};

void FakeKernelLog::write(const std::string& text, Duration sinceBoot) {
  records_.push_back("3," + std::to_string(seq_++) + "," + std::to_string(sinceBoot.count()) + ",-;" + text +
                     "\n");
}

void FakeKernelLog::overrun(std::size_t n) {
  gone_ += n;
  overrun_ = true;
}

OpenKernelLog FakeKernelLog::opener() {
  return [this]() -> Result<std::unique_ptr<KernelLog>> {
    if (refused_) {
      return fail(*refused_);
    }
    ++opened_;
    return std::make_unique<Log>(*this);
  };
}

class FakeJournal::Open final : public Journal {
 public:
  Open(FakeJournal& owner, std::size_t at) : owner_(owner), at_(at) {}

  Result<std::optional<JournalEntry>> next() override {
    if (owner_.failing_) {
      Error error = *std::exchange(owner_.failing_, std::nullopt);
      return fail(std::move(error));
    }
    return at_ < owner_.entries_.size() ? std::optional(owner_.entries_[at_++]) : std::nullopt;
  }
  int descriptor() const override { return owner_.notices_ ? kDescriptor : -1; }

 private:
  FakeJournal& owner_;
  std::size_t at_;
};

void FakeJournal::write(TimePoint time, const std::string& message) {
  JournalEntry entry;
  entry.time = time;
  entry.message = message;
  entry.cursor = std::to_string(entries_.size());
  entries_.push_back(std::move(entry));
}

OpenJournal FakeJournal::opener() {
  return [this](TimePoint since, const std::string& cursor) -> Result<std::unique_ptr<Journal>> {
    if (refused_) {
      return fail(*refused_);
    }
    ++opened_;
    const auto first = std::ranges::find_if(entries_, [&](const JournalEntry& entry) {
      return cursor.empty() ? entry.time >= since : entry.cursor == cursor;
    });
    const auto at = static_cast<std::size_t>(first - entries_.begin());
    return std::make_unique<Open>(*this, cursor.empty() ? at : at + 1);
  };
}

FakeNodeApi::FakeNodeApi(const std::string& nodeName)
    : node(JsonObject{{"apiVersion", "v1"},
                      {"kind", "Node"},
                      {"metadata", JsonObject{{"name", nodeName}, {"uid", "uid-1"}}},
                      {"spec", JsonObject{{"providerID", "aws:///us-west-2b/i-0b41"}}},
                      {"status", JsonObject{{"conditions", JsonArray()}}}}) {}

Result<Json> FakeNodeApi::call(const kube::ApiRequest& request, Deadline) {
  calls.push_back(request.method + " " + request.path);
  if (const auto failure = failures_.find(request.method); failure != failures_.end()) {
    Error error = failure->second.error;
    if (--failure->second.times == 0) {
      failures_.erase(failure);
    }
    return fail(std::move(error));
  }
  if (request.path == "/version") {
    return Json(JsonObject{});
  }
  if (request.method == "POST") {
    events.push_back(request.body);
    return request.body;
  }
  if (request.method == "PATCH" && request.path.ends_with("/status")) {
    patches.push_back(request.body);
    applyPatch(request.body);
  }
  return node;
}

Result<std::unique_ptr<kube::WatchStream>> FakeNodeApi::watch(const std::string&, Query, Signal&) {
  return fail(Code::kInternal, "the agent watches nothing");
}

void FakeNodeApi::failNext(const std::string& method, Error error, int times) {
  failures_.insert_or_assign(method, Failure{std::move(error), times});
}

void FakeNodeApi::applyPatch(const Json& patch) {
  mergePatch(node.get_object()["metadata"], *find(patch, "metadata"));
  JsonArray& conditions = node.get_object()["status"].get_object()["conditions"].get_array();
  for (const Json& changed : find(patch, "status", "conditions")->get_array()) {
    const auto same = std::find_if(conditions.begin(), conditions.end(), [&](const Json& old) {
      return findString(old, "type") == findString(changed, "type");
    });
    if (findString(changed, "$patch") == "delete") {
      if (same != conditions.end()) {
        conditions.erase(same);
      }
    } else if (same == conditions.end()) {
      conditions.push_back(changed);
    } else {
      *same = changed;
    }
  }
}

Json FakeNodeApi::condition(const std::string& type) const {
  for (const Json& condition : find(node, "status", "conditions")->get_array()) {
    if (findString(condition, "type") == type) {
      return condition;
    }
  }
  return nullptr;
}

std::string FakeNodeApi::annotation() const {
  return findString(node, "metadata", "annotations", api::kFindingsAnnotation);
}

}  // namespace mainstay::agent::testing
