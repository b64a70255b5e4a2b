// An exchange as the text of a script, not yet laid out. Internal to this room.
#pragma once

#include <expected>
#include <string>

#include "conformance/script_import/exchange.hpp"

namespace veriroce::script_import {

// READs and atomics at a time: that any device of the suite takes and makes, and that a script asks
// for at most.
inline constexpr std::size_t kUsualReads = 4;
inline constexpr std::size_t kMostReads = 16;

// The tester asks, as the asking end did; the device answers. What the device must say follows from
// what it is asked, so that any device that keeps the rules passes. The error is a sentence.
std::expected<std::string, std::string>
responder_script(const Exchange& exchange, std::string_view title, std::string_view remark);

// The device asks, by work requests; the tester answers as the answering end did.
std::expected<std::string, std::string>
requester_script(const Exchange& exchange, std::string_view title, std::string_view remark);

} // namespace veriroce::script_import
