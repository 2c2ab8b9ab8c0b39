// SYCL's IPC memory as a plain C++ program uses it, step by step as its standard input says: one command a line, one
// answer a line on descriptor 3. It shares no code with usm-ipc; what the runtime prints stays visible on stdout and
// stderr.
#include <sys/prctl.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/ext/oneapi/experimental/ipc_memory.hpp>
#include <sycl/platform.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>

namespace ipc = sycl::ext::oneapi::experimental::ipc;

namespace {

struct Memory {
  char* pointer;
  bool opened;
};

std::string hex(const std::byte* bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; i++) {
    text += digits[std::to_integer<int>(bytes[i]) >> 4];
    text += digits[std::to_integer<int>(bytes[i]) & 15];
  }
  return text;
}

std::vector<std::byte> unhex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(std::byte(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

size_t count_descriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += entry.is_symlink();
  return count;
}

size_t count_mappings() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) count += line.find("/memfd:") != std::string::npos;
  return count;
}

sycl::usm::alloc alloc_of(const std::string& kind) {
  if (kind == "host") return sycl::usm::alloc::host;
  if (kind == "shared") return sycl::usm::alloc::shared;
  return sycl::usm::alloc::device;
}

class Program {
 public:
  std::string run(std::istringstream in) {
    std::string verb, name;
    in >> verb >> name;
    if (verb == "start") {
      start();
      return device_->get_info<sycl::info::device::name>();
    }
    // Loads what it needs first, as whoever started it.
    if (!device_) start();
    if (verb == "setuid") {
      const auto uid = static_cast<uid_t>(std::stoul(name));
      if (::setgid(uid) != 0 || ::setuid(uid) != 0) throw std::runtime_error("setuid failed");
      return "";
    }
    if (verb == "undumpable") {
      ::prctl(PR_SET_DUMPABLE, 0);
      return "";
    }
    if (verb == "descriptors") return std::to_string(count_descriptors());
    if (verb == "mappings") return std::to_string(count_mappings());
    if (verb == "allocate") {
      size_t nbytes;
      std::string kind;
      in >> nbytes >> kind;
      void* pointer = sycl::malloc(nbytes, *device_, *context_, alloc_of(kind));
      if (pointer == nullptr) return "null";
      memory_[name] = {static_cast<char*>(pointer), false};
      return address(name);
    }
    if (verb == "address") return address(name);
    if (verb == "fill") {
      int value;
      size_t nbytes;
      in >> value >> nbytes;
      queue().memset(memory_.at(name).pointer, value, nbytes).wait();
      return "";
    }
    if (verb == "read" || verb == "write") {
      size_t offset;
      in >> offset;
      char* const at = memory_.at(name).pointer + offset;
      if (verb == "write") {
        std::string text;
        in >> text;
        const auto bytes = unhex(text);
        queue().memcpy(at, bytes.data(), bytes.size()).wait();
        return "";
      }
      size_t nbytes;
      in >> nbytes;
      std::vector<std::byte> bytes(nbytes);
      queue().memcpy(bytes.data(), at, nbytes).wait();
      return hex(bytes.data(), nbytes);
    }
    if (verb == "get") {
      size_t offset = 0;
      in >> offset;
      auto handle = ipc::memory::get(memory_.at(name).pointer + offset, *context_);
      const auto bytes = handle.data();
      handles_.insert_or_assign(name, handle);
      return hex(bytes.data(), bytes.size());
    }
    if (verb == "put") {
      ipc::memory::put(handles_.at(name), *context_);
      handles_.erase(name);
      return "";
    }
    if (verb == "open") {
      std::string text;
      in >> text;
      void* pointer = ipc::memory::open(unhex(text), *context_, *device_);
      if (pointer == nullptr) return "null";
      memory_[name] = {static_cast<char*>(pointer), true};
      return address(name);
    }
    if (verb == "close") {
      ipc::memory::close(memory_.at(name).pointer, *context_);
      return "";
    }
    if (verb == "free") {
      sycl::free(memory_.at(name).pointer, *context_);
      return "";
    }
    throw std::runtime_error("no such command: " + verb);
  }

 private:
  void start() {
    const sycl::device device;
    context_ = device.get_platform().khr_get_default_context();
    device_ = device;
  }
  sycl::queue& queue() {
    if (!queue_) queue_.emplace(*context_, *device_, sycl::property_list{sycl::property::queue::in_order()});
    return *queue_;
  }
  std::string address(const std::string& name) {
    std::ostringstream text;
    text << static_cast<void*>(memory_.at(name).pointer);
    return text.str();
  }

  std::optional<sycl::device> device_;
  std::optional<sycl::context> context_;
  std::optional<sycl::queue> queue_;
  std::map<std::string, Memory> memory_;
  std::map<std::string, ipc::handle> handles_;
};

std::string answer(Program& program, const std::string& line) {
  try {
    return "ok " + program.run(std::istringstream(line));
  } catch (const sycl::exception& error) {
    return "error " + std::to_string(sycl::detail::get_ur_error(error)) + " " + error.what();
  } catch (const std::exception& error) {
    return std::string("error 0 ") + error.what();
  }
}

}  // namespace

int main() {
  Program program;
  for (std::string line; std::getline(std::cin, line);) {
    std::string reply = answer(program, line);
    for (char& c : reply) {
      if (c == '\n') c = ' ';
    }
    reply += '\n';
    if (::write(3, reply.data(), reply.size()) < 0) return 2;
  }
  return 0;
}
