// A field's value as `tshark -T fields` prints it (Wireshark 4.0), and the pieces that are made of.
// Everything here appends to a string that the caller keeps, so that a long run allocates nothing.
#pragma once

#include <string>

#include "dissector/decode/field.hpp"

namespace veriroce::print {

void append_value(std::string& out, const decode::FieldRow& row, const decode::Value& value);

// "10.77.0.1" and "fd77::1"; "::ffff:10.0.0.1" for a mapped address in an IPv6 header.
void append_ipv4(std::string& out, wire::Bytes bytes);
void append_ipv6(std::string& out, wire::Bytes bytes);
void append_mac(std::string& out, wire::Bytes bytes);
// So many hex digits of a number, the last ones.
void append_hex_digits(std::string& out, std::uint64_t value, unsigned digits);
// Two hex digits a byte, nothing between.
void append_hex_bytes(std::string& out, wire::Bytes bytes);
// Signed nanoseconds as seconds with this many decimals, cut and not rounded.
void append_seconds(std::string& out, std::int64_t nanoseconds, unsigned decimals);

} // namespace veriroce::print
