// Memory that processes can share: a memory file, and a mapping of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "unique_fd.h"

namespace usm_ipc::cuda_cpu {

struct File {
  UniqueFd fd;
  uint64_t nbytes = 0;
  uint16_t token = 0;  // in its name, so that another process can tell it from one that has its number later
};

// Null where there is no memory or no descriptor to be had.
std::shared_ptr<File> make_file(uint64_t nbytes);
// Of another process, by number; null where that is not the file that `token` says.
std::shared_ptr<File> file_of(uint32_t process, uint32_t fd, uint32_t token);

struct MappedFile {
  std::shared_ptr<File> file;
  uint8_t* base = nullptr;
  uint64_t nbytes = 0;
  ~MappedFile();
};

// At an address that is a multiple of 2 MiB. Without a file: memory of this process alone.
std::shared_ptr<MappedFile> map_file(std::shared_ptr<File> file, uint64_t nbytes);

// Addresses without memory, and what is put there.
uint8_t* reserve(uint64_t nbytes);
bool put(uint8_t* at, uint64_t nbytes, const File& file);
void take_away(uint8_t* at, uint64_t nbytes);
void release(uint8_t* at, uint64_t nbytes);

// A descriptor that stands for a file: a socket with the file in it, because CUDA's descriptors are no files of their own
// identity either. `about` says what it is.
struct Shareable {
  uint64_t magic;
  uint64_t kind;  // 1 virtual memory, 2 a pool
  uint64_t nbytes;
  uint64_t id;
  int32_t device;
  uint16_t token;
  uint16_t zero;
};
constexpr uint64_t kShareableMagic = 0x6d736370755f6475;
int export_file(const File& file, const Shareable& about);
// Null for anything else, which is not asked more than it must be.
std::shared_ptr<File> import_file(int fd, Shareable& about);

}  // namespace usm_ipc::cuda_cpu
