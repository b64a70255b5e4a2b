// The contract as lines of JSON-RPC 2.0: one object per line, without the '\n'. Both ends use it.
//
// Ids are whole numbers below 2^53. Batches and notifications are rejected. An unknown field is an
// error in a request, because it is probably a typing error; in a result it is ignored, because
// agents may report more than this version knows.
//
// Errors: -32700 not JSON; -32600 JSON, but not a request; -32601 unknown method; -32602 a missing,
// unknown or wrong field, with a sentence that names it. Nothing here throws.
//
// Source: the JSON-RPC 2.0 specification; conformance/agent/README.md.
#pragma once

#include <cstddef>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "conformance/dut/dut.hpp"

namespace veriroce::dut {

std::string encode_request(CallId id, const Request& request);

struct Call {
    std::optional<CallId> id; // nothing if the line has no readable id
    std::expected<Request, Failure> request;
};
Call decode_request(std::string_view line);

// `id` is that of the request; nothing if it could not be read (null on the wire).
std::string encode_answer(std::optional<CallId> id, const Answer& answer);

// The method of each open call, as an index of Request: an answer does not contain it.
using OpenCalls = std::map<CallId, std::size_t>;

// An answer to one of the open calls. A result without the shape of its method is a Failure
// (BadAnswer) of that call. The error is a sentence about a line that answers none of them.
std::expected<Reply, std::string> decode_answer(std::string_view line, const OpenCalls& open);

// A result, or the params of a request, as a JSON object; for documents, reports and tests.
std::string to_json(const Result& result);
std::string to_json(const Request& request);

} // namespace veriroce::dut
