#include "base/memory.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

namespace mainstay {
namespace {

// "55d0-55f0 r-xp 00001000 fe:00 4711 /usr/bin/x": code of a file. It is never written to, so nothing is lost with it.
void unmapCode(const std::string& mapping) {
  std::istringstream words(mapping);
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  char dash = 0;
  std::string rights;
  std::string offset;
  std::string device;
  std::string inode;
  std::string path;
  words >> std::hex >> begin >> dash >> end >> rights >> offset >> device >> inode >> path;
  if (rights == "r-xp" && path.starts_with('/')) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells addresses as numbers
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
}

}  // namespace

void releaseStartupMemory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string mapping; std::getline(maps, mapping);) {
    unmapCode(mapping);
  }
  ::malloc_trim(0);
}

}  // namespace mainstay
