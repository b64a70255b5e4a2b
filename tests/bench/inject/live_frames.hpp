// Frames that the kernel itself makes at host_a and counts at host_b ("XDP live frames"): as many
// as a core can forward. A sender in user space takes a microsecond and more for each, and hides
// what the forwarding costs.
//
//   LiveFrames frames(hosts, 64);
//   frames.send(65'536); ... frames.arrived()
//
// Throws Failure, also where the kernel cannot (Linux before 5.18).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tests/bench/inject/three_hosts.hpp"

namespace veriroce::bench_test {

class LiveFrames {
  public:
    // They go on arriving at host_b's sink as long as this lives.
    LiveFrames(const ThreeHosts& hosts, std::size_t payload_bytes);
    LiveFrames(const LiveFrames&) = delete;
    LiveFrames& operator=(const LiveFrames&) = delete;
    ~LiveFrames();

    // SEND ONLY packets with the PSNs 0 to 1023 in turn, and right ICRCs. Returns when all are
    // sent.
    void send(std::uint32_t frames);
    // Frames of anybody that came to host_b.
    [[nodiscard]] std::uint64_t arrived() const;

  private:
    struct Parts;
    const ThreeHosts& hosts_;
    std::unique_ptr<Parts> parts_;
};

} // namespace veriroce::bench_test
