// Two environments in one process, each a thread with a loop of its own, exchange frames over the same channels with
// deadlines, cancellations and closes in between; others watch for the exit of processes. Every frame that was sent is received once, in order, and no
// descriptor is left. Built with ThreadSanitizer by scripts/tsan.mjs.
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "fd_channel/address.h"
#include "fd_channel/loop.h"

using namespace usm_ipc;

namespace {

constexpr uint32_t kFrames = 400;
constexpr int kRounds = 30;

#define REQUIRE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

int open_descriptors() {
  DIR* directory = ::opendir("/proc/self/fd");
  int count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  return count;
}

// What the JavaScript side is to a loop: waits for a wake-up, then takes everything.
class Environment {
 public:
  Environment() : loop([this] { woken(); }) {}

  template <typename Handle>
  void pump(Handle&& handle) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      condition_.wait(lock, [this] { return woken_; });
      woken_ = false;
    }
    while (std::optional<Completion> completion = loop.take()) handle(*completion);
  }

 private:
  void woken() {
    const std::lock_guard<std::mutex> lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;

 public:
  Loop loop;  // last: its thread calls woken()
};

Deadline soon(std::mt19937& random) {
  if (random() % 3 != 0) return std::nullopt;
  return Clock::now() + std::chrono::microseconds(random() % 2000);
}

// Sends kFrames frames; one that times out or is cancelled is sent again under the same number, after those before it.
void send_all(UniqueFd socket, unsigned seed) {
  std::mt19937 random(seed);
  Environment environment;
  Loop& loop = environment.loop;
  const PortRef port = loop.add_channel(std::move(socket));
  loop.watch_hangup(port);
  std::vector<uint8_t> bytes(20000);
  for (uint32_t number = 0; number < kFrames;) {
    std::memcpy(bytes.data(), &number, sizeof number);
    const RequestId request = loop.send(port, bytes.data(), 4 + random() % 19996, {0}, soon(random));
    if (random() % 5 == 0 && loop.cancel(request)) continue;
    bool done = false;
    while (!done) {
      environment.pump([&](const Completion& completion) {
        if (completion.request != request) return;
        done = true;
        if (!completion.outcome.failure) {
          ++number;
        } else {
          REQUIRE(completion.outcome.failure->reason == "timeout");
        }
      });
    }
  }
  loop.close(port);
}

void receive_all(UniqueFd socket, unsigned seed) {
  std::mt19937 random(seed);
  Environment environment;
  Loop& loop = environment.loop;
  const PortRef port = loop.add_channel(std::move(socket));
  uint32_t expected = 0;
  bool ended = false;
  std::map<RequestId, int> pending;
  while (!ended) {
    while (pending.size() < 1 + random() % 8) pending[loop.receive(port, soon(random))] = 0;
    if (random() % 4 == 0 && loop.cancel(pending.rbegin()->first)) {
      pending.erase(std::prev(pending.end()));
      continue;
    }
    environment.pump([&](Completion& completion) {
      REQUIRE(pending.erase(completion.request) == 1);
      if (completion.outcome.failure) {
        if (completion.outcome.failure->reason == "peer-gone") {
          ended = true;
        } else {
          REQUIRE(completion.outcome.failure->reason == "timeout");
        }
        return;
      }
      const Frame& frame = completion.outcome.frame;
      uint32_t number;
      std::memcpy(&number, frame.bytes.data(), sizeof number);
      REQUIRE(number == expected);
      REQUIRE(frame.descriptors.size() == 1);
      loop.release(port, frame.descriptors.size());
      ++expected;
    });
  }
  REQUIRE(expected == kFrames);
  // The rest is left to the shutdown: whatever is pending then must not be missed or closed twice.
  if (random() % 2 == 0) loop.shutdown();
}

// A listener that is closed, or shut down, while connections come in and accepts are pending.
void connect_and_close(unsigned seed) {
  std::mt19937 random(seed);
  const std::string path = "/tmp/fd-channel-tsan-" + std::to_string(::getpid());
  Environment server;
  UniqueFd socket = new_socket();
  BoundName name(socket.get(), path, 0600, 4);
  const PortRef listener = server.loop.add_listener(std::move(socket), std::move(name));
  std::thread clients([&path, seed] {
    Environment client;
    size_t open = 0;
    for (int i = 0; i < 20; ++i) {
      // As many as the server waits for have all the time that they need.
      const Deadline patience = i < 8 ? Deadline() : Clock::now() + std::chrono::milliseconds(50);
      client.loop.connect(path, patience);
      ++open;
    }
    while (open > 0) client.pump([&](const Completion&) { --open; });
    (void)seed;
  });
  size_t accepted = 0;
  while (accepted < 8) {
    server.loop.receive(listener, std::nullopt);
    server.pump([&](const Completion& completion) { accepted += completion.outcome.socket ? 1 : 0; });
  }
  for (int i = 0; i < 5; ++i) server.loop.receive(listener, std::nullopt);
  if (random() % 2 == 0) server.loop.close(listener);
  server.loop.shutdown();
  clients.join();
  REQUIRE(::access(path.c_str(), F_OK) != 0);
}

// A process that connects, leaves the connection to a child of its own, and waits to be killed. Forked while there is
// one thread.
pid_t fork_client(const std::string& path) {
  const pid_t client = ::fork();
  if (client != 0) return client;
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const sockaddr_un address = socket_address(path);
  while (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) ::usleep(1000);
  char byte;
  if (::fork() == 0) {
    while (::read(socket, &byte, 1) > 0) {
    }
    ::_exit(0);
  }
  for (;;) ::pause();
}

// Watches for the exit of peers whose connections live on, on several loops at once, some of which are closed or shut
// down while the peers exit.
void watch_exits(unsigned seed) {
  std::mt19937 random(seed);
  constexpr int kClients = 6;
  const std::string path = "/tmp/fd-channel-tsan-exit-" + std::to_string(::getpid());
  std::vector<pid_t> clients;
  UniqueFd socket = new_socket();
  BoundName name(socket.get(), path, 0600, 16, Existing::replace_dead);
  for (int i = 0; i < kClients; ++i) clients.push_back(fork_client(path));
  std::vector<UniqueFd> connections;
  while (connections.size() < kClients) {
    Accepted accepted = accept_socket(socket.get());
    if (accepted.socket) {
      connections.push_back(std::move(accepted.socket));
    } else {
      ::usleep(1000);
    }
  }
  std::vector<std::thread> threads;
  for (UniqueFd& connection : connections) {
    const unsigned kind = random() % 4;
    threads.emplace_back([&connection, kind] {
      Environment environment;
      Loop& loop = environment.loop;
      const PortRef port = loop.add_channel(std::move(connection));
      loop.watch_hangup(port);
      const RequestId watch = loop.watch_exit(port);
      std::thread closer;
      if (kind == 0) closer = std::thread([&] { loop.close(port); });
      if (kind == 1) {
        loop.shutdown();
        while (loop.take()) {
        }
        return;
      }
      bool told = false;
      while (!told) {
        environment.pump([&](const Completion& completion) {
          if (completion.request != watch) return;
          told = true;
          REQUIRE(completion.outcome.exit == PeerExit::exited ||
                  (kind == 0 && completion.outcome.exit == PeerExit::closed));
        });
      }
      if (closer.joinable()) closer.join();
    });
  }
  ::usleep(random() % 2000);
  for (const pid_t client : clients) ::kill(client, SIGKILL);
  for (std::thread& thread : threads) thread.join();
  for (const pid_t client : clients) REQUIRE(::waitpid(client, nullptr, 0) == client);
}

}  // namespace

int main() {
  const int before = open_descriptors();
  for (int round = 0; round < kRounds; ++round) {
    auto ends = socket_pair();
    std::thread sender([&] { send_all(std::move(ends.first), round * 2u); });
    std::thread receiver([&] { receive_all(std::move(ends.second), round * 2u + 1); });
    sender.join();
    receiver.join();
    connect_and_close(static_cast<unsigned>(round));
    watch_exits(static_cast<unsigned>(round));
  }
  REQUIRE(open_descriptors() == before);
  std::puts("ok");
}
