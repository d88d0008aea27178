// mainstay-match LINES: how many ordinary kernel lines one core matches against all shipped rule packs. LINES is a file; its
// lines are taken in turn as kernel records, and printed is one JSON object.
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "fault/engine.h"
#include "fault/shipped_packs.h"

namespace {

constexpr int kRounds = 5;
constexpr std::size_t kRecords = 2'000'000;

std::size_t patternsOf(const std::vector<mainstay::fault::Pack>& packs) {
  std::size_t patterns = 0;
  for (const auto& pack : packs) {
    for (const auto& rule : pack.rules) {
      patterns += rule.patterns.size();
    }
  }
  return patterns;
}

// Seconds for kRecords records.
double run(mainstay::fault::Engine& engine, std::vector<mainstay::fault::Record>& records,
           std::size_t& found) {
  const auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kRecords; ++i) {
    mainstay::fault::Record& record = records[i % records.size()];
    record.seq = i;
    record.time += mainstay::Duration(1);
    found += engine.take(record).size();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mainstay;
  std::vector<fault::Record> records;
  std::ifstream file(argc > 1 ? argv[1] : "");
  for (std::string line; std::getline(file, line);) {
    fault::Record record;
    record.priority = 6;
    record.text = line;
    records.push_back(std::move(record));
  }
  auto packs = fault::shippedPacks();
  if (records.empty() || !packs) {
    std::cerr << "mainstay-match: " << (packs ? "no lines" : packs.error().toString()) << "\n";
    return 2;
  }
  const std::size_t patterns = patternsOf(*packs);
  fault::Engine engine(*std::move(packs));
  std::size_t found = 0;
  double best = run(engine, records, found);
  for (int round = 1; round < kRounds; ++round) {
    best = std::min(best, run(engine, records, found));
  }
  std::cout << "{\"patterns\": " << patterns << ", \"lines\": " << kRecords << ", \"seconds\": " << best
            << ", \"found\": " << found << "}\n";
  return 0;
}
