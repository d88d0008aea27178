#include "cloud/loopback.h"

#include <arpa/inet.h>

#include <charconv>
#include <string>

namespace mainstay::cloud {

bool isLoopbackUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    return false;
  }
  url.remove_prefix(kScheme.size());
  const std::size_t hostEnd = url.starts_with("[::1]") ? 5 : std::min(url.find(':'), url.size());
  const std::string host(url.substr(0, hostEnd));
  std::string_view port = url.substr(hostEnd);
  int number = 0;
  const auto [end, error] =
      std::from_chars(port.data() + (port.empty() ? 0 : 1), port.data() + port.size(), number);
  const bool portOk = port.empty() || (port[0] == ':' && error == std::errc() &&
                                       end == port.data() + port.size() && number > 0 && number < 65536);
  in_addr v4{};
  const bool loopbackV4 = inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
  return portOk && (loopbackV4 || host == "[::1]" || host == "localhost");
}

}  // namespace mainstay::cloud
