// KernelLog: the door to a node's kernel log, with the semantics of /dev/kmsg and nothing else, so that the
// agent reads a real device and the local cluster's stand-in with one code path.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainstay::agent {

// What one read gave.
struct KernelLogRead {
  enum class Kind {
    kRecord,   // `record` holds exactly one
    kEmpty,    // EAGAIN: nothing new; the descriptor becomes readable when there is
    kOverrun,  // EPIPE: records were overwritten before we read them; the next read gives the oldest one left
  };
  Kind kind = Kind::kEmpty;
  std::string
      record;  // "<prio>,<seq>,<usec>,<flags>[,key=value...];text\n[ KEY=value\n...]", as the kernel wrote it
};

// Owned and used by one thread. Freshly opened it stands at the oldest record.
class KernelLog {
 public:
  virtual ~KernelLog() = default;
  // Never waits. An error means that this log can not be read any more: open it again.
  virtual Result<KernelLogRead> read() = 0;
  // Where the next read starts: the oldest record that is left, or after the newest.
  virtual Result<> seekOldest() = 0;
  virtual Result<> seekEnd() = 0;
  // Readable (POLLIN) when a read may give something after it was empty; -1 when whoever writes the log
  // notifies the reader itself (the local cluster in virtual time).
  virtual int descriptor() const = 0;
};

// How a reader opens its log, and opens it again after an error.
using OpenKernelLog = std::function<Result<std::unique_ptr<KernelLog>>()>;

// Opens what stands at `path`: a character device (/dev/kmsg), or a unix socket that speaks the protocol
// below. kPermissionDenied says which capability is missing.
Result<std::unique_ptr<KernelLog>> openKernelLog(const std::string& path);

// The kernel answers EINVAL, and drops the record, when the buffer is too small; its own records end at 2
// KiB, 8 KiB is what every reader uses.
inline constexpr std::size_t kMaxKernelRecord = 8192;

// The stand-in's protocol, over a SOCK_SEQPACKET unix socket (message borders are kept). A connection is one
// open file: it starts at the oldest record and has a read position of its own.
//
//   reader -> log   one byte, one of the requests below
//   log -> reader   exactly one message per request, in order: an answer tag, then for kRecordAnswer the
//                   record's bytes (at most kMaxKernelRecord), for kRecordsAnswer several, each ended by a zero byte
//                   (at most kMaxRecordsAnswer in all). A
//                   round trip for each record is too slow in a flood.
//
// Waking: an answer kEmptyAnswer arms the connection. When a record is written to the log, the log sends one
// kWakeMessage to each armed connection and disarms it; a request disarms, too. So at most one wake-up is
// under way at a time, and it may cross a request: a reader that waits for an answer skips kWakeMessage. End
// of stream = the device is closed. A log that cannot send (the reader is stopped, its buffer full) closes
// that connection and never waits for it.
namespace kernel_log_protocol {
inline constexpr char kReadRequest = 'R';
inline constexpr char kReadManyRequest =
    'M';  // as many as there are: a round trip per record is too slow in a flood
inline constexpr char kSeekOldestRequest = 'O';
inline constexpr char kSeekEndRequest = 'E';

inline constexpr char kRecordAnswer = 'r';   // tag + record
inline constexpr char kRecordsAnswer = 'm';  // tag + (record + "\\0")...
inline constexpr char kEmptyAnswer = 'e';    // EAGAIN, and armed
inline constexpr char kOverrunAnswer = 'p';  // EPIPE; the position is now the oldest record left
inline constexpr char kSoughtAnswer = 's';   // to both seeks
inline constexpr char kWakeMessage = 'w';    // unasked
inline constexpr std::size_t kMaxRecordsAnswer = 32u << 10;
}  // namespace kernel_log_protocol

}  // namespace mainstay::agent
