#include "fault/shipped_packs.h"

#include "base/text.h"

namespace mainstay::fault {
namespace {

constexpr std::string_view kShipped = "shipped";
constexpr std::size_t kMaxPackFile = 1u << 20;

Result<> add(std::vector<Pack>& packs, std::string_view text, const std::string& file) {
  MAINSTAY_ASSIGN(Pack pack, parsePack(text, file, packs));
  addPack(packs, std::move(pack));
  return {};
}

Result<> addShipped(std::vector<Pack>& packs) {
  for (const auto& [path, text] : shippedPackTexts()) {
    MAINSTAY_TRY(add(packs, text, std::string(path)));
  }
  return {};
}

Result<std::string> readPackFile(const std::string& name, const FileSystem& files) {
  if (name.find('/') == std::string::npos && name.find('.') == std::string::npos) {
    std::vector<std::string> known{std::string(kShipped)};
    for (const auto& [path, text] : shippedPackTexts()) {
      known.emplace_back(path.substr(path.find('/') + 1, path.rfind('.') - path.find('/') - 1));
    }
    const std::vector<std::string_view> words(known.begin(), known.end());
    return fail(Code::kInvalidArgument, "no rule pack of this release is called \"" + name + "\"" +
                                            didYouMean(name, words) + " A file is named by its path: ./" +
                                            name);
  }
  return files.read(name, kMaxPackFile);
}

}  // namespace

Result<std::vector<Pack>> shippedPacks() {
  std::vector<Pack> packs;
  MAINSTAY_TRY(addShipped(packs));
  return packs;
}

Result<> layOver(std::vector<Pack>& packs, const std::string& name, const FileSystem& files) {
  if (name == kShipped) {
    return addShipped(packs);
  }
  const auto shipped = shippedPackTexts().find("rules/" + name + ".yaml");
  if (shipped != shippedPackTexts().end()) {
    return add(packs, shipped->second, std::string(shipped->first));
  }
  MAINSTAY_ASSIGN(const std::string text, readPackFile(name, files));
  return add(packs, text, name);
}

Result<std::vector<Pack>> loadPacks(const std::vector<std::string>& names, const FileSystem& files) {
  std::vector<Pack> packs;
  for (const std::string& name : names) {
    MAINSTAY_TRY(layOver(packs, name, files));
  }
  return packs;
}

}  // namespace mainstay::fault
