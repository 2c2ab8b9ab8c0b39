// The addon's methods, by the file that has them; module.cc puts them together.
#pragma once

#include <node_api.h>

#include <vector>

namespace usm_ipc {

using Methods = std::vector<napi_property_descriptor>;

void add_system(Methods& methods);
void add_claims(Methods& methods);
void add_memory(Methods& methods);
void add_bytes(Methods& methods);
void add_descriptors(Methods& methods);
void add_events(Methods& methods);
void add_torch(Methods& methods);
void add_probe(Methods& methods);

}  // namespace usm_ipc
