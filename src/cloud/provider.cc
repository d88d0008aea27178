#include "cloud/provider.h"

namespace mainstay::cloud {

std::string instanceIdOf(const std::string& providerId) {
  const std::size_t scheme = providerId.find("://");
  const std::size_t slash = providerId.rfind('/');
  // The last slash of "aws://" itself does not begin an id.
  return scheme == std::string::npos || slash <= scheme + 2 ? "" : providerId.substr(slash + 1);
}

}  // namespace mainstay::cloud
