// libFuzzer's entry: MAINSTAY_BORDER names the border that this target drives.
#include <cstddef>
#include <cstdint>

#include "borders.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mainstay::fuzz::MAINSTAY_BORDER({reinterpret_cast<const char*>(data), size});
  return 0;
}
