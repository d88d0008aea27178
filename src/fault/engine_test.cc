#include "fault/engine.h"

#include <gmock/gmock.h>

namespace mainstay::fault {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kHead[] = R"(pack: demo
conditions:
  - {type: GPUFault, reason: NoGPUFault, message: fine}
effects:
  reset: {severity: fatal, condition: GPUFault, reason: 'Xid{code}', event: XidError, action: reset, clearOn: evidence}
  note: {severity: info, event: XidNote}
rules:
)";

// The codes that the tests are about stand in a rule of this form.
std::string xids(const std::string& codes) {
  return R"(  - id: xid
    name: Xid
    pattern: '^Xid \((?P<pci>[0-9a-fA-F:.]+)\): (?P<code>\d+)(?:, at (?P<place>[^, ]+))?(?:, by (?P<program>\S+))?'
    unknown: {name: 'Xid {code}', event: XidUnknown}
    codes:
)" + codes;
}

class EngineTest : public testing::Test {
 protected:
  void use(const std::string& rules, Corroboration answer = Corroboration::kUnknown) {
    answer_ = answer;
    auto pack = parsePack(kHead + rules, "demo.yaml");
    ASSERT_TRUE(pack) << pack.error().toString();
    engine_.emplace(std::vector<Pack>{*std::move(pack)}, [this](const Sighting&) {
      return Testimony{answer_, "because"};
    });
  }

  // "raised demo/xid/79@0000:5e:00.0", with " event" when one is due, and " <id>" of what it has to do with.
  static std::vector<std::string> told(const std::vector<Outcome>& outcomes) {
    std::vector<std::string> lines;
    for (const Outcome& outcome : outcomes) {
      lines.push_back(std::string(outcomeName(outcome.kind)) + " " + outcome.sighting.id + "@" +
                      outcome.sighting.device + (outcome.event ? " event" : "") +
                      (outcome.other.empty() ? "" : " " + outcome.other));
    }
    return lines;
  }

  std::vector<std::string> line(const std::string& text, int priority = 3) {
    Record record;
    record.priority = priority;
    record.time = now_;
    record.seq = ++seq_;
    record.text = text;
    last_ = engine_->take(record);
    return told(last_);
  }
  std::vector<std::string> wait(Duration span) {
    now_ += span;
    last_ = engine_->step(now_);
    return told(last_);
  }

  Corroboration answer_ = Corroboration::kUnknown;
  std::optional<Engine> engine_;
  std::vector<Outcome> last_;
  TimePoint now_{hours(24)};
  std::uint64_t seq_ = 0;
};

TEST_F(EngineTest, OrdinaryLinesSayNothing) {
  use(xids("      - [79, reset, off the bus]\n"));
  EXPECT_THAT(line("eth0: link becomes ready"), IsEmpty());
  EXPECT_THAT(line(""), IsEmpty());
  EXPECT_THAT(line("say: Xid (0000:5e:00): 79"), IsEmpty()) << "not where the driver writes it";
  EXPECT_EQ(engine_->nextWake(), kNever);
}

TEST_F(EngineTest, AFaultIsRaisedOnceAndThenCounted) {
  use(xids("      - [79, reset, off the bus]\n"));
  EXPECT_THAT(line("Xid (0000:5E:00): 79"), ElementsAre("raised demo/xid/79@0000:5e:00.0 event"));
  const Sighting& sighting = last_[0].sighting;
  EXPECT_EQ(sighting.reason, "Xid79");
  EXPECT_EQ(sighting.condition, "GPUFault");
  EXPECT_EQ(sighting.action, RepairAction::kReset);
  EXPECT_EQ(sighting.line, "Xid (0000:5E:00): 79");
  EXPECT_EQ(sighting.seq, 1u);
  EXPECT_THAT(line("Xid (0000:5e:00.0): 79"), ElementsAre("repeated demo/xid/79@0000:5e:00.0"));
  EXPECT_EQ(last_[0].sighting.count, 2u);
  EXPECT_THAT(line("Xid (0000:5f:00): 79"), ElementsAre("raised demo/xid/79@0000:5f:00.0 event"));
  wait(minutes(11));
  EXPECT_THAT(line("Xid (0000:5e:00): 79"), ElementsAre("repeated demo/xid/79@0000:5e:00.0 event"))
      << "an Event of its own after the dedupe window";
}

// A rule whose lines anybody may have written.
constexpr char kDoubtful[] =
    "      - {code: 7, effect: reset, corroborate: require, name: needs a witness}\n"
    "      - {code: 8, effect: reset, corroborate: prefer, name: wants a witness}\n";

TEST_F(EngineTest, ALineThatNeedsAWitnessMarksNothingUntilItIsBorneOut) {
  use(xids(kDoubtful), Corroboration::kContradicted);
  EXPECT_THAT(line("Xid (0000:5e:00): 7"), ElementsAre("doubted demo/xid/7@0000:5e:00.0 event because"));
  EXPECT_EQ(last_[0].sighting.condition, "");
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kNone);
  EXPECT_THAT(wait(seconds(0)), IsEmpty());
  EXPECT_EQ(engine_->nextWake(), now_ + seconds(1));
  EXPECT_THAT(wait(seconds(9)), IsEmpty());
  answer_ = Corroboration::kBorneOut;
  EXPECT_THAT(wait(seconds(1)), ElementsAre("raised demo/xid/7@0000:5e:00.0")) << "its Event was sent";
  EXPECT_EQ(last_[0].sighting.condition, "GPUFault");
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReset);
  EXPECT_EQ(engine_->nextWake(), kNever);
  answer_ = Corroboration::kContradicted;
  EXPECT_THAT(line("Xid (0000:5e:00): 7"), ElementsAre("repeated demo/xid/7@0000:5e:00.0")) << "still so";
}

TEST_F(EngineTest, WhatNobodyBearsOutInTimeIsTold) {
  use(xids(kDoubtful), Corroboration::kUnknown);
  line("Xid (0000:5e:00): 7");
  wait(hours(1));  // the line is an old one: its time begins now
  EXPECT_THAT(wait(kCorroborateWithin - seconds(1)), IsEmpty());
  EXPECT_THAT(wait(seconds(1)), ElementsAre("uncorroborated demo/xid/7@0000:5e:00.0 event because"));
  EXPECT_EQ(last_[0].sighting.condition, "");
  EXPECT_EQ(engine_->nextWake(), kNever);
  line("Xid (0000:5e:00): 7");
  wait(seconds(0));
  EXPECT_THAT(wait(kCorroborateWithin), ElementsAre("uncorroborated demo/xid/7@0000:5e:00.0 because"))
      << "no second Event within the dedupe window";
}

TEST_F(EngineTest, ALineThatPrefersAWitnessCountsUnlessItIsContradicted) {
  use(xids(kDoubtful), Corroboration::kUnknown);
  EXPECT_THAT(line("Xid (0000:5e:00): 8"), ElementsAre("raised demo/xid/8@0000:5e:00.0 event"));
  answer_ = Corroboration::kContradicted;
  EXPECT_THAT(line("Xid (0000:5f:00): 8"), ElementsAre("doubted demo/xid/8@0000:5f:00.0 event because"));
  wait(seconds(0));
  EXPECT_THAT(wait(kCorroborateWithin), ElementsAre("uncorroborated demo/xid/8@0000:5f:00.0 event because"));
  answer_ = Corroboration::kAwaited;
  EXPECT_THAT(line("Xid (0000:60:00): 8"), ElementsAre("doubted demo/xid/8@0000:60:00.0 event because"));
  wait(seconds(0));
  EXPECT_THAT(wait(kCorroborateWithin), ElementsAre("raised demo/xid/8@0000:60:00.0"))
      << "a witness that does not answer contradicts nothing";
}

TEST_F(EngineTest, AnUnknownCodeIsKeptAndNeverActedOn) {
  use(xids("      - [79, reset, off the bus]\n"));
  EXPECT_THAT(line("Xid (0000:5e:00): 999"), ElementsAre("raised demo/xid/999@0000:5e:00.0 event"));
  EXPECT_EQ(last_[0].sighting.effect->severity, Severity::kUnknown);
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kNone);
  EXPECT_EQ(last_[0].sighting.condition, "");
  EXPECT_EQ(last_[0].sighting.name, "Xid 999");
}

TEST_F(EngineTest, LinesOfUserSpaceAreNotTrusted) {
  use(xids("      - [79, reset, off the bus]\n"));
  EXPECT_THAT(line("Xid (0000:5e:00): 79", 12), ElementsAre("untrusted demo/xid/79@0000:5e:00.0"));
  EXPECT_THAT(line("Xid (0000:5e:00): 79"), ElementsAre("raised demo/xid/79@0000:5e:00.0 event"));
}

TEST_F(EngineTest, EscapesOfTheKernelAreReadOnce) {
  use("  - {id: stall, name: s, event: Stall, pattern: '^rcu:\\s+(?P<device>\\d+)-\\.\\.\\.'}\n");
  EXPECT_THAT(line(R"(rcu: \x0910-...0: (1 GPs behind))"), ElementsAre("raised demo/stall@10 event"));
  EXPECT_THAT(line(R"(rcu: \x5cx0910-...0: (1 GPs behind))"), IsEmpty());
}

TEST_F(EngineTest, WhatFollowsAnotherFaultIsAPartOfIt) {
  use(
      xids("      - [79, reset, off the bus]\n"
           "      - {code: 43, effect: note, name: stopped, follows: {of: any, within: 10s}}\n"));
  EXPECT_THAT(line("Xid (0000:5e:00): 43"), ElementsAre("raised demo/xid/43@0000:5e:00.0 event")) << "alone";
  EXPECT_THAT(line("Xid (0000:5f:00): 79"), ElementsAre("raised demo/xid/79@0000:5f:00.0 event"));
  now_ += seconds(9);
  EXPECT_THAT(line("Xid (0000:5f:00): 43"), ElementsAre("folded demo/xid/43@0000:5f:00.0 demo/xid/79"));
  now_ += seconds(2);
  EXPECT_THAT(line("Xid (0000:5f:00): 43"), ElementsAre("raised demo/xid/43@0000:5f:00.0 event"))
      << "too late";
}

TEST_F(EngineTest, VictimsWaitForTheirRoot) {
  use(
      xids("      - {code: 149, effect: reset, name: root}\n"
           "      - {code: 145, effect: note, name: victim, hold: 2s, follows: {of: 149, within: 10s, "
           "across: node}}\n"));
  EXPECT_THAT(line("Xid (0000:01:00): 145"), ElementsAre("held demo/xid/145@0000:01:00.0"));
  EXPECT_EQ(engine_->nextWake(), now_ + seconds(2));
  now_ += seconds(1);
  EXPECT_THAT(line("Xid (0000:02:00): 149"), ElementsAre("folded demo/xid/145@0000:01:00.0 demo/xid/149",
                                                         "raised demo/xid/149@0000:02:00.0 event"));
  EXPECT_THAT(line("Xid (0000:03:00): 145"), ElementsAre("folded demo/xid/145@0000:03:00.0 demo/xid/149"));
  now_ += minutes(1);
  line("Xid (0000:04:00): 145");
  EXPECT_THAT(wait(seconds(2)), ElementsAre("raised demo/xid/145@0000:04:00.0 event")) << "no root came";
}

TEST_F(EngineTest, WhatIsHeldCanBeCancelledBeforeItCounts) {
  use(
      xids("      - {code: 162, effect: note, name: on, cancels: 163}\n"
           "      - {code: 163, effect: reset, name: off, hold: 1m}\n"));
  EXPECT_THAT(line("Xid (0000:5e:00): 163"), ElementsAre("held demo/xid/163@0000:5e:00.0"));
  now_ += seconds(40);
  EXPECT_THAT(line("Xid (0000:5e:00): 162"), ElementsAre("cancelled demo/xid/163@0000:5e:00.0 demo/xid/162",
                                                         "raised demo/xid/162@0000:5e:00.0 event"));
  EXPECT_THAT(wait(hours(1)), IsEmpty());
  line("Xid (0000:5e:00): 163");
  EXPECT_THAT(line("Xid (0000:5f:00): 162"), ElementsAre("raised demo/xid/162@0000:5f:00.0 event"))
      << "of another device";
  EXPECT_THAT(wait(minutes(1)), ElementsAre("raised demo/xid/163@0000:5e:00.0 event"));
}

TEST_F(EngineTest, WhatIsHeldIsReleasedByTheTimeOfRecordsToo) {
  use(xids("      - {code: 163, effect: reset, name: off, hold: 1m}\n"));
  line("Xid (0000:5e:00): 163");
  now_ += minutes(2);
  EXPECT_THAT(line("eth0: up"), ElementsAre("raised demo/xid/163@0000:5e:00.0 event"));
}

TEST_F(EngineTest, EvidenceEndsWhatMayEndByIt) {
  use(
      xids("      - {code: 154, effect: note, name: recovered, cancels: any}\n"
           "      - {code: 95, effect: reset, name: ecc}\n"
           "      - {code: 64, effect: reset, clearOn: instance, name: worn out}\n"));
  line("Xid (0000:5e:00): 95");
  line("Xid (0000:5e:00): 64");
  EXPECT_THAT(line("Xid (0000:5e:00): 154"), ElementsAre("resolved demo/xid/95@0000:5e:00.0 demo/xid/154",
                                                         "raised demo/xid/154@0000:5e:00.0 event"));
  EXPECT_THAT(line("Xid (0000:5e:00): 95"), ElementsAre("raised demo/xid/95@0000:5e:00.0 event")) << "anew";
}

TEST_F(EngineTest, ALaterLineRevisesWhatAFaultMeans) {
  use(xids(
      "      - {code: 79, effect: reset, name: off the bus}\n"
      "      - {code: 94, effect: note, name: contained}\n"
      "      - {code: 154, effect: reset, name: verdict, revises: {of: any, within: 5m, action: reboot}}\n"));
  line("Xid (0000:5e:00): 79");
  EXPECT_THAT(line("Xid (0000:5e:00): 154"), ElementsAre("revised demo/xid/79@0000:5e:00.0 demo/xid/154"));
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReboot);
  EXPECT_EQ(last_[0].sighting.reason, "Xid79");
  line("Xid (0000:5f:00): 94");
  line("Xid (0000:5f:00): 154");
  EXPECT_EQ(last_[0].sighting.condition, "GPUFault") << "the verdict makes a fault of what was a note";
  EXPECT_EQ(last_[0].sighting.reason, "Xid154");
  EXPECT_THAT(line("Xid (0000:60:00): 154"), ElementsAre("raised demo/xid/154@0000:60:00.0 event"))
      << "alone";
}

TEST_F(EngineTest, SoManyWithinASpanMeanMore) {
  use(
      xids("      - code: 13\n        effect: note\n        name: exception\n"
           "        repeat: {count: 3, within: 24h, by: place, distinct: program, id: same-place, condition: "
           "GPUFault,\n"
           "                 reason: Suspect, event: Suspect}\n"));
  const auto at = [&](const std::string& place, const std::string& program) {
    now_ += hours(5);
    return line("Xid (0000:5e:00): 13, at " + place + ", by " + program).size();
  };
  EXPECT_EQ(at("gpc1", "a"), 1u);
  EXPECT_EQ(at("gpc1", "a"), 1u) << "one program is one";
  EXPECT_EQ(at("gpc2", "b"), 1u) << "another place";
  EXPECT_EQ(at("gpc1", "b"), 1u);
  EXPECT_EQ(at("gpc1", "c"), 3u);
  EXPECT_EQ(told(last_)[1], "raised demo/xid/13/same-place@0000:5e:00.0 event");
  EXPECT_EQ(told(last_)[2], "folded demo/xid/13@0000:5e:00.0 demo/xid/13/same-place");
  EXPECT_EQ(last_[1].sighting.reason, "Suspect");
  EXPECT_THAT(line("Xid (0000:5e:00): 13"), testing::SizeIs(1)) << "a line that does not say where";
  now_ += hours(30);
  EXPECT_EQ(at("gpc1", "d"), 1u) << "the others are too long ago";
}

TEST_F(EngineTest, AMessageInSeveralRecordsIsJoined) {
  use("  - id: lost\n    name: lost\n    condition: GPUFault\n    reason: GPULost\n    event: GPULost\n"
      "    join:\n      within: 2s\n      lines: 5\n      patterns:\n"
      "        - ^NVRM. The NVIDIA GPU (?P<pci>\\S+)\n        - ^NVRM. fallen off the bus\n");
  EXPECT_THAT(line("NVRM: fallen off the bus"), IsEmpty()) << "without its beginning";
  line("NVRM: The NVIDIA GPU 0000:ab:00.0");
  line("mlx5_core 0000:ac:00.0: link init");
  EXPECT_THAT(line("NVRM: fallen off the bus"), ElementsAre("raised demo/lost@0000:ab:00.0 event"));
  EXPECT_EQ(last_[0].sighting.line, "NVRM: The NVIDIA GPU 0000:ab:00.0\nNVRM: fallen off the bus");
  line("NVRM: The NVIDIA GPU 0000:ac:00.0");
  now_ += seconds(3);
  EXPECT_THAT(line("NVRM: fallen off the bus"), IsEmpty()) << "too late";
  line("NVRM: The NVIDIA GPU 0000:ac:00.0");
  for (int i = 0; i < 5; ++i) {
    line("something else");
  }
  EXPECT_THAT(line("NVRM: fallen off the bus"), IsEmpty()) << "too far away";
  line("NVRM: The NVIDIA GPU 0000:ac:00.0");
  line("NVRM: fallen off the bus", 12);
  EXPECT_THAT(last_, IsEmpty()) << "user space cannot end what the kernel began";
}

TEST_F(EngineTest, ALineMayImplyAFaultOfAnotherRule) {
  use(xids("      - [79, reset, off the bus]\n") +
      "  - {id: line, implies: demo/xid/79, pattern: '^GPU (?P<pci>[0-9a-f:.]+) is gone'}\n");
  line("Xid (0000:5e:00): 79");
  EXPECT_THAT(line("GPU 0000:5e:00.0 is gone"), ElementsAre("repeated demo/xid/79@0000:5e:00.0"));
  EXPECT_THAT(line("GPU 0000:5f:00.0 is gone"), ElementsAre("raised demo/xid/79@0000:5f:00.0 event"));
  EXPECT_EQ(last_[0].sighting.reason, "Xid79");
}

TEST_F(EngineTest, VariantsOfACodeAreToldApart) {
  use(xids(
      "      - code: 64\n        effect: reset\n        action: replace\n        name: failed\n"
      "        detail: because (?P<why>.*)\n"
      "        variants:\n          - {when: {why: /pending/}, id: pending, action: reset, name: waits}\n"));
  EXPECT_THAT(line("Xid (0000:5e:00): 64 because it is pending"),
              ElementsAre("raised demo/xid/64/pending@0000:5e:00.0 event"));
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReset);
  EXPECT_THAT(line("Xid (0000:5e:00): 64 because the table is full"),
              ElementsAre("raised demo/xid/64@0000:5e:00.0 event"));
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReplace);
}

TEST_F(EngineTest, TheSameFaultWithAStrongerActionIsRevised) {
  use(
      xids("      - code: 144\n        effect: note\n        name: link\n        detail: (?P<how>Fatal)\n"
           "        variants:\n          - {when: {how: Fatal}, effect: reset, name: fatal}\n"));
  line("Xid (0000:5e:00): 144");
  EXPECT_THAT(line("Xid (0000:5e:00): 144 Fatal"), ElementsAre("revised demo/xid/144@0000:5e:00.0 event"));
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReset);
  EXPECT_THAT(line("Xid (0000:5e:00): 144"), ElementsAre("repeated demo/xid/144@0000:5e:00.0"));
  EXPECT_EQ(last_[0].sighting.action, RepairAction::kReset) << "it does not get better by itself";
}

TEST_F(EngineTest, ValuesThatAFaultCollectsAreBounded) {
  use(xids("      - {code: 74, effect: reset, name: link, collect: place}\n"));
  for (int i = 0; i < 100; ++i) {
    line("Xid (0000:5e:00): 74, at " + std::to_string(i));
  }
  EXPECT_EQ(last_[0].sighting.collected.at("place").size(), Sighting::kMaxCollected);
}

TEST_F(EngineTest, MemoryIsBounded) {
  use("  - {id: down, name: down, event: Down, pattern: '^(?P<device>\\S+) is down'}\n");
  line("first is down");
  for (std::size_t i = 0; i < Engine::kMaxRemembered; ++i) {
    now_ += milliseconds(1);
    line("eth" + std::to_string(i) + " is down");
  }
  EXPECT_THAT(line("eth5 is down"), ElementsAre("repeated demo/down@eth5"));
  EXPECT_THAT(line("first is down"), ElementsAre("raised demo/down@first event"))
      << "the oldest was forgotten";
}

}  // namespace
}  // namespace mainstay::fault
