// Stand-ins for tests of the agent: a kernel log and a journal in memory, and an API server that knows one node.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/sources/journal.h"
#include "agent/sources/kernel_log.h"
#include "agent/sources/source.h"
#include "kube/api.h"

namespace mainstay::agent::testing {

// What a source said, one word each: the text of a record, "lost 3", "unparsed 2", "blind", "reading".
std::vector<std::string> wordsOf(const std::vector<SourceNews>& news);
// The last explanation in it, "" when there is none.
std::string explanationIn(const std::vector<SourceNews>& news);

// A kernel log whose reads are scripted: each record, then empty. Not thread-safe.
class FakeKernelLog {
 public:
  // Numbered from 0 unless told otherwise.
  void write(const std::string& text, Duration sinceBoot = Duration{});
  void writeRaw(const std::string& record) { records_.push_back(record); }
  // The next reads of an open log: an overrun that loses the `n` oldest unread records; an error that closes
  // it.
  void overrun(std::size_t n);
  void breakOff(Error error) { broken_ = std::move(error); }
  // As long as it is set, opening fails.
  void refuse(std::optional<Error> error) { refused_ = std::move(error); }
  void restartNumbers() { seq_ = 0; }
  int opened() const { return opened_; }
  OpenKernelLog opener();

 private:
  class Log;
  std::deque<std::string> records_;
  std::size_t gone_ = 0;  // records before this one are overwritten
  bool overrun_ = false;
  std::optional<Error> broken_;
  std::optional<Error> refused_;
  std::uint64_t seq_ = 0;
  int opened_ = 0;
};

// A journal of one program. Not thread-safe.
class FakeJournal {
 public:
  void write(TimePoint time, const std::string& message);
  // The next reading of an open journal fails so.
  void failNext(Error error) { failing_ = std::move(error); }
  // As long as it is set, opening fails.
  void refuse(std::optional<Error> error) { refused_ = std::move(error); }
  // Gives out no descriptor, as a system without inotify instances to spare.
  void setNotices(bool notices) { notices_ = notices; }
  int opened() const { return opened_; }
  OpenJournal opener();

  static constexpr int kDescriptor = 1000;  // it is never waited on

 private:
  class Open;
  std::vector<JournalEntry> entries_;
  std::optional<Error> failing_;
  std::optional<Error> refused_;
  bool notices_ = true;
  int opened_ = 0;
};

// Serves GET and PATCH .../status of one node, and POST of Events. Conditions merge by type, or go by "$patch": "delete".
class FakeNodeApi final : public kube::Api {
 public:
  explicit FakeNodeApi(const std::string& nodeName);

  Result<Json> call(const kube::ApiRequest& request, Deadline deadline) override;
  Result<std::unique_ptr<kube::WatchStream>> watch(const std::string&, Query, Signal&) override;

  // The next calls of this method fail so.
  void failNext(const std::string& method, Error error, int times = 1);

  Json node;
  std::vector<Json> patches;
  std::vector<Json> events;
  std::vector<std::string> calls;  // "PATCH /api/v1/nodes/a/status"
  Json condition(const std::string& type) const;
  std::string annotation() const;

 private:
  void applyPatch(const Json& patch);

  struct Failure {
    Error error;
    int times;
  };
  std::map<std::string, Failure> failures_;
};

}  // namespace mainstay::agent::testing
