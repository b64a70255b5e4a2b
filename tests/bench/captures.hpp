// Captures of valid traffic, as large as one likes: RDMA WRITEs of one packet each over many
// connections in turn, four of them and then an ACK for all four. PSNs, MSNs and ICRCs are right,
// each connection has first PSNs of its own, and the same options give the same bytes.
//
// The files are pcap with nanoseconds, link type Ethernet.
#pragma once

#include <cstdint>
#include <string>

namespace veriroce::bench_test {

struct CaptureOptions {
    std::uint64_t packets = 1'000'000;  // WRITEs and ACKs together
    std::uint32_t connections = 16;     // at most 65,536
    std::uint32_t payload_bytes = 1024; // of a WRITE, at most 4096: 1098 bytes a frame, 16: 90
};

struct CaptureSize {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0; // of the file
};

// Throws std::runtime_error if the file cannot be written.
CaptureSize make_capture(const std::string& path, const CaptureOptions& options);

} // namespace veriroce::bench_test
