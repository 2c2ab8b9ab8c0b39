// What `usm-ipc doctor` asks, as one method: probe(name, argument). Answers of the kernel are errno names, "" for one
// that worked and null for one that was not tried.
#include <napi.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "addon/call.h"
#include "addon/methods.h"
#include "doctor/kernel.h"
#include "doctor/level_zero.h"
#include "failure.h"
#include "level_zero/results.h"

namespace usm_ipc {
namespace {

using doctor::Answer;

std::string string_of(Napi::Value value) { return value.IsString() ? value.As<Napi::String>().Utf8Value() : ""; }

Napi::Value value_of(Napi::Env env, Answer answer) {
  if (answer == doctor::kNotTried) return env.Null();
  return Napi::String::New(env, answer == 0 ? "" : errno_name(answer));
}

Napi::Value strings(Napi::Env env, const std::vector<std::string>& from) {
  Napi::Array list = Napi::Array::New(env);
  for (const std::string& item : from) list.Set(list.Length(), item);
  return list;
}

Napi::Value pidfd(Napi::Env env, Napi::Value) {
  const doctor::PidfdAnswers answers = doctor::try_pidfd();
  Napi::Object result = Napi::Object::New(env);
  const auto set = [&](const char* name, const doctor::PidfdAnswer& answer) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("open", value_of(env, answer.open));
    entry.Set("getfd", value_of(env, answer.getfd));
    result.Set(name, entry);
  };
  set("self", answers.self);
  set("child", answers.child);
  set("sibling", answers.sibling);
  set("nonDumpable", answers.non_dumpable);
  return result;
}

Napi::Value memfd(Napi::Env env, Napi::Value) {
  const doctor::MemfdAnswers answers = doctor::try_memfd();
  Napi::Object result = Napi::Object::New(env);
  result.Set("create", value_of(env, answers.create));
  result.Set("noexec", value_of(env, answers.noexec));
  result.Set("executable", value_of(env, answers.executable));
  result.Set("map", value_of(env, answers.map));
  result.Set("seal", value_of(env, answers.seal));
  result.Set("futureWrite", value_of(env, answers.future_write));
  result.Set("seals", answers.seals);
  return result;
}

Napi::Value sockets(Napi::Env env, Napi::Value) {
  const doctor::SocketAnswers answers = doctor::try_sockets();
  Napi::Object result = Napi::Object::New(env);
  result.Set("pair", value_of(env, answers.pair));
  result.Set("rights", value_of(env, answers.rights));
  result.Set("credentials", value_of(env, answers.credentials));
  result.Set("peerPidfd", value_of(env, answers.peer_pidfd));
  return result;
}

// Argument: [name, ...symbols]
Napi::Value library(Napi::Env env, Napi::Value argument) {
  std::vector<std::string> names;
  if (argument.IsArray()) {
    const auto list = argument.As<Napi::Array>();
    for (uint32_t i = 0; i < list.Length(); i++) names.push_back(string_of(list[i]));
  }
  if (names.empty()) throw Failure(FailureKind::argument, "invalid-argument", "a library has a name");
  const std::vector<std::string> symbols(names.begin() + 1, names.end());
  const doctor::LibraryAnswer answer = doctor::try_library(names[0], symbols);
  std::vector<std::string> missing;
  for (size_t i = 0; i < answer.has.size(); i++) {
    if (!answer.has[i]) missing.push_back(symbols[i]);
  }
  Napi::Object result = Napi::Object::New(env);
  result.Set("path", answer.path);
  result.Set("error", answer.error);
  result.Set("missing", strings(env, missing));
  return result;
}

Napi::Value libc(Napi::Env env, Napi::Value) { return Napi::String::New(env, doctor::glibc_version()); }

// Ends this process by SIGALRM after so many seconds, also where a driver does not return. 0: no more.
Napi::Value deadline(Napi::Env env, Napi::Value argument) {
  ::alarm(argument.ToNumber().Uint32Value());
  return env.Null();
}

Napi::Value level_zero_init(Napi::Env env, Napi::Value path) {
  const doctor::LevelZeroInit init = doctor::level_zero_init(string_of(path));
  Napi::Object result = Napi::Object::New(env);
  result.Set("call", init.call);
  result.Set("result", init.result == 0 ? "" : ze_result_name(init.result));
  return result;
}

Napi::Value level_zero_versions(Napi::Env env, Napi::Value path) {
  Napi::Object result = Napi::Object::New(env);
  for (const doctor::LoaderComponent& component : doctor::loader_versions(string_of(path))) {
    result.Set(component.name, std::to_string(component.major) + "." + std::to_string(component.minor) + "." +
                                   std::to_string(component.patch));
  }
  return result;
}

Napi::Object device_object(Napi::Env env, const doctor::LevelZeroDevice& device) {
  Napi::Object result = Napi::Object::New(env);
  result.Set("name", device.name);
  result.Set("type", device.type);
  result.Set("vendorId", device.vendor_id);
  result.Set("deviceId", device.device_id);
  result.Set("subdevices", device.subdevices);
  result.Set("ipVersion", device.ip_version);
  result.Set("memory", static_cast<double>(device.memory));
  Napi::Uint8Array uuid = Napi::Uint8Array::New(env, sizeof device.uuid);
  std::copy(std::begin(device.uuid), std::end(device.uuid), uuid.Data());
  result.Set("uuid", uuid);
  return result;
}

Napi::Value level_zero_drivers(Napi::Env env, Napi::Value path) {
  Napi::Array result = Napi::Array::New(env);
  for (const doctor::LevelZeroDriver& driver : doctor::level_zero_drivers(string_of(path))) {
    Napi::Object entry = Napi::Object::New(env);
    entry.Set("apiVersion", driver.api_version);
    entry.Set("driverVersion", driver.driver_version);
    entry.Set("ipcFlags", driver.ipc_flags);
    entry.Set("software", driver.software);
    entry.Set("extensions", strings(env, driver.extensions));
    Napi::Array devices = Napi::Array::New(env);
    for (const doctor::LevelZeroDevice& device : driver.devices) {
      devices.Set(devices.Length(), device_object(env, device));
    }
    entry.Set("devices", devices);
    result.Set(result.Length(), entry);
  }
  return result;
}

const struct {
  const char* name;
  Napi::Value (*ask)(Napi::Env env, Napi::Value argument);
} kProbes[] = {
    {"libc", libc},
    {"memfd", memfd},
    {"sockets", sockets},
    {"pidfd", pidfd},
    {"library", library},
    {"deadline", deadline},
    {"level-zero-init", level_zero_init},
    {"level-zero-versions", level_zero_versions},
    {"level-zero-drivers", level_zero_drivers},
};

napi_value probe(Call& call) {
  const Napi::Env env(call.env());
  const std::string name = string_of(Napi::Value(env, call.value(0)));
  for (const auto& known : kProbes) {
    if (name == known.name) return known.ask(env, Napi::Value(env, call.value(1)));
  }
  throw Failure(FailureKind::argument, "invalid-argument", "there is no such probe");
}

}  // namespace

void add_probe(Methods& methods) { methods.push_back(method<probe>("probe")); }

}  // namespace usm_ipc
