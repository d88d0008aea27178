// Ctrl-C (and SIGTERM) as something to wait for.
#pragma once

namespace mainstay {

// Called before any thread starts, so that all of them inherit the mask and only waitForInterrupt sees the signal.
void blockInterrupts();
// The signal that came.
int waitForInterrupt();
// Whether it has come, and nobody has waited for it yet.
bool interrupted();

}  // namespace mainstay
