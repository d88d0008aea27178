// The process's environment: mains read it and hand it in, nothing else does.
#pragma once

#include <cstdlib>
#include <string>

namespace mainstay {

// "" when not set.
inline std::string environmentOf(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? value : "";
}

}  // namespace mainstay
