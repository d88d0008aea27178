// The system calls and programs that probes use beside files, behind one seam.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/probes/ata_smart.h"
#include "base/result.h"

namespace mainstay::agent::probes {

struct FilesystemUse {
  std::uint64_t bytes = 0;
  std::uint64_t freeBytes = 0;  // for ordinary users: without what is reserved
  std::uint64_t inodes = 0;     // 0: the filesystem does not count them
  std::uint64_t freeInodes = 0;
};

struct ClockState {
  bool synchronized = true;
  Duration maxError{};
};

// What the child program printed: see agent/nvml/survey.h.
using AskNvml = std::function<Result<std::string>(Duration patience)>;

// What a program that goes on printing has printed since the last time.
struct StreamPiece {
  std::string text;   // standard output, at most kMaxStreamPiece of it
  std::string ended;  // how it ended, and its last complaint; "" = it runs
};
inline constexpr std::size_t kMaxStreamPiece = 4u << 20;
// Waits no longer than `patience` for more. The program is killed when this is let go of.
using ReadStream = std::function<StreamPiece(Duration patience)>;

struct HostCalls {
  // The SMART / health log page of an NVMe controller, 512 bytes. `device` is its node: "/dev/nvme0".
  std::function<Result<std::string>(const std::string& device)> nvmeHealth;
  // SMART of an ATA drive: "/dev/sda". kFailedPrecondition: the drive keeps none.
  std::function<Result<AtaSmart>(const std::string& device)> ataSmart;
  std::function<Result<FilesystemUse>(const std::string& mountPoint)> filesystemUse;
  std::function<Result<ClockState>()> clock;
  // Made once for each probe that asks: it remembers a child that hangs.
  std::function<AskNvml()> nvml;
  // Starts a program, by its path or its name. kNotFound: it is not installed.
  std::function<Result<ReadStream>(const std::string& program)> stream;
};

struct NvmlProgram {
  std::string program = "mainstay-nvml";  // a path, or a name in PATH
  std::string hostRoot = "/";             // where it looks for the driver's library besides the usual places
};

// Those of this machine. Paths are as this process finds them.
HostCalls realHostCalls(NvmlProgram nvml);

}  // namespace mainstay::agent::probes
