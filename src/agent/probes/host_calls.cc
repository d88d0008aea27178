#include "agent/probes/host_calls.h"

#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <scsi/sg.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/timex.h>

#include <array>
#include <utility>

#include "agent/probes/nvml_child.h"
#include "agent/probes/stream_child.h"
#include "base/descriptor.h"

namespace mainstay::agent::probes {
namespace {

constexpr std::size_t kHealthPage = 512;
constexpr std::uint8_t kGetLogPage = 0x02;  // NVMe admin command
constexpr std::uint32_t kHealthLog = 0x02;  // log identifier: SMART / health information
constexpr std::uint32_t kAllNamespaces = 0xffffffff;
constexpr std::uint32_t kHealthTimeout = 5000;  // milliseconds

Result<std::string> readNvmeHealth(const std::string& device) {
  const Descriptor controller(::open(device.c_str(), O_RDONLY | O_CLOEXEC));
  if (!controller) {
    return fail(systemError("opening " + device));
  }
  std::string page(kHealthPage, '\0');
  nvme_admin_cmd command{};
  command.opcode = kGetLogPage;
  command.nsid = kAllNamespaces;
  command.addr = reinterpret_cast<std::uintptr_t>(page.data());
  command.data_len = kHealthPage;
  command.cdw10 = kHealthLog | (kHealthPage / 4 - 1) << 16;  // double words, counted from 0
  command.timeout_ms = kHealthTimeout;
  const int status = ::ioctl(controller.get(), NVME_IOCTL_ADMIN_CMD, &command);
  if (status < 0) {
    return fail(systemError("asking " + device + " for its health log"));
  }
  if (status > 0) {
    return fail(Code::kFailedPrecondition,
                device + " refuses its health log with NVMe status " + std::to_string(status));
  }
  return page;
}

constexpr std::size_t kMaxSense = 64;
constexpr unsigned kSmartTimeout = 5000;  // milliseconds

// The sense that comes back; `data` is filled.
Result<std::string> passThrough(const Descriptor& drive, const std::string& device, ScsiCommand command,
                                std::string& data) {
  std::array<unsigned char, kMaxSense> sense{};
  sg_io_hdr_t call{};
  call.interface_id = 'S';
  call.dxfer_direction = data.empty() ? SG_DXFER_NONE : SG_DXFER_FROM_DEV;
  call.cmd_len = static_cast<unsigned char>(command.size());
  call.cmdp = command.data();
  call.mx_sb_len = static_cast<unsigned char>(sense.size());
  call.sbp = sense.data();
  call.dxfer_len = static_cast<unsigned>(data.size());
  call.dxferp = data.data();
  call.timeout = kSmartTimeout;
  if (::ioctl(drive.get(), SG_IO, &call) < 0) {
    return fail(systemError("asking " + device + " for its SMART data"));
  }
  if (call.host_status != 0) {
    return fail(Code::kUnavailable, "asking " + device + " for its SMART data: the adapter answers " +
                                        std::to_string(call.host_status));
  }
  const std::string said(reinterpret_cast<const char*>(sense.data()), call.sb_len_wr);
  if (refusesSmart(said)) {
    return fail(Code::kFailedPrecondition, device + " has no SMART data");
  }
  if (!hasDone(said)) {
    return fail(Code::kUnavailable, "asking " + device + " for its SMART data: the drive reports an error");
  }
  return said;
}

Result<AtaSmart> readAtaSmart(const std::string& device) {
  const Descriptor drive(::open(device.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!drive) {
    return fail(systemError("opening " + device));
  }
  std::string none;
  AtaSmart smart;
  MAINSTAY_ASSIGN(smart.sense, passThrough(drive, device, smartReturnStatus(), none));
  smart.data.assign(kSmartSector, '\0');
  MAINSTAY_TRY(passThrough(drive, device, smartReadData(), smart.data));
  return smart;
}

Result<FilesystemUse> readFilesystemUse(const std::string& mountPoint) {
  struct statvfs use {};
  if (::statvfs(mountPoint.c_str(), &use) != 0) {
    return fail(systemError("statvfs " + mountPoint));
  }
  return FilesystemUse{use.f_blocks * use.f_frsize, use.f_bavail * use.f_frsize, use.f_files, use.f_favail};
}

Result<ClockState> readClock() {
  timex state{};
  if (::adjtimex(&state) < 0) {
    return fail(systemError("adjtimex"));
  }
  return ClockState{(state.status & STA_UNSYNC) == 0, std::chrono::microseconds(state.maxerror)};
}

}  // namespace

HostCalls realHostCalls(NvmlProgram nvml) {
  return {readNvmeHealth,
          readAtaSmart,
          readFilesystemUse,
          readClock,
          [nvml = std::move(nvml)] { return askChild(nvml); },
          startStream};
}

}  // namespace mainstay::agent::probes
