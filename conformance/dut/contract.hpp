// The DUT contract as plain values: what veriroce asks a device under test to do, and what the
// device answers. One struct a method; its fields carry the names that they have in JSON. How the
// values look on the wire stands in codec.cpp, what they mean for users in
// conformance/agent/README.md.
//
// A request that the device refuses is a Failure, never a half-filled result. Handles are numbers
// below 2^53 that the device hands out; sizes and offsets are bytes.
//
// Source: conformance/agent/README.md, the contract's reference; ibv_* of rdma-core for names.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "conformance/dut/device_methods.hpp"
#include "conformance/dut/identifiers.hpp"
#include "conformance/dut/object_methods.hpp"
#include "conformance/dut/qp_methods.hpp"

namespace veriroce::dut {

using Request =
    std::variant<Hello, PdCreate, PdDestroy, CqCreate, CqDestroy, MrRegister, MrRead, MrWrite,
                 MrFill, MrDigest, MrDeregister, QpCreate, QpDestroy, QpModify, QpQuery, PostSend,
                 PostRecv, Poll, Counters, Cancel, Reset, Ping, Events, CqArm, CqWait, SrqCreate,
                 SrqModify, SrqPost, SrqDestroy, MwAlloc, MwBind, MwDealloc>;

using Result = std::variant<Done, Welcome, PdCreated, CqCreated, MrRegistered, MrData, MrDigested,
                            QpCreated, QpQueried, Posted, Polled, CounterValues, Pong, EventList,
                            Notified, SrqCreated, MwAllocated, MwBound>;

// Codes of JSON-RPC 2.0, and the contract's own.
enum class FailureCode : std::int32_t {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601, // also: a method of a group that the device has not
    InvalidParams = -32602,
    Refused = -32000,   // the device refused the verb: `verb` and `errno_name` say which and why
    Lost = -32001,      // never on the wire: the agent is not there any more
    BadAnswer = -32002, // never on the wire: the agent's answer is not what its method gives
};

// `code` is a number because an agent may answer with one that we do not know.
struct Failure {
    std::int32_t code = 0;
    std::string message;                 // a sentence
    std::string verb;                    // of a Refused: "qp_modify"
    std::string errno_name;              // of a Refused: "EINVAL"
    std::optional<std::uint32_t> posted; // of a Refused post: how many requests were taken

    [[nodiscard]] bool refused() const {
        return code == static_cast<std::int32_t>(FailureCode::Refused);
    }
    friend bool operator==(const Failure&, const Failure&) = default;
};

using Answer = std::expected<Result, Failure>;

// "pd_create" of a PdCreate.
inline std::string_view method_of(const Request& request) {
    return std::visit([](const auto& r) { return std::remove_cvref_t<decltype(r)>::method; },
                      request);
}

} // namespace veriroce::dut
