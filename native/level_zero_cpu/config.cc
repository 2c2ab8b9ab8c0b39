#include "level_zero_cpu/config.h"

#include <sys/sysinfo.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace usm_ipc::ze {
namespace {

constexpr uint32_t kMostDevices = 64;
// From this one on the SYCL runtime chooses its newer adapter by itself.
constexpr uint32_t kIpVersion = 0x05004000;

std::optional<uint64_t> number(const std::string& text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  errno = 0;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0') return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (;;) {
    const size_t at = text.find(separator, start);
    parts.push_back(text.substr(start, at == std::string::npos ? at : at - start));
    if (at == std::string::npos) return parts;
    start = at + 1;
  }
}

class Reader {
 public:
  Config read() {
    read_handles();
    read_number("USM_IPC_ZE_DEVICES", 1, kMostDevices, config_.devices);
    read_number("USM_IPC_ZE_SUBDEVICES", 0, kMostDevices, config_.subdevices);
    config_.memory = machine_memory();
    read_number("USM_IPC_ZE_MEMORY", 1, uint64_t{1} << 46, config_.memory);
    config_.ip_version = kIpVersion;
    read_number("USM_IPC_ZE_IP_VERSION", 0, UINT32_MAX, config_.ip_version);
    read_trace();
    read_faults();
    read_loss();
    read_hierarchy();
    read_mask();
    return config_;
  }

 private:
  // Unset and empty are the same.
  const char* get(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  void refuse(const char* name, const char* value, const char* wanted) {
    std::fprintf(stderr, "usm-ipc software driver: %s=%s: it takes %s\n", name, value, wanted);
    config_.valid = false;
  }

  static uint64_t machine_memory() {
    struct sysinfo info;
    return ::sysinfo(&info) == 0 ? uint64_t{info.totalram} * info.mem_unit : uint64_t{1} << 30;
  }

  template <typename T>
  void read_number(const char* name, uint64_t least, uint64_t most, T& to) {
    const char* const value = get(name);
    if (value == nullptr) return;
    const auto parsed = number(value);
    if (parsed && *parsed >= least && *parsed <= most) {
      to = static_cast<T>(*parsed);
    } else {
      refuse(name, value, ("a number from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
    }
  }

  void read_handles() {
    const char* const name = "USM_IPC_ZE_HANDLES";
    const char* const value = get(name);
    if (value == nullptr) return;
    if (std::strcmp(value, "classic") == 0) config_.handles = HandleForm::classic;
    else if (std::strcmp(value, "opaque") == 0) config_.handles = HandleForm::opaque;
    else if (std::strcmp(value, "opaque-mirror") == 0) config_.handles = HandleForm::opaque_mirror;
    else refuse(name, value, "classic, opaque or opaque-mirror");
  }

  void read_trace() {
    const char* const name = "USM_IPC_ZE_TRACE";
    const char* const value = get(name);
    if (value == nullptr || std::strcmp(value, "0") == 0) return;
    if (std::strcmp(value, "1") == 0) config_.tracing = Tracing::refusals;
    else if (std::strcmp(value, "calls") == 0) config_.tracing = Tracing::calls;
    else refuse(name, value, "1 (what fails) or calls (everything)");
  }

  void read_faults() {
    const char* const name = "USM_IPC_ZE_FAULT";
    const char* const value = get(name);
    if (value == nullptr) return;
    for (const std::string& fault : split(value, ',')) {
      const auto parts = split(fault, ':');
      const bool whole = parts.size() == 3;
      const auto call = whole ? (parts[1] == "*" ? std::optional<uint64_t>(0) : number(parts[1])) : std::nullopt;
      const auto result = whole ? number(parts[2]) : std::nullopt;
      if (!call || !result || *result > UINT32_MAX || (*call == 0 && parts[1] != "*")) {
        return refuse(name, value, "function:call:result[,...], as in zeMemOpenIpcHandle:1:0x70000001 (call *: all)");
      }
      config_.faults.push_back({parts[0], *call, static_cast<Result>(*result)});
    }
  }

  void read_loss() {
    const char* const name = "USM_IPC_ZE_LOST";
    const char* const value = get(name);
    if (value == nullptr) return;
    const auto parts = split(value, ':');
    const auto call = number(parts.back());
    if (parts.size() > 2 || !call || *call == 0) return refuse(name, value, "call or function:call, from 1");
    config_.loss = {parts.size() == 2 ? parts[0] : "", *call};
  }

  void read_hierarchy() {
    // Not a variable of ours: what we do not know we leave alone, as Intel's driver does.
    const char* const value = get("ZE_FLAT_DEVICE_HIERARCHY");
    if (value == nullptr) return;
    if (std::strcmp(value, "FLAT") == 0) config_.hierarchy = Hierarchy::flat;
    if (std::strcmp(value, "COMBINED") == 0) config_.hierarchy = Hierarchy::combined;
  }

  void read_mask() {
    const char* const value = get("ZE_AFFINITY_MASK");
    if (value == nullptr) return;
    config_.masked = true;
    for (const std::string& entry : split(value, ',')) {
      const auto parts = split(entry, '.');
      const auto device = number(parts[0]);
      const auto sub = parts.size() == 2 ? number(parts[1]) : std::optional<uint64_t>(0);
      if (parts.size() > 2 || !device || !sub || *device >= UINT32_MAX || *sub >= INT32_MAX) continue;
      config_.mask.push_back({static_cast<uint32_t>(*device), parts.size() == 2 ? static_cast<int>(*sub) : -1});
    }
  }

  Config config_;
};

}  // namespace

const Config& config() {
  static const Config* const read = new Config(Reader().read());  // threads may outlive static destruction
  return *read;
}

}  // namespace usm_ipc::ze
