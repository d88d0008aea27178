#include "trainer/ring.h"

#include <poll.h>

#include <map>
#include <sstream>

#include "trainer/failure.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxLine = 1 << 20;            // the table of kMaxWorld ranks fits
constexpr std::chrono::seconds kGreetingTimeout{5};  // a stranger on our port must not hold up the group
constexpr char kGreeting[] = "mainstay-trainer-1";   // protocol and its version

struct Endpoint {
  std::string address;
  int port = 0;
};

// What a rank says on a new connection: greeting, world, rank, and where it listens.
std::string introduce(const Settings& settings, const Endpoint& endpoint) {
  std::ostringstream line;
  line << kGreeting << ' ' << settings.world << ' ' << settings.rank << ' ' << endpoint.address << ' '
       << endpoint.port << '\n';
  return line.str();
}

// The rank that introduces itself, or -1 when it is not of our group.
int readIntroduction(Socket& peer, const Settings& settings, Interrupt& interrupt, Endpoint& endpoint) {
  std::string line;
  if (!peer.readLine(line, kMaxLine, interrupt, std::chrono::steady_clock::now() + kGreetingTimeout)) {
    return -1;
  }
  std::istringstream words(line);
  std::string greeting;
  int world = 0;
  int rank = -1;
  words >> greeting >> world >> rank >> endpoint.address >> endpoint.port;
  const bool ours =
      !words.fail() && greeting == kGreeting && world == settings.world && rank >= 0 && rank < world;
  return ours ? rank : -1;
}

// Rank 0: collects where everyone listens, then tells everyone. A rank that comes again (it was restarted)
// replaces its former self.
std::vector<Endpoint> host(const Settings& settings, const Endpoint& own, Interrupt& interrupt,
                           Instant deadline) {
  const std::string& address = settings.ownAddress.empty() ? settings.masterAddress : settings.ownAddress;
  Socket listener = Socket::listenOn(address, settings.masterPort);
  std::vector<Endpoint> table(static_cast<std::size_t>(settings.world));
  table[0] = own;
  std::map<int, Socket> peers;
  while (static_cast<int>(peers.size()) + 1 < settings.world) {
    const std::string missing = std::to_string(settings.world - 1 - static_cast<int>(peers.size()));
    Socket peer = listener.accept(interrupt, deadline, missing + " more rank(s) to join");
    Endpoint endpoint;
    const int rank = readIntroduction(peer, settings, interrupt, endpoint);
    if (rank > 0) {
      table[static_cast<std::size_t>(rank)] = endpoint;
      peers.insert_or_assign(rank, std::move(peer));
    }
  }
  std::ostringstream line;
  for (const Endpoint& endpoint : table) {
    line << endpoint.address << ' ' << endpoint.port << ' ';
  }
  line << '\n';
  for (auto& [rank, peer] : peers) {
    if (!peer.writeAll(line.str(), interrupt, deadline)) {
      throw Failure(Exit::kLostPeer, "rank " + std::to_string(rank) + " left before the group was complete");
    }
  }
  return table;
}

std::vector<Endpoint> visit(const Settings& settings, const Endpoint& own, Interrupt& interrupt,
                            Instant deadline) {
  Socket master = Socket::connectTo(settings.masterAddress, settings.masterPort, interrupt, deadline);
  std::string line;
  if (!master.writeAll(introduce(settings, own), interrupt, deadline) ||
      !master.readLine(line, kMaxLine, interrupt, deadline)) {
    throw Failure(Exit::kLostPeer, "rank 0 left before the group was complete");
  }
  std::vector<Endpoint> table(static_cast<std::size_t>(settings.world));
  std::istringstream words(line);
  for (Endpoint& endpoint : table) {
    words >> endpoint.address >> endpoint.port;
  }
  if (words.fail()) {
    throw Failure(Exit::kLostPeer, "rank 0 sent a table that cannot be read");
  }
  return table;
}

}  // namespace

Chunk chunkOf(std::size_t size, int index, int world) {
  const auto i = static_cast<std::size_t>(index);
  const auto n = static_cast<std::size_t>(world);
  return {size * i / n, size * (i + 1) / n};
}

Ring::Ring(const Settings& settings, Interrupt& interrupt)
    : interrupt_(interrupt),
      rank_(settings.rank),
      world_(settings.world),
      peerTimeout_(settings.peerTimeout) {
  if (world_ == 1) {
    return;
  }
  const Instant deadline = std::chrono::steady_clock::now() + settings.rendezvousTimeout;
  const std::string address = settings.ownAddress.empty() ? "127.0.0.1" : settings.ownAddress;
  Socket listener = Socket::listenOn(address, 0);
  const Endpoint own{address, listener.port()};
  const std::vector<Endpoint> table =
      rank_ == 0 ? host(settings, own, interrupt, deadline) : visit(settings, own, interrupt, deadline);
  // From here on everyone is known to be up: a neighbour that does not answer within the peer timeout is
  // lost.
  const Instant soon = std::chrono::steady_clock::now() + peerTimeout_;
  const Endpoint& to = table[static_cast<std::size_t>((rank_ + 1) % world_)];
  next_ = Socket::connectTo(to.address, to.port, interrupt, soon);
  if (!next_.writeAll(introduce(settings, own), interrupt, soon)) {
    lost((rank_ + 1) % world_, "closed the connection");
  }
  const int before = (rank_ + world_ - 1) % world_;
  Endpoint endpoint;
  do {
    previous_ = listener.accept(interrupt, soon, "rank " + std::to_string(before));
  } while (readIntroduction(previous_, settings, interrupt, endpoint) != before);
}

void Ring::reduceScatter(std::span<float> values) {
  std::vector<float> received(values.size() / static_cast<std::size_t>(world_) + 1);
  for (int k = 0; k + 1 < world_; ++k) {
    const Chunk out = chunkAt(values.size(), rank_ - k - 1);
    const Chunk in = chunkAt(values.size(), rank_ - k - 2);
    const std::span<float> partial = std::span(received).first(in.size());
    exchange(std::as_bytes(values.subspan(out.begin, out.size())), std::as_writable_bytes(partial));
    for (std::size_t i = 0; i < in.size(); ++i) {
      values[in.begin + i] = partial[i] + values[in.begin + i];
    }
  }
}

void Ring::exchange(std::span<const std::byte> out, std::span<std::byte> in) {
  while (!out.empty() || !in.empty()) {
    const long sent = out.empty() ? 0 : next_.sendSome(out);
    if (sent < 0) {
      lost((rank_ + 1) % world_, "closed the connection");
    }
    out = out.subspan(static_cast<std::size_t>(sent));
    const long got = in.empty() ? 0 : previous_.receiveSome(in);
    if (got < 0) {
      lost((rank_ + world_ - 1) % world_, "closed the connection");
    }
    in = in.subspan(static_cast<std::size_t>(got));
    if (sent > 0 || got > 0) {
      continue;
    }
    const Awaited writable{out.empty() ? -1 : next_.fd(), POLLOUT};
    const Awaited readable{in.empty() ? -1 : previous_.fd(), POLLIN};
    if (!interrupt_.wait(writable, readable, std::chrono::steady_clock::now() + peerTimeout_)) {
      lost((rank_ + world_ - 1) % world_, "said nothing for " + std::to_string(peerTimeout_.count()) + " s");
    }
  }
}

void Ring::lost(int rank, const std::string& how) const {
  throw Failure(Exit::kLostPeer, "lost rank " + std::to_string(rank) + ": it " + how);
}

}  // namespace trainer
