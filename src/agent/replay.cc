#include "agent/replay.h"

#include <algorithm>
#include <array>

#include "agent/log_feed.h"
#include "agent/pack_monitor.h"
#include "agent/proc_text.h"
#include "agent/sources/kmsg_reader.h"
#include "api/names.h"

namespace mainstay::agent {
namespace {

using fault::Outcome;
using fault::Sighting;

struct WrittenRecord {
  std::string raw;
  Duration stamp{};
};

// Lines that begin with a blank belong to the record before them.
std::vector<WrittenRecord> splitRecords(std::string_view text) {
  std::vector<WrittenRecord> records;
  for (const std::string_view line : linesOf(text)) {
    if (line.starts_with(' ') && !records.empty()) {
      records.back().raw.append("\n").append(line);
    } else {
      records.push_back({std::string(line), {}});
    }
  }
  Duration latest{};
  for (WrittenRecord& record : records) {
    const auto parsed = fault::parseKernelRecord(record.raw);
    record.stamp = latest = std::max(latest, parsed ? parsed->sinceBoot : latest);
  }
  return records;
}

// Shows as many of the records as have come.
class WrittenLog final : public KernelLog {
 public:
  WrittenLog(const std::vector<WrittenRecord>& records, const std::size_t& come)
      : records_(records), come_(come) {}

  Result<KernelLogRead> read() override {
    if (next_ == come_) {
      return KernelLogRead{};
    }
    return KernelLogRead{KernelLogRead::Kind::kRecord, records_[next_++].raw};
  }
  Result<> seekOldest() override {
    next_ = 0;
    return {};
  }
  Result<> seekEnd() override {
    next_ = come_;
    return {};
  }
  int descriptor() const override { return -1; }

 private:
  const std::vector<WrittenRecord>& records_;
  const std::size_t& come_;
  std::size_t next_ = 0;
};

// Keeps what the engine says as findings with reasons.
class Storyteller {
 public:
  void hear(const Outcome& outcome) {
    const Sighting& sighting = outcome.sighting;
    const auto known = std::ranges::find_if(findings_, [&](const ReplayedFinding& finding) {
      return finding.sighting.id == sighting.id && finding.sighting.device == sighting.device;
    });
    const bool fresh = known == findings_.end();
    ReplayedFinding& finding = fresh ? findings_.emplace_back() : *known;
    const bool stood = !fresh && finding.state == ReplayedFinding::State::kStands;
    // One more of a kind may be a part of another fault; what stands goes on, unless it has come to mean more.
    const bool aside = outcome.kind == Outcome::Kind::kFolded || outcome.kind == Outcome::Kind::kUntrusted;
    const bool means = outcome.other.starts_with(sighting.id + "/");
    if (!(stood && aside) || means) {
      finding.state = stateAfter(outcome);
      finding.sighting = sighting;
    }
    std::string reason = reasonOf(outcome);
    if (!reason.empty() && std::ranges::find(finding.reasons, reason) == finding.reasons.end()) {
      finding.reasons.push_back(std::move(reason));
    }
  }

  std::vector<ReplayedFinding> take() { return std::move(findings_); }

 private:
  static ReplayedFinding::State stateAfter(const Outcome& outcome) {
    using State = ReplayedFinding::State;
    switch (outcome.kind) {
      case Outcome::Kind::kFolded:
        return State::kPart;
      case Outcome::Kind::kHeld:
      case Outcome::Kind::kDoubted:
        return State::kHeld;
      case Outcome::Kind::kCancelled:
        return State::kCancelled;
      case Outcome::Kind::kResolved:
        return State::kResolved;
      case Outcome::Kind::kUntrusted:
        return State::kUntrusted;
      case Outcome::Kind::kUncorroborated:
        return State::kUncorroborated;
      default:
        return State::kStands;
    }
  }

  static std::string reasonOf(const Outcome& outcome) {
    const Sighting& sighting = outcome.sighting;
    switch (outcome.kind) {
      case Outcome::Kind::kRaised:
        return "record " + std::to_string(sighting.seq) + " matches " + sighting.rule +
               (sighting.condition.empty() ? "; it sets no condition" : "; it sets " + sighting.condition);
      case Outcome::Kind::kRepeated:
        return "";
      case Outcome::Kind::kRevised:
        return (outcome.other.empty() ? "a later line" : outcome.other) +
               " says more: " + (sighting.condition.empty() ? "" : sighting.condition + ", ") + "action " +
               std::string(fault::actionName(sighting.action));
      case Outcome::Kind::kFolded:
        return "a part of " + outcome.other;
      case Outcome::Kind::kHeld:
        return "waits " + humanDuration(sighting.effect->hold) + " for what may cancel or explain it";
      case Outcome::Kind::kCancelled:
        return "cancelled by " + outcome.other + " before it counted";
      case Outcome::Kind::kResolved:
        return "ended by " + outcome.other;
      case Outcome::Kind::kUntrusted:
        return "does not count: user space wrote the line";
      case Outcome::Kind::kDoubted:
        return "marks nothing unless it is borne out: " + outcome.other;
      case Outcome::Kind::kUncorroborated:
        return "not borne out within " + humanDuration(fault::kCorroborateWithin) + ": " + outcome.other;
    }
    return "";
  }

  std::vector<ReplayedFinding> findings_;
};

// The strongest action of what stands; of equals the one that came first.
Proposal propose(const std::vector<ReplayedFinding>& findings) {
  const ReplayedFinding* strongest = nullptr;
  for (const ReplayedFinding& finding : findings) {
    const bool stronger = !strongest || finding.sighting.action > strongest->sighting.action;
    if (finding.state == ReplayedFinding::State::kStands && stronger) {
      strongest = &finding;
    }
  }
  if (!strongest) {
    return {fault::RepairAction::kNone, "", "nothing was found that counts"};
  }
  const Sighting& sighting = strongest->sighting;
  if (sighting.action == fault::RepairAction::kNone) {
    return {sighting.action, "", "nothing that was found asks for an action"};
  }
  Proposal proposal{sighting.action, sighting.id + "@" + sighting.device, sighting.name};
  proposal.why += sighting.device.empty() ? "" : " (" + sighting.device + ")";
  for (const std::string& reason : strongest->reasons) {
    proposal.why += "; " + reason;
  }
  return proposal;
}

// The pieces of an agent, with the clock of the records.
class Player {
 public:
  Player(const std::vector<WrittenRecord>& records, ReplayInput input)
      : boot_(input.boot),
        feed_(
            kernelLogName(), [&](Signal&) { return source(records); }, readers(std::move(input)), metrics_),
        state_(feed_.conditions(), feed_.reasons(), Machine{"", boot_}, boot_) {
    feed_.start(signal_);
    for (const WrittenRecord& record : records) {
      passTime(record.stamp);
      ++come_;
      wake_ = feed_.step(boot_ + clock_, state_);
    }
    passTime(clock_ + kAfterwards);
  }

  Result<Replayed> result() {
    Replayed replayed;
    replayed.records = come_;
    replayed.findings = story_.take();
    replayed.conditions = state_.conditions();
    std::ranges::move(state_.takeEvents(), std::back_inserter(replayed.events));
    const Json patch = state_.patch(boot_ + clock_);
    const std::string annotation = findString(patch, "metadata", "annotations", api::kFindingsAnnotation);
    MAINSTAY_ASSIGN(replayed.published, fault::decodeFindings(annotation));
    return replayed;
  }

 private:
  std::unique_ptr<Source> source(const std::vector<WrittenRecord>& records) {
    return std::make_unique<KmsgReader>([&] { return std::make_unique<WrittenLog>(records, come_); },
                                        [this] { return clock_; });
  }

  std::vector<std::unique_ptr<RecordMonitor>> readers(ReplayInput input) {
    const TimePoint start = input.handledUntil ? boot_ + *input.handledUntil + Duration(1) : boot_;
    std::vector<std::unique_ptr<RecordMonitor>> all;
    all.push_back(std::make_unique<PackMonitor>(
        std::move(input.packs), start, [this](const Outcome& outcome) { story_.hear(outcome); },
        std::move(input.witness)));
    return all;
  }

  void passTime(Duration until) {
    while (wake_ <= boot_ + until) {
      wake_ = feed_.step(wake_, state_);
    }
    clock_ = until;
  }

  const TimePoint boot_;
  std::size_t come_ = 0;
  Duration clock_{};
  TimePoint wake_ = kNever;
  Storyteller story_;
  Metrics metrics_;
  Signal signal_;
  LogFeed feed_;
  NodeState state_;
};

}  // namespace

std::string_view stateName(ReplayedFinding::State state) {
  constexpr std::array<std::string_view, 7> kNames = {"stands",   "held",      "part",          "cancelled",
                                                      "resolved", "untrusted", "uncorroborated"};
  return kNames.at(static_cast<std::size_t>(state));
}

Result<Replayed> replay(ReplayInput input) {
  const std::vector<WrittenRecord> records = splitRecords(input.kmsg);
  if (std::ranges::none_of(
          records, [](const auto& record) { return fault::parseKernelRecord(record.raw).has_value(); })) {
    return fail(Code::kInvalidArgument,
                "no record of a kernel log in it: expected lines such as \"3,1038,86412337114,-;NVRM: ...\", "
                "as `cat /dev/kmsg` prints them");
  }
  MAINSTAY_ASSIGN(Replayed replayed, Player(records, std::move(input)).result());
  replayed.proposal = propose(replayed.findings);
  return replayed;
}

}  // namespace mainstay::agent
