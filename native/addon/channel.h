// Channels for JavaScript: channelPair, channelConnect, channelCancel, channelAdopt, channelListen, channelShutdown.
#pragma once

#include <node_api.h>

#include "registry.h"

namespace usm_ipc {

// Once for an environment, after begin_environment().
void init_channel(napi_env env, napi_value exports, EnvironmentId env_id);

}  // namespace usm_ipc
