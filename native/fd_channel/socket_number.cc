#include "fd_channel/socket_number.h"

#include <mutex>
#include <set>

namespace usm_ipc {
namespace {

struct Table {
  std::mutex mutex;
  std::multiset<int> numbers;
};

Table& table() {
  static Table* const table = new Table;  // never destroyed: threads may outlive static destruction
  return *table;
}

}  // namespace

SocketNumber::SocketNumber(int fd) : fd_(fd) {
  if (fd < 0) return;
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.numbers.insert(fd);
}

void SocketNumber::reset() noexcept {
  if (fd_ < 0) return;
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.numbers.find(std::exchange(fd_, -1));
  if (found != all.numbers.end()) all.numbers.erase(found);
}

bool SocketNumber::is_taken(int fd) {
  Table& all = table();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.numbers.count(fd) > 0;
}

}  // namespace usm_ipc
