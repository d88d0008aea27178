#include "trainer/ring.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "trainer/failure.h"
#include "trainer/test_port.h"

namespace trainer {
namespace {

// Runs `body` once per rank, each in a thread with a ring of its own.
template <class Body>
void inGroup(int world, Body body) {
  const ReservedPort port;
  Interrupt interrupt;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      Settings settings;
      settings.rank = rank;
      settings.world = world;
      settings.masterPort = port.number();
      Ring ring(settings, interrupt);
      body(ring);
    });
  }
}

TEST(ChunkTest, CoversEveryElementOnce) {
  for (const std::size_t size : {0U, 1U, 2U, 7U, 100U}) {
    std::size_t next = 0;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(chunkOf(size, i, 3).begin, next);
      next = chunkOf(size, i, 3).end;
    }
    EXPECT_EQ(next, size);
  }
}

TEST(RingTest, SumsInRankOrderWhateverTheTiming) {
  // Three numbers whose float sum depends on the order: for the chunk of rank r it must start at rank r + 1.
  const std::vector<float> ofRank = {1e8F, 1.0F, -1e8F};
  inGroup(3, [&](Ring& ring) {
    std::vector<float> values(3, ofRank[static_cast<std::size_t>(ring.rank())]);
    ring.reduceScatter(values);
    ring.allGather(std::span(values));
    EXPECT_EQ(values,
              (std::vector<float>{(1.0F + -1e8F) + 1e8F, (-1e8F + 1e8F) + 1.0F, (1e8F + 1.0F) + -1e8F}));
  });
}

TEST(RingTest, MovesMoreThanASocketBufferHolds) {
  inGroup(3, [](Ring& ring) {
    std::vector<float> values(3'000'000, 1.0F);
    ring.reduceScatter(values);
    ring.allGather(std::span(values));
    EXPECT_EQ(std::count(values.begin(), values.end(), 3.0F), 3'000'000);
  });
}

TEST(RingTest, GathersOneValueOfEachRank) {
  inGroup(4, [](Ring& ring) {
    EXPECT_EQ(ring.gather(10 + ring.rank()), (std::vector<int>{10, 11, 12, 13}));
  });
}

TEST(RingTest, AGroupOfOneNeedsNobody) {
  inGroup(1, [](Ring& ring) {
    std::vector<float> values = {1.0F, 2.0F};
    ring.reduceScatter(values);
    EXPECT_EQ(values, (std::vector<float>{1.0F, 2.0F}));
    EXPECT_EQ(ring.gather(7), std::vector<int>{7});
  });
}

TEST(RingTest, ALostNeighbourIsNamed) {
  inGroup(2, [](Ring& ring) {
    if (ring.rank() == 1) {
      return;  // its connections close
    }
    try {
      ring.barrier();
      FAIL() << "nobody was lost";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code, Exit::kLostPeer);
      EXPECT_STREQ(failure.what(), "lost rank 1: it closed the connection");
    }
  });
}

}  // namespace
}  // namespace trainer
