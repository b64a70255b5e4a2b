// The UDP link: RoCEv2 datagrams through a plain socket on UDP 4791, without any privilege.
//
// It cannot write or see the sender's IPv4 identification, TTL, ECN beyond the kernel's report, or
// checksums. Datagrams are sent with DF set and from an unconnected socket, which makes the kernel
// send identification 0; the ICRC is made for that. Of what is received the identification is
// unknown: the ICRC is checked as far as it can be (see icrc_matches_some_id).
//
// Units: transport bytes run from the BTH to the last pad byte. Errors: Error.
// Source: rules CRC-01..CRC-07, ENC-01..ENC-15; ip(7), udp(7).
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <span>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/instant.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

struct UdpReceived {
    // Bytes valid until the next receive(). ECN, DSCP and hop limit are what the kernel reports;
    // flow label and VLAN are not known here and stay empty.
    wire::Datagram datagram;
    std::uint32_t icrc = 0; // as it stood on the wire
    bool icrc_good = false; // IPv4: right for some identification (a check of 16 bits' strength)
    wire::Instant stamp;    // the kernel's, on the line of monotonic_now()
};

class UdpLink {
  public:
    // Binds `local` port 4791; another port only for tests and tunnels.
    static std::expected<std::unique_ptr<UdpLink>, Error>
    open(const wire::IpAddress& local, std::uint16_t port = wire::kRocePort);

    virtual ~UdpLink() = default;
    UdpLink(const UdpLink&) = delete;
    UdpLink& operator=(const UdpLink&) = delete;

    [[nodiscard]] virtual const wire::IpAddress& address() const = 0;
    [[nodiscard]] virtual std::uint16_t port() const = 0;
    [[nodiscard]] virtual int fd() const = 0; // readable when a datagram waits

    // Sends headers and payload (pad included) with their ICRC. Of the envelope destination,
    // destination port, DSCP, ECN and hop limit are used; source and source port are the socket's.
    virtual std::expected<void, Error> send(const wire::Envelope& envelope, wire::Bytes headers,
                                            wire::Bytes payload) = 0;

    // As RawLink::receive. Datagrams too short for BTH and ICRC are skipped and counted.
    virtual std::expected<std::optional<UdpReceived>, Error>
    receive(wire::Instant deadline, std::span<const int> also = {}) = 0;

    [[nodiscard]] virtual std::uint64_t too_short() const = 0;

  protected:
    UdpLink() = default;
};

// Whether `icrc` is right for these transport bytes under some IPv4 identification; returns the
// identification. CRC is linear: the difference to the ICRC with identification 0 must be the image
// of one 16-bit identification, which one wrong ICRC in 65,536 is by chance. IPv6 has none: the
// answer is 0 or nothing. DF is taken as set.
std::optional<std::uint16_t> icrc_matches_some_id(const wire::Envelope& envelope,
                                                  wire::Bytes transport, std::uint32_t icrc);

} // namespace veriroce::net
