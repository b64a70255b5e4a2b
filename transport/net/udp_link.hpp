// The UDP link: RoCEv2 datagrams through a plain socket on UDP 4791, without privileges.
//
// A UDP socket can neither set nor see the sender's IPv4 identification, TTL, ECN (beyond the
// kernel's report) or checksums. Datagrams are sent with DF from an unconnected socket, which makes
// the kernel send identification 0; the ICRC is computed for that. The identification of a received
// datagram is unknown: the ICRC is checked first for the identification that our link would send,
// then for any other (see icrc_matches_some_id). With offload, the kernel cuts a run of datagrams
// and counts the identification up from 0; each ICRC is computed for its own.
//
// Units: transport bytes are from the BTH to the last pad byte. Errors: Error.
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
    // ECN, DSCP and hop limit are reported by the kernel. Flow label and VLAN are unknown and stay
    // empty.
    wire::Datagram datagram;
    std::uint32_t icrc = 0; // as on the wire
    bool icrc_good = false;
    // The ICRC is correct for an identification that our link would send here, or there is none
    // (IPv6): a check of at least 31 bits. Otherwise it is correct for some other identification, a
    // check of 16 bits.
    bool id_expected = false;
    wire::Instant stamp; // the kernel's, on the line of monotonic_now()
};

struct UdpLinkOptions {
    std::uint16_t port = wire::kRocePort; // changed only for tests and tunnels
    // Sends runs of equal datagrams to one receiver in one piece (UDP GSO), and receives them in
    // one piece (UDP GRO), if the kernel can; see offloads(). Over IPv6 the kernel then sends UDP
    // checksums, otherwise zero (ENC-05 allows both).
    bool offload = false;
    // Accept only ICRCs that are correct for an identification that our own link would send: 0, or
    // with offload at both ends i for the i-th datagram of a run. Use it with a single sender that
    // is also a UdpLink: if a network card has cut runs of several senders, they arrive interleaved
    // and would be rejected.
    bool expected_ids_only = false;
};

class UdpLink {
  public:
    static std::expected<std::unique_ptr<UdpLink>, Error> open(const wire::IpAddress& local,
                                                               const UdpLinkOptions& options = {});

    virtual ~UdpLink() = default;
    UdpLink(const UdpLink&) = delete;
    UdpLink& operator=(const UdpLink&) = delete;

    [[nodiscard]] virtual const wire::IpAddress& address() const = 0;
    [[nodiscard]] virtual std::uint16_t port() const = 0;
    // Readable when a datagram waits in the kernel. It does not show datagrams that a receive() has
    // already fetched: call receive() until it returns none.
    [[nodiscard]] virtual int fd() const = 0;

    // The offloads that the kernel provides; none if they were not requested.
    struct Offloads {
        bool send = false;
        bool receive = false;
    };
    [[nodiscard]] virtual Offloads offloads() const = 0;

    // Sends headers and payload (including pad) with their ICRC, after everything that is queued.
    // Used from the envelope: destination, destination port, DSCP, ECN and hop limit. Source and
    // source port are the socket's.
    virtual std::expected<void, Error> send(const wire::Envelope& envelope, wire::Bytes headers,
                                            wire::Bytes payload) = 0;

    // The same for many datagrams with few system calls. `pad` zero bytes (at most 3) follow the
    // payload. Headers and payloads of at most kCopiedBytes are copied; a larger payload must stay
    // unchanged until flush() (or until the queue is full, which sends it). Datagrams are sent in
    // order. What the kernel refuses is dropped and counted; the call that sent it returns the
    // first error.
    static constexpr std::size_t kCopiedBytes = 2048;
    virtual std::expected<void, Error> queue(const wire::Envelope& envelope, wire::Bytes headers,
                                             wire::Bytes payload, std::uint8_t pad = 0) = 0;
    virtual std::expected<void, Error> flush() = 0;

    // As RawLink::receive; the bytes are valid until the next receive. Datagrams too short for BTH
    // and ICRC are skipped and counted.
    virtual std::expected<std::optional<UdpReceived>, Error>
    receive(wire::Instant deadline, std::span<const int> also = {}) = 0;

    // Everything that one system call returns; empty where receive() would be empty.
    virtual std::expected<std::span<const UdpReceived>, Error>
    receive_batch(wire::Instant deadline, std::span<const int> also = {}) = 0;

    [[nodiscard]] virtual std::uint64_t too_short() const = 0;
    [[nodiscard]] virtual std::uint64_t bad_icrc() const = 0;
    [[nodiscard]] virtual std::uint64_t
    refused() const = 0; // datagrams that the kernel did not send

  protected:
    UdpLink() = default;
};

// Whether `icrc` is correct for these transport bytes under some IPv4 identification, and which.
// CRC is linear: the difference from the ICRC with identification 0 must be the image of a 16-bit
// identification, which happens by chance for one wrong ICRC in 65,536. IPv6 has no identification:
// the answer is 0 or empty. DF is assumed to be set.
std::optional<std::uint16_t> icrc_matches_some_id(const wire::Envelope& envelope,
                                                  wire::Bytes transport, std::uint32_t icrc);

} // namespace veriroce::net
