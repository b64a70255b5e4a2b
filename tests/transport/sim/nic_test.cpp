// The port by itself: what it lets in, what it refuses and counts, what it sends; its filter; and
// the order of the network.
#include "tests/transport/sim/pair.hpp"

#include <algorithm>

using namespace veriroce;
using namespace veriroce::sim;
using namespace veriroce::sim::test;
using engine::WrOpcode;

namespace {

// The first frame of a WRITE from side 0 to side 1.
std::vector<std::byte> write_frame_of(Pair& pair) {
    const std::array out{pair[0].sge(0, 5)};
    pair.post({.id = 1, .opcode = WrOpcode::RdmaWrite}, out, 0x100);
    const auto frame = pair[0].nic.poll_frame(pair.now);
    REQUIRE(frame);
    return {frame->begin(), frame->end()};
}

} // namespace

TEST_CASE("nic: what it sends is a sealed frame to the neighbour", "[sim][CRC-01][ENC-01]") {
    Pair pair;
    const auto bytes = write_frame_of(pair);
    const auto frame = wire::decode_frame(bytes);
    REQUIRE(frame);
    CHECK(wire::unseal(*frame));
    CHECK(frame->ethernet.source == pair[0].nic.options().mac);
    CHECK(frame->ethernet.destination == pair[1].nic.options().mac);
    CHECK(frame->ipv4->id == 1);
    CHECK(frame->udp.destination_port == wire::kRocePort);
    CHECK(frame->udp.source_port >= 0xC000); // ENC-02
    CHECK(frame->transport.size() == 12 + 16 + 8);
    CHECK(frame->transport.back() == std::byte{0}); // BTH-09
    const auto second = write_frame_of(pair);
    CHECK(wire::decode_frame(second)->ipv4->id == 2);
}

TEST_CASE("nic: what is not for it, or not whole, is dropped and counted",
          "[sim][ENC-13][CRC-07]") {
    Pair pair;
    const auto good = write_frame_of(pair);
    Nic& nic = pair[1].nic;
    const auto answers = [&] { return nic.poll_frame(pair.now).has_value(); };

    auto other_mac = good;
    other_mac[5] ^= std::byte{1};
    nic.receive(other_mac, pair.now);
    nic.receive(wire::Bytes(good).first(10), pair.now);
    CHECK(nic.counters().other_mac == 2);
    auto to_all = good;
    std::ranges::fill(std::span(to_all).first(6), std::byte{0xFF});
    nic.receive(to_all, pair.now);
    CHECK(nic.counters().other_mac == 3);

    auto bad_icrc = good;
    bad_icrc.back() ^= std::byte{1};
    nic.receive(bad_icrc, pair.now);
    CHECK(nic.counters().of(wire::FrameError::BadIcrc) == 1);
    nic.receive(wire::Bytes(good).first(good.size() - 5), pair.now);
    CHECK(nic.counters().of(wire::FrameError::Truncated) == 1);

    const auto datagram = wire::unseal(wire::Bytes(good)).value();
    wire::Envelope elsewhere = datagram.envelope;
    elsewhere.destination = wire::IpAddress::parse("10.77.0.9").value();
    std::vector<std::byte> frame(2048);
    frame.resize(
        wire::write_frame({.source = pair[0].nic.options().mac, .destination = nic.options().mac},
                          elsewhere, 1, datagram.bytes, {}, frame));
    nic.receive(frame, pair.now);
    CHECK(nic.counters().other_address == 1);
    CHECK_FALSE(answers());
    CHECK(nic.counters().received == 0);

    nic.receive(good, pair.now);
    CHECK(nic.counters().received == 1);
    CHECK(answers());
}

TEST_CASE("nic: an address whose MAC is not known is counted, and learnt from what it sends",
          "[sim]") {
    engine::Engine engine(engine::Config{});
    Pair pair;
    Nic deaf({.mac = pair[1].nic.options().mac, .addresses = pair[1].nic.options().addresses},
             pair[1].engine);
    const std::array back{pair[1].sge(0, 5)};
    const engine::SendRequest request{.opcode = WrOpcode::Send, .sges = back};
    REQUIRE(pair[1].engine.post_send(pair[1].qp, std::span(&request, 1), pair.now).posted == 1);
    CHECK_FALSE(deaf.poll_frame(pair.now));
    CHECK(deaf.counters().unresolved == 1);
    deaf.receive(write_frame_of(pair), pair.now);
    CHECK(deaf.poll_frame(pair.now)); // the ACK
}

namespace {

// Doubles what goes out, holds back what comes in, takes in a frame with a bad ICRC.
class Meddler final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant) override {
        const auto decoded = wire::decode_frame(frame);
        if (!credulous || !decoded) return std::nullopt;
        return engine::OwnedDatagram{
            .envelope = decoded->envelope(),
            .bytes = {decoded->transport.begin(), decoded->transport.end()}};
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>&) override {
        datagram.delay = in_delay;
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant,
                  std::vector<engine::OwnedDatagram>& out) override {
        out.push_back(datagram);
        if (!doubles) return;
        datagram.delay = 3us;
        out.push_back(std::move(datagram));
    }

    bool credulous = false;
    bool doubles = false;
    wire::Duration in_delay{0};
};

} // namespace

TEST_CASE("nic: a filter may admit, delay and multiply", "[sim]") {
    Meddler meddler;
    Pair pair({.filter = &meddler});
    Nic& nic = pair[1].nic;
    auto frame = write_frame_of(pair);
    frame.back() ^= std::byte{1};
    nic.receive(frame, pair.now);
    CHECK(nic.counters().of(wire::FrameError::BadIcrc) == 1);
    meddler.credulous = true;
    meddler.doubles = true;
    meddler.in_delay = 10us;
    nic.receive(frame, pair.now);
    CHECK_FALSE(nic.poll_frame(pair.now));
    CHECK(nic.next_deadline() == pair.now + 10us);
    pair.now += 10us;
    nic.advance(pair.now);
    const auto ack = nic.poll_frame(pair.now);
    REQUIRE(ack);
    const std::vector first(ack->begin(), ack->end());
    CHECK_FALSE(nic.poll_frame(pair.now));
    CHECK(nic.next_deadline() == pair.now + 3us);
    const auto again = nic.poll_frame(pair.now + 3us);
    REQUIRE(again);
    CHECK(again->size() == first.size());
    CHECK(wire::decode_frame(*again)->ipv4->id == wire::decode_frame(first)->ipv4->id + 1);
}

TEST_CASE("network: by time, then in the order of sending, to all others", "[sim]") {
    Network network(3);
    const auto frame = [](int n) { return std::vector<std::byte>(4, static_cast<std::byte>(n)); };
    const wire::Instant start{};
    network.send(0, frame(1), start, 5us);
    network.send(1, frame(2), start);
    network.send(0, frame(3), start);
    CHECK(network.in_flight() == 6);
    CHECK(network.next_event() == start + 1us);
    CHECK_FALSE(network.deliver(start));
    std::vector<std::pair<std::size_t, int>> order;
    while (const auto arrival = network.deliver(start + 10us))
        order.emplace_back(arrival->port, std::to_integer<int>(arrival->frame[0]));
    const std::vector<std::pair<std::size_t, int>> expected{{0, 2}, {2, 2}, {1, 3},
                                                            {2, 3}, {1, 1}, {2, 1}};
    CHECK(order == expected);
    CHECK_FALSE(network.next_event());
}
