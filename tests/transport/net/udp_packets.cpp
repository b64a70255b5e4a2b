#include "tests/transport/net/udp_packets.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "transport/net/clock.hpp"

namespace veriroce::net_test {

using namespace std::chrono_literals;

std::unique_ptr<net::UdpLink> open_udp(const std::string& address,
                                       const net::UdpLinkOptions& options) {
    auto link = net::UdpLink::open(ip(address), options);
    if (!link) FAIL(link.error().text);
    return std::move(*link);
}

void allow_jumbo_frames(const Lab& lab) {
    lab.run("ip link set va mtu 9000");
    lab.run_at_peer("ip link set vb mtu 9000");
}

UdpPacket::UdpPacket(std::uint32_t psn, std::size_t payload_bytes)
    : payload(payload_bytes), pad(static_cast<std::uint8_t>((4 - payload_bytes % 4) % 4)) {
    wire::Bth{.opcode = 0x04, .pad = pad, .dest_qp = {0x11}, .psn = wire::Psn(psn)}.encode(header);
    for (std::size_t i = 0; i < payload_bytes; ++i)
        payload[i] = static_cast<std::byte>(psn * 31 + i);
}

std::vector<std::byte> UdpPacket::bytes() const {
    std::vector<std::byte> all(header.begin(), header.end());
    all.insert(all.end(), payload.begin(), payload.end());
    all.resize(all.size() + pad);
    return all;
}

std::vector<UdpPacket> udp_packets(std::size_t count, std::size_t payload_bytes,
                                   std::uint32_t first_psn) {
    std::vector<UdpPacket> packets;
    for (std::size_t i = 0; i < count; ++i)
        packets.emplace_back(first_psn + static_cast<std::uint32_t>(i), payload_bytes);
    return packets;
}

void queue_all(net::UdpLink& link, std::span<const UdpPacket> packets,
               const wire::Envelope& envelope) {
    for (const auto& packet : packets) {
        const auto queued = link.queue(envelope, packet.header, packet.payload, packet.pad);
        if (!queued) FAIL(queued.error().text);
    }
}

std::vector<UdpSeen> receive_count(net::UdpLink& link, std::size_t count) {
    std::vector<UdpSeen> seen;
    const auto take = [&](wire::Instant deadline) {
        const auto batch = link.receive_batch(deadline);
        if (!batch) FAIL(batch.error().text);
        for (const auto& one : *batch)
            seen.push_back({one, {one.datagram.bytes.begin(), one.datagram.bytes.end()}});
        return !batch->empty();
    };
    const auto deadline = soon();
    while (seen.size() < count) {
        if (!take(deadline)) FAIL("only " << seen.size() << " of " << count << " came");
    }
    take(net::monotonic_now() + 10ms); // what should not come
    CHECK(seen.size() == count);
    return seen;
}

std::size_t differences(const std::vector<UdpSeen>& seen, const std::vector<UdpPacket>& sent) {
    std::size_t different = std::max(seen.size(), sent.size()) - std::min(seen.size(), sent.size());
    for (std::size_t i = 0; i < std::min(seen.size(), sent.size()); ++i)
        different += seen[i].bytes == sent[i].bytes() ? 0 : 1;
    return different;
}

} // namespace veriroce::net_test
