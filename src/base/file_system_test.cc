#include "base/file_system.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainstay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What both implementations promise; `folder` exists and is empty.
void checkFileSystemContract(FileSystem& files, const std::string& folder) {
  EXPECT_TRUE(files.exists(folder));
  EXPECT_TRUE(files.list(folder)->empty());
  const std::string path = folder + "/state";

  const auto absent = files.read(path);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code(), Code::kNotFound);
  EXPECT_THAT(absent.error().toString(), HasSubstr(path));
  EXPECT_FALSE(files.exists(path));

  ASSERT_TRUE(files.write(path, std::string("one\0two", 7)));
  EXPECT_EQ(*files.read(path), std::string("one\0two", 7));
  ASSERT_TRUE(files.write(path, "three"));
  EXPECT_EQ(*files.read(path), "three");
  EXPECT_TRUE(files.exists(path));

  EXPECT_EQ(*files.read(path, 5), "three");
  EXPECT_EQ(files.read(path, 4).error().code(), Code::kResourceExhausted);

  ASSERT_TRUE(files.write(folder + "/a", ""));
  EXPECT_THAT(*files.list(folder), ElementsAre("a", "state"));
  EXPECT_EQ(files.list(folder + "/none").error().code(), Code::kNotFound);
  EXPECT_EQ(files.list(path).error().code(), Code::kNotFound);
  EXPECT_EQ(files.write(folder + "/none/x", "").error().code(), Code::kNotFound);
  EXPECT_EQ(files.read(folder).error().code(), Code::kInvalidArgument);
}

TEST(FileSystemTest, RealOneKeepsTheContract) {
  const TemporaryFolder folder("mainstay-test-");
  RealFileSystem files;
  checkFileSystemContract(files, folder.path());
}

TEST(FileSystemTest, FakeOneKeepsTheContract) {
  FakeFileSystem files;
  files.addFolder("/var/lib/mainstay");
  checkFileSystemContract(files, "/var/lib/mainstay");
}

TEST(RealFileSystemTest, LeavesNoTemporaryFileBehindWhenAWriteFails) {
  const TemporaryFolder folder("mainstay-test-");
  std::filesystem::create_directory(folder.path() + "/taken");
  RealFileSystem files;
  EXPECT_FALSE(files.write(folder.path() + "/taken", "a folder cannot be replaced by a file"));
  EXPECT_THAT(*static_cast<FileSystem&>(files).list(folder.path()), ElementsAre("taken"));
}

TEST(RealFileSystemTest, KeepsTheModeOfAFileAndMakesNewOnesPrivate) {
  const TemporaryFolder folder("mainstay-test-");
  const std::string path = folder.path() + "/file";
  RealFileSystem files;
  struct stat state {};
  ASSERT_TRUE(files.write(path, "1"));
  ASSERT_EQ(::stat(path.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(files.write(path, "2"));
  ASSERT_EQ(::stat(path.c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0644u);
}

TEST(RealFileSystemTest, ReadsFilesThatDoNotTellTheirSize) {
  const RealFileSystem files;
  EXPECT_THAT(*files.read("/proc/self/status", 1 << 20), HasSubstr("Name:"));
}

TEST(FakeFileSystemTest, FailsWhereItIsTold) {
  FakeFileSystem files(std::map<std::string, std::string>{{"/etc/a", "1"}});
  files.failOn("/etc/a", Error(Code::kPermissionDenied, "no"));
  EXPECT_EQ(files.read("/etc/a", 10).error().code(), Code::kPermissionDenied);
  EXPECT_EQ(files.write("/etc/a", "2").error().code(), Code::kPermissionDenied);
  EXPECT_TRUE(files.write("/etc/b", "2"));
}

TEST(FakeFileSystemTest, ListsFoldersAndFilesOfOneLevel) {
  const FakeFileSystem files(
      {{"/sys/class/a/x", ""}, {"/sys/class/a/y", ""}, {"/sys/class/b", ""}, {"/sys/classic", ""}});
  EXPECT_THAT(*files.list("/sys/class"), ElementsAre("a", "b"));
  EXPECT_THAT(*files.list("/"), ElementsAre("sys"));
  EXPECT_TRUE(files.exists("/sys/class/a"));
}

TEST(FakeFileSystemTest, RemovesAFileOrAFolderWithAllInIt) {
  FakeFileSystem files({{"/a/b/x", ""}, {"/a/bc", ""}, {"/d", ""}});
  files.addFolder("/a/b/empty");
  files.remove("/a/b");
  files.remove("/d");
  EXPECT_THAT(*files.list("/a"), ElementsAre("bc"));
  EXPECT_FALSE(files.exists("/a/b/empty"));
  EXPECT_FALSE(files.exists("/d"));
}

TEST(TemporaryFolderTest, DisappearsWithAllItHoldsUnlessKept) {
  std::string gone;
  std::string kept;
  {
    const TemporaryFolder first("mainstay-test-");
    TemporaryFolder second("mainstay-test-");
    gone = first.path();
    kept = second.path();
    std::filesystem::create_directories(gone + "/a/b");
    std::ofstream(gone + "/a/b/c") << "x";
    second.keep();
  }
  EXPECT_FALSE(std::filesystem::exists(gone));
  EXPECT_TRUE(std::filesystem::exists(kept));
  std::filesystem::remove_all(kept);
}

}  // namespace
}  // namespace mainstay
