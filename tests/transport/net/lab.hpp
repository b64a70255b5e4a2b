// Two network namespaces with a veth pair between them: `va` here, with the tester, and `vb` at the
// peer, whose kernel plays the other host. Needs root; where it cannot be built the test fails.
//
//   here  va  52:54:00:77:00:01  10.77.0.1/24  fd77::1/64
//   peer  vb  52:54:00:77:00:02  10.77.0.2/24  fd77::2/64
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/net/raw_link.hpp"

namespace veriroce::net_test {

class Lab {
  public:
    Lab();
    ~Lab();
    Lab(const Lab&) = delete;
    Lab& operator=(const Lab&) = delete;

    // Runs a command here, or in the peer's namespace; the test fails if the command does.
    void run(const std::string& command) const;
    void run_at_peer(const std::string& command) const;

    // No packets but the test's own: without IPv6 on either side the kernels send no MLD reports.
    void silence() const;

    // Calls `body` with this thread in the peer's namespace: sockets that it opens stay there.
    template <typename F>
    auto at_peer(F body) const {
        const Stay stay(peer_.fd(), here_.fd());
        return body();
    }

    // A raw link on va, or on vb.
    [[nodiscard]] std::unique_ptr<net::RawLink> open(net::RawLinkOptions options = {}) const;
    [[nodiscard]] std::unique_ptr<net::RawLink>
    open_at_peer(net::RawLinkOptions options = {}) const;

    // A UDP socket at the peer, connected to `address` and `port`.
    [[nodiscard]] net::Descriptor udp_at_peer(const std::string& address, std::uint16_t port) const;

  private:
    struct Stay {
        Stay(int there, int back);
        ~Stay();
        int back;
    };

    net::Descriptor outside_; // the namespace that the test came from
    net::Descriptor here_;
    net::Descriptor peer_;
    std::string runtime_; // $XDG_RUNTIME_DIR
    pid_t keeper_ = 0;    // a process that lives in the peer's namespace
};

wire::IpAddress ip(const std::string& text);

// A sealed RoCEv2 frame from 52:54:00:77:00:02 to 52:54:00:77:00:01 with a PSN to know it by, and
// `payload_bytes` of payload.
std::vector<std::byte> roce_frame(std::uint32_t psn, std::size_t payload_bytes = 64,
                                  const wire::Envelope& envelope = {
                                      .source = ip("10.77.0.2"), .destination = ip("10.77.0.1")});

// The same the other way round.
std::vector<std::byte> roce_frame_to_peer(std::uint32_t psn, std::size_t payload_bytes = 64);

// What arrives at (or, reflected, leaves from) a link until the RoCE frame with this PSN, which is
// the last; the test fails if it does not come. Frames are copied.
struct Seen {
    net::Received packet;
    std::vector<std::byte> bytes;
};
std::vector<Seen> receive_until(net::RawLink& link, std::uint32_t psn);

std::optional<std::uint32_t> psn_of(wire::Bytes frame);

// An instant some seconds away: far more than anything here takes.
wire::Instant soon();

} // namespace veriroce::net_test
