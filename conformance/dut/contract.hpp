// The DUT contract as plain values: what veriroce asks a device under test to do, and what the
// device answers. There is one struct per method, and its fields have the names of the JSON fields.
// codec.cpp converts them to and from JSON; conformance/agent/README.md says what they mean.
//
// A request that the device refuses is a Failure, never a half-filled result. Handles are numbers
// below 2^53 that the device assigns; sizes and offsets are bytes.
//
// Source: conformance/agent/README.md, the contract's reference; ibv_* of rdma-core for names.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "conformance/dut/connection_methods.hpp"
#include "conformance/dut/device_methods.hpp"
#include "conformance/dut/identifiers.hpp"
#include "conformance/dut/object_methods.hpp"
#include "conformance/dut/qp_methods.hpp"

namespace veriroce::dut {

// How these two are copied, moved and destroyed is compiled once, in contract.cpp.
struct Request
    : std::variant<Hello, PdCreate, PdDestroy, CqCreate, CqDestroy, MrRegister, MrRead, MrWrite,
                   MrFill, MrDigest, MrDeregister, QpCreate, QpDestroy, QpModify, QpQuery, PostSend,
                   PostRecv, Poll, Counters, Cancel, Reset, Ping, Events, CqArm, CqWait, SrqCreate,
                   SrqModify, SrqPost, SrqDestroy, MwAlloc, MwBind, MwDealloc, CongestionGet,
                   CongestionSet, CmListen, CmEvents, CmQpAttributes, CmAccept, CmReject,
                   CmDisconnect> {
    using variant::variant;
    Request();
    Request(const Request&);
    Request(Request&&) noexcept;
    Request& operator=(const Request&);
    Request& operator=(Request&&) noexcept;
    ~Request();
};

struct Result
    : std::variant<Done, Welcome, PdCreated, CqCreated, MrRegistered, MrData, MrDigested, QpCreated,
                   QpQueried, Posted, Polled, CounterValues, Pong, EventList, Notified, SrqCreated,
                   MwAllocated, MwBound, CongestionSettings, CmListening, CmEventList> {
    using variant::variant;
    Result();
    Result(const Result&);
    Result(Result&&) noexcept;
    Result& operator=(const Result&);
    Result& operator=(Result&&) noexcept;
    ~Result();
};

// Codes of JSON-RPC 2.0, and the contract's own.
enum class FailureCode : std::int32_t {
    ParseError = -32700,
    InvalidRequest = -32600,
    MethodNotFound = -32601, // also: a method of a group that the device does not have
    InvalidParams = -32602,
    Refused = -32000, // the device refused the verb: `verb` and `errno_name` say which and why
    Lost = -32001,    // never on the wire: the connection to the agent is lost
    BadAnswer =
        -32002, // never on the wire: the answer does not have the shape of the method's result
};

// `code` is a number because an agent may answer with an unknown one.
struct Failure {
    std::int32_t code = 0;
    std::string message;                 // a sentence
    std::string verb;                    // for Refused: "qp_modify"
    std::string errno_name;              // for Refused: "EINVAL"
    std::optional<std::uint32_t> posted; // for a Refused post: the number of accepted requests

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
