#include "agent/sources/kernel_log.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "base/descriptor.h"
#include "base/file_system.h"

namespace mainstay::agent {
namespace {

namespace wire = kernel_log_protocol;

// A log that gives scripted answers: for each request the next list of messages.
class ScriptedLog {
 public:
  ScriptedLog(const std::string& path, std::vector<std::vector<std::string>> script)
      : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::jthread([this, script = std::move(script)] { serve(script); });
  }
  // What was asked; once the script has ended.
  std::string requests() {
    thread_.join();
    return requests_;
  }

 private:
  void serve(const std::vector<std::vector<std::string>>& script) {
    const Descriptor peer(::accept(listener_.get(), nullptr, nullptr));
    for (const auto& messages : script) {
      char request = 0;
      if (::recv(peer.get(), &request, 1, 0) != 1) {
        return;
      }
      requests_ += request;
      for (const std::string& message : messages) {
        EXPECT_EQ(::send(peer.get(), message.data(), message.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(message.size()));
      }
    }
  }

  Descriptor listener_;
  std::string requests_;
  std::jthread thread_;
};

TEST(KernelLogTest, SaysWhatIsWrongWithThePath) {
  TemporaryFolder folder("kernel-log");
  EXPECT_EQ(openKernelLog(folder.path() + "/none").error().code(), Code::kNotFound);
  std::ofstream(folder.path() + "/file") << "x";
  const auto file = openKernelLog(folder.path() + "/file");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message().find("neither a character device"), std::string::npos);
}

TEST(SocketKernelLogTest, TellsRecordEmptyOverrunAndSeek) {
  TemporaryFolder folder("kernel-log");
  const std::string path = folder.path() + "/kmsg";
  ScriptedLog server(path, {{"r3,1,2,-;text\n"}, {"p"}, {"e"}, {"s"}, {"s"}});
  auto log = openKernelLog(path);
  ASSERT_TRUE(log) << log.error().toString();
  const auto record = (*log)->read();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, KernelLogRead::Kind::kRecord);
  EXPECT_EQ(record->record, "3,1,2,-;text\n");
  EXPECT_EQ((*log)->read()->kind, KernelLogRead::Kind::kOverrun);
  EXPECT_EQ((*log)->read()->kind, KernelLogRead::Kind::kEmpty);
  EXPECT_TRUE((*log)->seekOldest());
  EXPECT_TRUE((*log)->seekEnd());
  EXPECT_EQ(server.requests(), (std::string{wire::kReadRequest, wire::kReadRequest, wire::kReadRequest,
                                            wire::kSeekOldestRequest, wire::kSeekEndRequest}));
}

TEST(SocketKernelLogTest, RecordsThatComeTogetherAreReadOneByOne) {
  TemporaryFolder folder("kernel-log");
  const std::string path = folder.path() + "/kmsg";
  using namespace std::string_literals;
  ScriptedLog server(path, {{"m3,1,2,-;first\n\0003,2,2,-;second\n\0"s}, {"s"}, {"e"}});
  auto log = openKernelLog(path);
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->read()->record, "3,1,2,-;first\n");
  EXPECT_TRUE((*log)->seekEnd()) << "what was sent along is passed over, too";
  EXPECT_EQ((*log)->read()->kind, KernelLogRead::Kind::kEmpty);
  EXPECT_EQ(server.requests(), (std::string{wire::kReadRequest, wire::kSeekEndRequest, wire::kReadRequest}));
}

TEST(SocketKernelLogTest, WakeMessagesMakeItReadableAndAreSkipped) {
  TemporaryFolder folder("kernel-log");
  const std::string path = folder.path() + "/kmsg";
  ScriptedLog server(path, {{"e", "w"}, {"r3,1,2,-;text\n"}});
  auto log = openKernelLog(path);
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->read()->kind, KernelLogRead::Kind::kEmpty);
  pollfd file{(*log)->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&file, 1, 10000), 1);
  EXPECT_EQ((*log)->read()->kind, KernelLogRead::Kind::kRecord);
}

TEST(SocketKernelLogTest, ALongRecordArrivesWhole) {
  TemporaryFolder folder("kernel-log");
  const std::string path = folder.path() + "/kmsg";
  const std::string longest(kMaxKernelRecord, 'x');
  ScriptedLog server(path, {{"r" + longest}});
  auto log = openKernelLog(path);
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->read()->record, longest);
}

TEST(SocketKernelLogTest, AClosedOrBabblingPeerIsAnError) {
  TemporaryFolder folder("kernel-log");
  const std::string path = folder.path() + "/kmsg";
  ScriptedLog server(path, {{"?"}, {}});
  auto log = openKernelLog(path);
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->read().error().code(), Code::kInternal);
  EXPECT_EQ((*log)->read().error().code(), Code::kUnavailable);
}

TEST(DeviceKernelLogTest, ReadsTheMachinesOwnLog) {
  auto log = openKernelLog("/dev/kmsg");
  if (!log) {
    GTEST_SKIP() << "this machine does not let us: " << log.error().toString();
  }
  ASSERT_TRUE((*log)->seekEnd());
  ASSERT_TRUE((*log)->seekOldest());
  const auto first = (*log)->read();
  ASSERT_TRUE(first) << first.error().toString();
  if (first->kind == KernelLogRead::Kind::kRecord) {
    EXPECT_NE(first->record.find(';'), std::string::npos);
  }
}

}  // namespace
}  // namespace mainstay::agent
