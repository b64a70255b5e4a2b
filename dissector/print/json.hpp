// JSON documents of the schema veriroce/packets/1:
//
//   {"schema":"veriroce/packets/1","packets":[
//   {"frame.number":1,"ip.src":"10.77.0.1","infiniband.bth.psn":7,"roce.icrc.status":"good"},
//   ...
//   ]}
//
// or the same objects alone, one a line (JSON lines), for readers that take a packet at a time.
//
// One object per packet, one member per field, with Wireshark's names (ours begin with `roce.`). A
// field that occurs several times in a packet is an array. Decimal fields of up to 32 bits are
// numbers, and flags are true or false. Everything else is the string that -T fields prints,
// including 64-bit numbers, because many readers keep only 53 bits. Later versions may add fields
// but do not rename any.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "dissector/print/column.hpp"

namespace veriroce::print {

void append_json_string(std::string& out, std::string_view text);

void append_json_begin(std::string& out);
// `file` is added to the packet if it is not empty. `findings` adds the member "roce.findings" to
// packets that have any: rule, severity, text, offset and length of the bytes.
// The caller writes what stands between packets: a newline, in a document also a comma before it.
void append_json_packet(std::string& out, const decode::Dissection& dissection,
                        std::span<const Column> columns, std::string_view file, bool findings);
void append_json_end(std::string& out);

} // namespace veriroce::print
