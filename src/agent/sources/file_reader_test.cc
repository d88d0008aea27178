#include "agent/sources/file_reader.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <fstream>

#include "agent/testing.h"
#include "base/file_system.h"

namespace mainstay::agent {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

const TimePoint kFileNow = *parseTime("2026-11-29T20:14:07Z");

// Follows a log of lines "2026-11-29T20:00:00Z TEXT".
class FileReaderTest : public ::testing::Test {
 protected:
  static std::string lineOf(const std::string& text) { return "2026-11-29T20:00:00Z " + text + "\n"; }
  void append(const std::string& bytes) { std::ofstream(path, std::ios::app) << bytes; }
  void say(const std::string& text) { append(lineOf(text)); }
  void rotate() { std::filesystem::rename(path, path + ".1"); }
  Words poll(TimePoint now = kFileNow) {
    const auto news = reader.poll(now);
    lastWhat = testing::explanationIn(news);
    return testing::wordsOf(news);
  }
  // All that there is.
  Words pollAll() {
    Words words = poll();
    while (reader.nextPoll() <= kFileNow) {
      std::ranges::move(poll(), std::back_inserter(words));
    }
    return words;
  }
  bool readable() const {
    pollfd file{reader.descriptor(), POLLIN, 0};
    return ::poll(&file, 1, 1000) == 1;
  }
  static fault::LineFormat format() {
    return *fault::LineFormat::create(
        {{"timestamp", "^\\S+"}, {"message", "^\\S+ (.*)"}, {"timestampFormat", "2006-01-02T15:04:05Z07:00"}},
        {" audit:"});
  }

  TemporaryFolder folder{"mainstay-file-reader-"};
  std::string path = folder.path() + "/messages";
  FileReader reader{path, format()};
  std::string lastWhat;
};

TEST_F(FileReaderTest, ReadsFromTheBeginningAndThenWhatIsAppended) {
  say("a");
  EXPECT_EQ(poll(), (Words{"reading", "a"}));
  EXPECT_EQ(reader.nextPoll(), kFileNow + FileReader::kLook);
  EXPECT_EQ(poll(), Words{});
  say("b");
  say("c");
  EXPECT_EQ(poll(), (Words{"b", "c"}));
}

TEST_F(FileReaderTest, APartOfALineWaitsForTheRest) {
  append("2026-11-29T20:00:00Z hal");
  EXPECT_EQ(poll(), Words{"reading"});
  append("f\n");
  EXPECT_EQ(poll(), Words{"half"});
}

TEST_F(FileReaderTest, SkippedLinesAreNotReadAndOthersThatDoNotParseAreCountedOnceWithAnExample) {
  append("  at some.Function()\nanother\n");
  say("x audit: y");
  say("a");
  EXPECT_EQ(poll(), (Words{"reading", "a", "unparsed 2"}));
  EXPECT_EQ(lastWhat, "\"message\" does not match:   at some.Function()");
}

TEST_F(FileReaderTest, FollowsARotation) {
  say("a");
  poll();
  say("b");
  rotate();
  EXPECT_EQ(poll(), Words{"b"});
  std::ofstream(path + ".1", std::ios::app) << lineOf("late");
  EXPECT_EQ(poll(), Words{"late"}) << "its writer still has it";
  append("");
  std::ofstream(path + ".1", std::ios::app) << lineOf("later") << "2026-11-29T20:00:00Z without an end";
  EXPECT_EQ(poll(), Words{"later"}) << "as long as the new file is empty, too";
  say("new");
  EXPECT_EQ(pollAll(), (Words{"without an end", "new"}));
  say("newer");
  EXPECT_EQ(poll(), Words{"newer"});
}

TEST_F(FileReaderTest, FollowsTwoRotationsInARow) {
  say("a");
  poll();
  rotate();
  say("b");
  EXPECT_EQ(pollAll(), Words{"b"});
  rotate();
  say("c");
  EXPECT_EQ(pollAll(), Words{"c"});
}

TEST_F(FileReaderTest, FollowsATruncation) {
  say("a");
  say("b");
  poll();
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(poll(), Words{});
  say("c");
  EXPECT_EQ(poll(), Words{"c"});
}

TEST_F(FileReaderTest, FollowsATruncationAfterWhichTheFileIsLongerThanBefore) {
  say("a");
  poll();
  std::filesystem::resize_file(path, 0);
  say("another");
  say("file");
  EXPECT_EQ(poll(), (Words{"another", "file"}));
}

TEST_F(FileReaderTest, FollowsAWriterThatGoesOnAtItsOldPlaceAfterATruncation) {
  say("a");
  poll();
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  std::filesystem::resize_file(path, 0);
  std::fstream writer(path, std::ios::in | std::ios::out);
  writer.seekp(size);
  writer << lineOf("b") << std::flush;
  EXPECT_EQ(poll(), Words{"b"});
}

TEST_F(FileReaderTest, WhatWasCutOffUnreadIsALoss) {
  const std::string line = lineOf(std::string(1000, 'x'));
  for (int i = 0; i < 100; ++i) {
    append(line);
  }
  poll();
  EXPECT_EQ(reader.nextPoll(), kFileNow) << "it reads in portions";
  std::filesystem::resize_file(path, 0);
  const Words words = poll();
  EXPECT_NE(std::ranges::find(words, "lost 1"), words.end());
  EXPECT_EQ(lastWhat, std::to_string(line.size() * 100 - FollowedFile::kMaxRead) +
                          " bytes were cut off before they were read");
}

TEST_F(FileReaderTest, ReadsALongFileInPortionsAndWhole) {
  Words expected{"reading"};
  for (int i = 0; i < 2000; ++i) {
    say("line " + std::to_string(i));
    expected.push_back("line " + std::to_string(i));
  }
  EXPECT_EQ(pollAll(), expected);
}

TEST_F(FileReaderTest, ALineThatIsTooLongIsALoss) {
  say(std::string(LineSplitter::kMaxLine, 'x'));
  say("a");
  const Words words = pollAll();
  EXPECT_EQ(words, (Words{"reading", "lost 1", "a"}));
}

TEST_F(FileReaderTest, AFileThatIsNotThereIsToldAndTriedAgain) {
  EXPECT_EQ(poll(), Words{"blind"});
  EXPECT_EQ(lastWhat, "opening " + path + ": No such file or directory");
  EXPECT_EQ(reader.nextPoll(), kFileNow + 250ms);
  EXPECT_EQ(reader.descriptor(), -1) << "notices of other files must not make it busy";
  say("a");
  EXPECT_EQ(poll(kFileNow + 100ms), Words{}) << "not before its time";
  EXPECT_EQ(poll(kFileNow + 250ms), (Words{"reading", "a"}));
}

TEST_F(FileReaderTest, WhatIsNoFileIsTold) {
  std::filesystem::create_directory(path);
  EXPECT_EQ(poll(), Words{"blind"});
  EXPECT_EQ(lastWhat, path + " is not a regular file");
}

TEST_F(FileReaderTest, ALogThatStaysAwayIsToldOnce) {
  say("a");
  poll();
  rotate();
  EXPECT_EQ(poll(), Words{});
  EXPECT_EQ(poll(kFileNow + FileReader::kAway - 1s), Words{});
  EXPECT_EQ(poll(kFileNow + FileReader::kAway), Words{"blind"});
  EXPECT_EQ(poll(kFileNow + FileReader::kAway + 1s), Words{});
  say("b");
  EXPECT_EQ(poll(kFileNow + 1min), Words{"reading"});
  EXPECT_EQ(poll(kFileNow + 1min), Words{"b"});
}

TEST_F(FileReaderTest, ItsDescriptorTellsOfLinesRotationAndNothingElse) {
  say("a");
  poll();
  poll();
  pollfd quiet{reader.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&quiet, 1, 0), 0);
  say("b");
  EXPECT_TRUE(readable());
  poll();
  rotate();
  EXPECT_TRUE(readable());
  poll();
  say("c");
  EXPECT_TRUE(readable());
  pollAll();
  say("d");
  EXPECT_TRUE(readable());
  EXPECT_EQ(poll(), Words{"d"});
}

}  // namespace
}  // namespace mainstay::agent
