// How many ordinary lines of a kernel log the engine of rule packs takes per second, on one core.
//   mainstay-match FILE [ROUNDS]    FILE: records as read from /dev/kmsg
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/file_system.h"
#include "fault/engine.h"
#include "fault/shipped_packs.h"

namespace {

using namespace mainstay;

std::vector<fault::Record> recordsOf(const std::string& text) {
  std::vector<fault::Record> records;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (auto record = fault::parseKernelRecord(std::string_view(text).substr(begin, end - begin))) {
      records.push_back(*std::move(record));
    }
    begin = end + 1;
  }
  return records;
}

Result<> run(const std::string& path, int rounds) {
  MAINSTAY_ASSIGN(const std::string text, RealFileSystem().read(path, 256u << 20));
  MAINSTAY_ASSIGN(std::vector<fault::Pack> packs, fault::shippedPacks());
  fault::Engine engine(std::move(packs));
  const std::vector<fault::Record> records = recordsOf(text);
  std::size_t found = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    for (const fault::Record& record : records) {
      found += engine.take(record).size();
    }
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const double lines = static_cast<double>(records.size()) * rounds;
  std::printf("{\"lines\": %.0f, \"seconds\": %.3f, \"lines_per_second\": %.0f, \"outcomes\": %zu}\n", lines,
              spent.count(), lines / spent.count(), found);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FILE [ROUNDS]\n", argv[0]);
    return 2;
  }
  if (const auto done = run(argv[1], argc > 2 ? std::atoi(argv[2]) : 100); !done) {
    std::fprintf(stderr, "%s\n", done.error().toString().c_str());
    return 1;
  }
  return 0;
}
