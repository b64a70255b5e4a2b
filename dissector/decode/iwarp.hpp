// iWARP, RDMA over TCP, beyond one segment. A segment by itself is called iWARP where an MPA
// start-up frame or a framed PDU with a right CRC begins it. Who follows the connection knows more:
// where the next PDU begins, and whether CRCs and markers are in use (flow/mpa_connections.hpp).
//
// Source: MPA RFC 5044, DDP RFC 5041, RDMAP RFC 5040.
#pragma once

#include <optional>

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

inline constexpr std::uint32_t kMpaStartBytes = 20;
inline constexpr std::uint32_t kMpaLengthBytes = 2;
inline constexpr std::uint32_t kMpaCrcBytes = 4;

// What a framed PDU of this length takes of the stream: length, PDU, pad, CRC.
constexpr std::uint32_t framed_bytes(std::uint16_t pdu_bytes) {
    return (kMpaLengthBytes + pdu_bytes + 3U) / 4 * 4 + kMpaCrcBytes;
}

// A TCP segment, and where its content is in the frame.
struct TcpSegment {
    std::uint16_t source_port = 0;
    std::uint16_t destination_port = 0;
    std::uint32_t sequence = 0; // of the first byte of the content
    bool opens = false;         // SYN
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0; // by the IP header; there may be fewer in the capture
};
// Nothing if there is none, or not all of its header was captured, or it is a fragment.
std::optional<TcpSegment> tcp_segment(const Dissection& dissection);

// What is known of the stream that a segment belongs to.
struct MpaFraming {
    // Where in the segment the first PDU begins, behind what is left of one before; beyond the
    // segment if none does. Nothing if that is not known: then a right CRC has to show it.
    std::optional<std::uint32_t> first;
    bool crc = true;
    bool markers = false; // they are not followed
};

// Takes the content of a TCP segment apart as iWARP. What cannot be is `MpaMore`.
void dissect_mpa(const MpaFraming& framing, Dissection& dissection);

} // namespace veriroce::decode
