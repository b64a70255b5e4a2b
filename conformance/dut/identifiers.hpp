// Handles of the contract's objects and ids of its calls: numbers below 2^53 that a device assigns.
//
// Source: conformance/agent/README.md, the contract's reference.
#pragma once

#include <cstdint>

#include "dissector/wire/types.hpp"

namespace veriroce::dut {

inline constexpr std::uint32_t kContractVersion = 1;
inline constexpr std::uint32_t kMaxWaitMs = 60'000;

using PdHandle = wire::Identifier<struct PdHandleTag, std::uint64_t>;
using CqHandle = wire::Identifier<struct CqHandleTag, std::uint64_t>;
using MrHandle = wire::Identifier<struct MrHandleTag, std::uint64_t>;
using QpHandle = wire::Identifier<struct QpHandleTag, std::uint64_t>;
using SrqHandle = wire::Identifier<struct SrqHandleTag, std::uint64_t>;
using MwHandle = wire::Identifier<struct MwHandleTag, std::uint64_t>;
using ConnectionHandle = wire::Identifier<struct ConnectionHandleTag, std::uint64_t>;

// Names a request that was submitted; over JSON-RPC it is the request's id.
using CallId = wire::Identifier<struct CallTag, std::uint64_t>;

// The answer of every method without a result: {}.
struct Done {
    friend bool operator==(const Done&, const Done&) = default;
};

} // namespace veriroce::dut
