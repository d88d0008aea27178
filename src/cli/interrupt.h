// Ctrl-C (and SIGTERM) as something to wait for.
#pragma once

namespace mainstay::cli {

// Called before any thread starts, so that all of them inherit the mask and only waitForInterrupt sees the signal.
void blockInterrupts();
void waitForInterrupt();
// Whether it has come, and nobody has waited for it yet.
bool interrupted();

}  // namespace mainstay::cli
