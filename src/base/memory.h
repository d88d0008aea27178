// Memory that a long-lived program no longer needs once it has started.
#pragma once

namespace mainstay {

// Gives back free heap, and unmaps the program's and its libraries' code, most of which ran once (initialisation, parsing
// of configs, TLS handshakes): a page that is needed again comes back from the page cache within microseconds. Worth it
// for a program that then waits for months on every node. Any thread may call it.
void releaseStartupMemory();

}  // namespace mainstay
