// Ring: the ranks of one group, each connected to its neighbours, and the collectives that run round it.
//
// The order in which floats are added is fixed by rank and chunk, never by arrival: the same inputs give the
// same bits.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trainer/settings.h"
#include "trainer/socket.h"

namespace trainer {

// The part of `size` elements that rank `index` of `world` owns: [begin, end).
struct Chunk {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};
Chunk chunkOf(std::size_t size, int index, int world);

class Ring {
 public:
  // Meets the other ranks at MASTER_ADDR:MASTER_PORT. Every rank listens on its own address and a free port,
  // tells rank 0, and gets the table of all. Throws Failure(kLostPeer) when the group is not complete in
  // time.
  Ring(const Settings& settings, Interrupt& interrupt);

  int rank() const { return rank_; }
  int world() const { return world_; }

  // After it, this rank's chunk holds the sum over all ranks; the rest of `values` is scratch.
  void reduceScatter(std::span<float> values);
  // Fills `values` with every rank's own chunk.
  template <class T>
  void allGather(std::span<T> values) {
    for (int k = 0; k + 1 < world_; ++k) {
      const Chunk out = chunkAt(values.size(), rank_ - k);
      const Chunk in = chunkAt(values.size(), rank_ - k - 1);
      exchange(std::as_bytes(values.subspan(out.begin, out.size())),
               std::as_writable_bytes(values.subspan(in.begin, in.size())));
    }
  }
  // One value of each rank, by rank.
  template <class T>
  std::vector<T> gather(const T& own) {
    std::vector<T> all(static_cast<std::size_t>(world_));
    all[static_cast<std::size_t>(rank_)] = own;
    allGather(std::span(all));
    return all;
  }
  // Returns when every rank has come here.
  void barrier() { gather(char{0}); }

 private:
  Chunk chunkAt(std::size_t size, int index) const {
    return chunkOf(size, (index + 2 * world_) % world_, world_);
  }
  // Sends to the next rank and receives from the previous one at the same time.
  void exchange(std::span<const std::byte> out, std::span<std::byte> in);
  [[noreturn]] void lost(int rank, const std::string& how) const;

  Interrupt& interrupt_;
  const int rank_;
  const int world_;
  const std::chrono::seconds peerTimeout_;
  Socket next_;
  Socket previous_;
};

}  // namespace trainer
