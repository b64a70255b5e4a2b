// A connection of a capture as a script of the test language.
//
//   Choice choice;
//   const auto script = script_of(conversation, choice);
//   if (!script) say(script.error());
//
// One direction is written: the requests of one end and the answers to them. What the tester says
// stands as it was captured: opcodes, PSNs, AckReq, lengths, short payloads. What the device must
// say follows from the rules, so that every device that keeps them passes, whatever the captured
// one did beyond its duty. What the language cannot say is left out and named in a comment.
// The text is laid out as `veriroce script format` does it, and compiles.
// Errors: a sentence, for an exchange of which nothing can be written.
// Source: rules ACK-01 to ACK-03, RSP-01 to RSP-10, RNR-01, RDR-01, ATM-01.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>

#include "conformance/script_import/conversation.hpp"

namespace veriroce::script_import {

// Which part the tester takes.
enum class Part : std::uint8_t { Requester, Responder };

struct Choice {
    Part tester = Part::Requester;
    std::optional<wire::IpAddress> asking; // the end that asks; else the one that moves more data
    std::uint64_t messages = std::numeric_limits<std::uint64_t>::max(); // no more than these
    std::string source; // the capture's name, for the title
    std::string remark; // a first line of comment; none if empty
};

std::expected<std::string, std::string> script_of(const Conversation& conversation,
                                                  const Choice& choice);

} // namespace veriroce::script_import
