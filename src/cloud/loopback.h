// Whether an address is this machine's own: the safety catch of the local provider, and of tests.
#pragma once

#include <string_view>

namespace mainstay::cloud {

// "http://127.0.0.1:6443", "http://localhost", "http://[::1]:80". Exact, because it is a safety catch: no name is
// resolved, and no user info and no path is accepted.
bool isLoopbackUrl(std::string_view url);

}  // namespace mainstay::cloud
