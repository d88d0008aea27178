// Ctrl-C (and SIGTERM) as something to wait for.
#pragma once

#include <optional>

#include "base/time.h"

namespace mainstay {

// Called before any thread starts, so that all of them inherit the mask and only waitForInterrupt sees the signal.
void blockInterrupts();
// The signal that came.
int waitForInterrupt();
// The same, but nullopt when none has come within `limit`.
std::optional<int> waitForInterrupt(Duration limit);
// Whether it has come, and nobody has waited for it yet.
bool interrupted();

}  // namespace mainstay
