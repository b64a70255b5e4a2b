// The contract as lines of JSON-RPC 2.0: one object a line, without its '\n'. Used by both ends.
//
// Ids are whole numbers below 2^53. Batches and notifications are refused. In a request a field
// that the method does not have is an error, because it is somebody's typing error; in a result it
// is passed over, because agents may say more than this version knows.
//
// Errors: -32700 not JSON; -32600 JSON, but no request; -32601 no such method; -32602 a missing,
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
    std::optional<CallId> id; // nothing if the line has none that can be read
    std::expected<Request, Failure> request;
};
Call decode_request(std::string_view line);

// `id` is that of the request; nothing where it could not be read (null on the wire).
std::string encode_answer(std::optional<CallId> id, const Answer& answer);

// Which method each open call is of, as an index of Request: an answer does not say.
using OpenCalls = std::map<CallId, std::size_t>;

// An answer to one of the open calls. A result that is not what its method gives is a Failure
// (BadAnswer) of that call. The error is a sentence about a line that answers none of them.
std::expected<Reply, std::string> decode_answer(std::string_view line, const OpenCalls& open);

// A result, or the params of a request, as a JSON object: for documents, reports and tests.
std::string to_json(const Result& result);
std::string to_json(const Request& request);

} // namespace veriroce::dut
