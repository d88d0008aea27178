// The child process in which the NVIDIA driver is asked: a driver that hangs or a library that crashes takes
// the child, not the agent.
#pragma once

#include "agent/probes/host_calls.h"

namespace mainstay::agent::probes {

// Each call runs the program once and gives what it printed. kDeadlineExceeded: it hung and was killed; as
// long as even that does not end it (a thread stuck in the kernel), no other is started and every call says
// so.
AskNvml askChild(const NvmlProgram& program);

inline constexpr std::size_t kMaxNvmlAnswer = 1u << 20;

}  // namespace mainstay::agent::probes
