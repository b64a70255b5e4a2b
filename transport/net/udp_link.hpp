// The UDP link: RoCEv2 datagrams through a plain socket on UDP 4791, without any privilege.
//
// It cannot write or see the sender's IPv4 identification, TTL, ECN beyond the kernel's report, or
// checksums. Datagrams are sent with DF set and from an unconnected socket, which makes the kernel
// send identification 0; the ICRC is made for that. Of what is received the identification is
// unknown: the ICRC is checked for the one that ours have, then as far as it can be (see
// icrc_matches_some_id). With offload the kernel cuts a run of datagrams apart and counts the
// identification up from 0 in it; each ICRC is made for its own.
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
    // ECN, DSCP and hop limit are what the kernel reports; flow label and VLAN are not known here
    // and stay empty.
    wire::Datagram datagram;
    std::uint32_t icrc = 0; // as it stood on the wire
    bool icrc_good = false;
    // The ICRC is right for an identification that ours would have there, or there is none (IPv6):
    // a check of 31 bits at least. Otherwise it is right for some other one, a check of 16.
    bool id_expected = false;
    wire::Instant stamp; // the kernel's, on the line of monotonic_now()
};

struct UdpLinkOptions {
    std::uint16_t port = wire::kRocePort; // another only for tests and tunnels
    // Datagrams of one size to one receiver go through the kernel as one (UDP GSO), and come as one
    // (UDP GRO), where the kernel knows that; offloads() tells. Over IPv6 the kernel then sends UDP
    // checksums, otherwise zero (ENC-05 allows both).
    bool offload = false;
    // Whether an ICRC must be right for an identification that our own link sends: 0, and with
    // offload at both ends i in the i-th of a run. For one sender that is a link too: runs of
    // several senders that a network card has cut apart come mixed, and would be refused.
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
    // Readable when a datagram waits in the kernel. What a receive() has fetched beside the one it
    // returned does not show here: ask again until it has none.
    [[nodiscard]] virtual int fd() const = 0;

    // Which offloads the kernel gave; none if they were not asked for.
    struct Offloads {
        bool send = false;
        bool receive = false;
    };
    [[nodiscard]] virtual Offloads offloads() const = 0;

    // Sends headers and payload (pad included) with their ICRC. Of the envelope destination,
    // destination port, DSCP, ECN and hop limit are used; source and source port are the socket's.
    // What is queued goes first.
    virtual std::expected<void, Error> send(const wire::Envelope& envelope, wire::Bytes headers,
                                            wire::Bytes payload) = 0;

    // The same for many datagrams with few system calls. `pad` zero bytes follow the payload, at
    // most 3. Headers and payloads of at most kCopiedBytes are copied; a larger payload is not, and
    // must stay as it is until flush() (or until the queue is full, which sends it). Sent in the
    // order of the calls. What the kernel refuses is dropped and counted; the first reason is the
    // error of the call that sent it.
    static constexpr std::size_t kCopiedBytes = 2048;
    virtual std::expected<void, Error> queue(const wire::Envelope& envelope, wire::Bytes headers,
                                             wire::Bytes payload, std::uint8_t pad = 0) = 0;
    virtual std::expected<void, Error> flush() = 0;

    // As RawLink::receive; bytes are valid until the next receive. Datagrams too short for BTH and
    // ICRC are skipped and counted.
    virtual std::expected<std::optional<UdpReceived>, Error>
    receive(wire::Instant deadline, std::span<const int> also = {}) = 0;

    // All that one system call gives; nothing where receive() gives nothing.
    virtual std::expected<std::span<const UdpReceived>, Error>
    receive_batch(wire::Instant deadline, std::span<const int> also = {}) = 0;

    [[nodiscard]] virtual std::uint64_t too_short() const = 0;
    [[nodiscard]] virtual std::uint64_t bad_icrc() const = 0;
    [[nodiscard]] virtual std::uint64_t refused() const = 0; // datagrams that were not sent

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
