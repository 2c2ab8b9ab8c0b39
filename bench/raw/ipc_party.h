// One process of the IPC benchmarks in C++: reads commands, one a line, and answers each with one line.
//   get COUNT           nanoseconds of a get and put of one buffer
//   make COUNT          COUNT new buffers' handles, in hexadecimal
//   first HANDLE...     nanoseconds of opening each once, then closes all
//   cached COUNT HANDLE nanoseconds of opening and of closing what is open already
//   read BYTES          nanoseconds of copying device memory to the host
//   memcpy BYTES        the same by memcpy, from memory of the host
// Api: alloc(n), get(p) -> bytes, put(), open(bytes), close(p), read(to, from, n).
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

inline double now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::string hexadecimal(const Bytes& bytes) {
  std::string text;
  char two[3];
  for (const uint8_t byte : bytes) {
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

inline Bytes from_hexadecimal(const std::string& text) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(std::stoul(text.substr(i, 2), nullptr, 16));
  return bytes;
}

template <class Api>
int serve(Api& api) {
  constexpr size_t kBuffer = 1 << 16;
  std::vector<void*> kept;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    std::ostringstream answer;
    if (command == "get") {
      int count;
      words >> count;
      void* const p = api.alloc(kBuffer);
      const double start = now();
      for (int i = 0; i < count; i++) {
        api.get(p);
        api.put();
      }
      answer << (now() - start) / count;
      api.free(p);
    } else if (command == "make") {
      int count;
      words >> count;
      for (void* const p : kept) api.free(p);
      kept.clear();
      for (int i = 0; i < count; i++) {
        kept.push_back(api.alloc(kBuffer));
        answer << (i == 0 ? "" : " ") << hexadecimal(api.get(kept.back()));
      }
    } else if (command == "first") {
      std::vector<Bytes> handles;
      for (std::string word; words >> word;) handles.push_back(from_hexadecimal(word));
      std::vector<void*> opened;
      const double start = now();
      for (const Bytes& handle : handles) opened.push_back(api.open(handle));
      answer << (now() - start) / handles.size();
      for (void* const p : opened) api.close(p);
    } else if (command == "cached") {
      int count;
      std::string word;
      words >> count >> word;
      const Bytes handle = from_hexadecimal(word);
      void* const held = api.open(handle);
      double open = 0;
      double close = 0;
      for (int i = 0; i < count; i++) {
        double start = now();
        void* const p = api.open(handle);
        open += now() - start;
        start = now();
        api.close(p);
        close += now() - start;
      }
      api.close(held);
      answer << open / count << ' ' << close / count;
    } else if (command == "read" || command == "memcpy") {
      size_t nbytes;
      words >> nbytes;
      std::vector<uint8_t> to(nbytes, 1);
      if (command == "read") {
        void* const from = api.alloc(nbytes);
        api.read(to.data(), from, nbytes);
        const double start = now();
        api.read(to.data(), from, nbytes);
        answer << now() - start;
        api.free(from);
      } else {
        std::vector<uint8_t> from(nbytes, 2);
        const double start = now();
        std::memcpy(to.data(), from.data(), nbytes);
        answer << now() - start;
      }
    } else {
      return 2;
    }
    std::printf("%s\n", answer.str().c_str());
    std::fflush(stdout);
  }
  return 0;
}
