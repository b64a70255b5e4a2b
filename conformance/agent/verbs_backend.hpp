// The backend `verbs`: an RDMA device of this host through libibverbs.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "conformance/agent/backend.hpp"

namespace veriroce::agent {

// Opens the device of --device, or the only one. Each connection gets its own ibv_context.
std::expected<std::unique_ptr<Backend>, std::string> open_verbs(const Options& options);

inline constexpr BackendKind kVerbsBackend{"verbs", &open_verbs};

} // namespace veriroce::agent
