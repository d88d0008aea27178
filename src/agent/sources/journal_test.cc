// Against journals that systemd's own tool has written.
#include "agent/sources/journal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/sources/journal_reader.h"
#include "agent/testing.h"
#include "base/file_system.h"
#include "base/subprocess.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

constexpr char kMaker[] = "/lib/systemd/systemd-journal-remote";
const TimePoint kLogged = *parseTime("2026-11-29T20:00:00Z");

// One entry in the journal's export format.
std::string exported(TimePoint time, const std::string& identifier, const std::string& fields) {
  const std::string micros = std::to_string(time.time_since_epoch().count());
  return "__REALTIME_TIMESTAMP=" + micros + "\n__MONOTONIC_TIMESTAMP=" + micros +
         "\n_BOOT_ID=0123456789abcdef0123456789abcdef\nSYSLOG_IDENTIFIER=" + identifier + "\n" + fields +
         "\n\n";
}

class RealJournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access(kMaker, X_OK) != 0) {
      GTEST_SKIP() << "no journal can be made here: " << kMaker
                   << " (package systemd-journal-remote) is missing";
    }
    std::filesystem::create_directory(selection.folder);
  }
  // Appends to a file of the journal, or makes it.
  void write(const std::string& entries, const std::string& file = "system.journal") {
    const std::string input = temporary.path() + "/entries";
    std::ofstream(input) << entries;
    const auto made = run({.arguments = {kMaker, "--output=" + selection.folder + "/" + file, input}},
                          Deadline::after(20s));
    ASSERT_TRUE(made && made->status.code == 0) << (made ? made->text : made.error().toString());
  }
  std::unique_ptr<Journal> open(const std::string& cursor = "") {
    auto journal = openJournal(selection, since, cursor);
    EXPECT_TRUE(journal) << journal.error().toString();
    return journal ? *std::move(journal) : nullptr;
  }
  // The messages that there are now.
  static Words messages(Journal& journal) {
    Words all;
    while (true) {
      const auto entry = journal.next();
      EXPECT_TRUE(entry) << entry.error().toString();
      if (!entry || !*entry) {
        return all;
      }
      all.push_back((*entry)->message);
    }
  }
  static bool readable(const Journal& journal) {
    pollfd file{journal.descriptor(), POLLIN, 0};
    return ::poll(&file, 1, 5000) == 1;
  }
  std::string errorOf() const {
    const auto journal = openJournal(selection, since, "");
    return journal ? "" : journal.error().toString();
  }

  TemporaryFolder temporary{"mainstay-journal-"};
  JournalSelection selection{.folder = temporary.path() + "/journal",
                             .identifier = "kubelet",
                             .volatileFolder = temporary.path() + "/volatile"};
  TimePoint since = kLogged;
};

TEST_F(RealJournalTest, GivesTheEntriesOfOneIdentifierFromTheStartOn) {
  write(exported(kLogged - 1us, "kubelet", "MESSAGE=old") + exported(kLogged, "kubelet", "MESSAGE= a=b ") +
        exported(kLogged + 1s, "kubelet2", "MESSAGE=other") +
        exported(kLogged + 2s, "kubelet", "PRIORITY=3"));
  const auto journal = open();
  const auto first = journal->next();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->message, " a=b ");
  EXPECT_EQ((*first)->time, kLogged);
  EXPECT_FALSE((*first)->fromKernel);
  EXPECT_EQ(messages(*journal), Words{""}) << "an entry without a message is one";
}

TEST_F(RealJournalTest, KnowsWhatJournaldReadFromTheKernel) {
  selection.identifier = "kernel";
  write(exported(kLogged, "kernel", "_TRANSPORT=kernel\nMESSAGE=a") +
        exported(kLogged, "kernel", "_TRANSPORT=syslog\nMESSAGE=b"));
  const auto journal = open();
  EXPECT_TRUE((*journal->next())->fromKernel);
  EXPECT_FALSE((*journal->next())->fromKernel);
}

TEST_F(RealJournalTest, GoesOnBehindACursor) {
  write(exported(kLogged, "kubelet", "MESSAGE=a") + exported(kLogged, "kubelet", "MESSAGE=b") +
        exported(kLogged, "kubelet", "MESSAGE=c"));
  const auto journal = open();
  journal->next();
  const std::string cursor = (*journal->next())->cursor;
  EXPECT_EQ(messages(*open(cursor)), Words{"c"});
}

TEST_F(RealJournalTest, GoesOnWithTheNextWhenTheEntryOfTheCursorIsGone) {
  write(exported(kLogged, "kubelet", "MESSAGE=a"), "one.journal");
  const std::string cursor = (*open()->next())->cursor;
  std::filesystem::remove(selection.folder + "/one.journal");
  write(exported(kLogged + 1s, "kubelet", "MESSAGE=b") + exported(kLogged + 2s, "kubelet", "MESSAGE=c"));
  EXPECT_EQ(messages(*open(cursor)), (Words{"b", "c"}));
}

TEST_F(RealJournalTest, TellsOfNewEntriesAndNewFiles) {
  write(exported(kLogged, "kubelet", "MESSAGE=a"));
  const auto journal = open();
  EXPECT_EQ(messages(*journal), Words{"a"});
  write(exported(kLogged + 1s, "kubelet", "MESSAGE=b"));
  EXPECT_TRUE(readable(*journal));
  EXPECT_EQ(messages(*journal), Words{"b"});
  std::filesystem::rename(selection.folder + "/system.journal", selection.folder + "/system@1.journal");
  write(exported(kLogged + 2s, "kubelet", "MESSAGE=c"));
  EXPECT_TRUE(readable(*journal));
  EXPECT_EQ(messages(*journal), Words{"c"});
}

TEST_F(RealJournalTest, AReaderFollowsIt) {
  write(exported(kLogged, "kubelet", "MESSAGE=a"));
  JournalReader reader(
      [this](TimePoint from, const std::string& cursor) { return openJournal(selection, from, cursor); },
      since);
  EXPECT_EQ(testing::wordsOf(reader.poll(kLogged)), (Words{"reading", "a"}));
  write(exported(kLogged + 1s, "kubelet", "MESSAGE=b"));
  EXPECT_EQ(testing::wordsOf(reader.poll(kLogged)), Words{"b"});
}

TEST_F(RealJournalTest, SaysWhatToDoWhenThereIsNone) {
  const std::string folder = selection.folder;
  EXPECT_EQ(errorOf(),
            "there is no journal in " + folder +
                ", or none that we may read (as root or in the group systemd-journal); in a pod, mount "
                "the node's journal there");
  std::filesystem::remove(folder);
  EXPECT_EQ(errorOf(),
            "the journal folder " + folder + " does not exist; in a pod, mount the node's journal there");
  std::filesystem::create_directory(selection.volatileFolder);
  EXPECT_EQ(errorOf(), "the journal folder " + folder +
                           " does not exist; this machine keeps its journal in memory, in " +
                           selection.volatileFolder +
                           ": name that as logPath, or let journald keep it on disk (Storage=persistent in "
                           "journald.conf)");
}

}  // namespace
}  // namespace mainstay::agent
