// The JavaScript environment (main thread or worker) that the addon runs in. Its registry identity is instance data;
// a clean-up hook ends its claims.
#pragma once

#include <napi.h>

#include "registry.h"

namespace usm_ipc {

// Once, when the module is loaded into an environment, before anything that takes claims. Hooks added later run
// earlier, so whatever holds claims of this environment can still end them itself.
EnvironmentId begin_environment(Napi::Env env);

// On the environment's own thread only. Also takes a Napi::Env.
EnvironmentId environment_of(napi_env env);

}  // namespace usm_ipc
