#include "base/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace mainstay {
namespace {

tl::unexpected<Error> refused(const char* what) {
  return fail(Code::kInternal, std::string("giving up capabilities: ") + what + ": " + std::strerror(errno));
}

}  // namespace

Result<> keepCapabilities(Capabilities kept) {
  // Version 3 holds 64 capabilities as two words. The C library has no function for these two calls.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> words{};
  if (::syscall(SYS_capget, &header, words.data()) != 0) {
    return refused("capget");
  }
  // The bounding set first: it takes CAP_SETPCAP, which goes next. Who lacks that one has a set that others gave.
  for (int number = 0; ::prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number) {
    if (!(kept & capability(number)) && ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0 && errno != EPERM) {
      return refused("prctl PR_CAPBSET_DROP");
    }
  }
  for (std::size_t word = 0; word < words.size(); ++word) {
    const auto keep = static_cast<std::uint32_t>(kept >> (32 * word));
    words[word].permitted &= keep;
    words[word].effective &= keep;
    words[word].inheritable &= keep;
  }
  if (::syscall(SYS_capset, &header, words.data()) != 0) {
    return refused("capset");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return refused("prctl PR_SET_NO_NEW_PRIVS");
  }
  return {};
}

}  // namespace mainstay
