#include "level_zero_cpu/config.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
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

constexpr char kPrefix[] = "USM_IPC_ZE_";
const char* const kVariables[] = {
    "USM_IPC_ZE_HANDLES",    "USM_IPC_ZE_DEVICES", "USM_IPC_ZE_SUBDEVICES", "USM_IPC_ZE_MEMORY",
    "USM_IPC_ZE_IP_VERSION", "USM_IPC_ZE_FAULT",   "USM_IPC_ZE_LOST",       "USM_IPC_ZE_TRACE",
};

const char* const kFunctions[] = {
    "zesInit",  // of system management, which has no table here
#define USM_IPC_ZE_TABLE(group)
#define USM_IPC_ZE_SERVED(function, minor) #function,
#define USM_IPC_ZE_REFUSED(function, minor) #function,
#define USM_IPC_ZE_TABLE_END(group)
#include "level_zero_cpu/entry_points.def"
};

template <size_t count>
bool has(const char* const (&names)[count], const std::string& name) {
  return std::any_of(names, names + count, [&](const char* known) { return name == known; });
}

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
    refuse_unknown();
    return config_;
  }

 private:
  // Unset and empty are the same.
  const char* get(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  void refuse(const char* name, const char* value, const char* wanted) {
    refuse((std::string(name) + "=" + value + ": it takes " + wanted).c_str());
  }

  void refuse(const char* what) {
    std::fprintf(stderr, "usm-ipc software driver: %s\n", what);
    config_.valid = false;
  }

  // A misspelt function would test nothing, and nobody would see it.
  bool is_function(const char* variable, const std::string& function) {
    if (has(kFunctions, function)) return true;
    refuse((std::string(variable) + ": there is no function " + function).c_str());
    return false;
  }

  void refuse_unknown() {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; entry++) {
      const std::string line = *entry;
      const size_t end = line.find('=');
      const std::string name = line.substr(0, end);
      if (name.rfind(kPrefix, 0) != 0 || end + 1 >= line.size() || has(kVariables, name)) continue;
      std::string known;
      for (const char* const variable : kVariables) known += (known.empty() ? "" : ", ") + std::string(variable);
      refuse((name + ": there is no such variable; there are " + known).c_str());
    }
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
      if (!call || !result || *result == 0 || *result > UINT32_MAX || (*call == 0 && parts[1] != "*")) {
        return refuse(name, value, "function:call:result[,...], as in zeMemOpenIpcHandle:1:0x70000001 (call *: all)");
      }
      if (!is_function(name, parts[0])) return;
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
    if (parts.size() == 2 && !is_function(name, parts[0])) return;
    config_.loss = {parts.size() == 2 ? parts[0] : "", *call};
  }

  void read_hierarchy() {
    const char* const name = "ZE_FLAT_DEVICE_HIERARCHY";
    const char* const value = get(name);
    if (value == nullptr || std::strcmp(value, "COMPOSITE") == 0) return;
    if (std::strcmp(value, "FLAT") == 0) config_.hierarchy = Hierarchy::flat;
    else if (std::strcmp(value, "COMBINED") == 0) config_.hierarchy = Hierarchy::combined;
    else refuse(name, value, "COMPOSITE, FLAT or COMBINED");
  }

  void read_mask() {
    const char* const value = get("ZE_AFFINITY_MASK");
    if (value == nullptr) return;
    config_.masked = true;
    config_.mask_text = value;
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
