// JSON documents of the schema veriroce/packets/1:
//
//   {"schema":"veriroce/packets/1","packets":[
//   {"frame.number":1,"ip.src":"10.77.0.1","infiniband.bth.psn":7,"roce.icrc.status":"good"},
//   ...
//   ]}
//
// One object a packet, one member a field: Wireshark's names, ours under `roce.`. A field that
// stands in a packet several times is an array. Decimal fields of up to 32 bits are numbers, flags
// are true or false, everything else is the string that -T fields prints (64-bit numbers too: many
// readers keep only 53 bits). Fields may be added to the schema, none is renamed.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dissector/decode/field.hpp"

namespace veriroce::print {

void append_json_string(std::string& out, std::string_view text);

void append_json_begin(std::string& out);
// `file` is named in the packet if it is not empty. `findings` adds the member "roce.findings" to a
// packet that has some: rule, severity, text, offset and length of the bytes.
void append_json_packet(std::string& out, const decode::Dissection& dissection,
                        std::span<const decode::Column> columns, std::string_view file,
                        bool findings, bool first);
void append_json_end(std::string& out);

} // namespace veriroce::print
