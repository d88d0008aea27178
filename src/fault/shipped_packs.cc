#include "fault/shipped_packs.h"

namespace mainstay::fault {

Result<std::vector<Pack>> shippedPacks() {
  std::vector<Pack> packs;
  for (const auto& [path, text] : shippedPackTexts()) {
    MAINSTAY_ASSIGN(Pack pack, parsePack(text, std::string(path)));
    packs.push_back(std::move(pack));
  }
  return packs;
}

}  // namespace mainstay::fault
