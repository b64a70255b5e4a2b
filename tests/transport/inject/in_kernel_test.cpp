// Rules in the kernel's program and rules in the process mean the same: the same frames, in the
// same order, with the same plan and seed, leave in both ways as the same bytes.
#include "tests/transport/inject/world.hpp"

#include <catch2/catch.hpp>

#include <net/if.h>
#include <poll.h>

#include "dissector/wire/packet.hpp"
#include "transport/inject/kernel_rules.hpp"
#include "transport/inject/packet_port.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::inject::tests {

TEST_CASE("kernel rules: what the kernel can decide, and what counts in one place only",
          "[inject]") {
    const auto lines = [](std::string_view plan) {
        const auto rules = rules_of(plan);
        std::vector<std::uint32_t> decided;
        for (const std::size_t place : kernel_rules(rules, 1).places)
            decided.push_back(rules[place].line);
        return decided;
    };
    using Lines = std::vector<std::uint32_t>;
    // Each by itself is a whole plan.
    for (const auto* yes :
         {"drop when p=0.5", "mark ce when from=a every=10", "corrupt bit=500 when opcode=data",
          "corrupt byte=60 when qp=0x11 rate=5", "drop when host=\"10.0.0.1\" between 1s..2s",
          "drop when from=b opcode=CNP first=3 fires=3 also"}) {
        INFO(yes);
        CHECK(lines(yes) == Lines{1});
    }
    for (const auto* no :
         {"drop when psn=3", "drop when pass=2", "drop when message=1", "drop when packet=1",
          "drop when nth=1", "drop when conn=1", "delay 1ms when from=a", "duplicate when from=a",
          "corrupt field=psn when from=a", "corrupt bit=500 icrc=good when from=a",
          "corrupt bit=100 when from=a", "drop when pfc=3", "drop when class=3",
          "mark ce when paused=3", "rewrite psn=1 when from=a", "truncate=20 when from=a"}) {
        INFO(no);
        CHECK(lines(no).empty());
    }
    // Beside a rule of the process, those that count or draw are the process's, too.
    CHECK(lines("delay 1ms when conn=2\ndrop when p=0.1\nmark ce when from=a\ndrop when every=2\n"
                "drop when from=b opcode=CNP fires=2") == Lines{3, 5});
    std::string many;
    for (int i = 0; i < 300; ++i)
        many += "drop when qp=" + std::to_string(i) + " first=1\n";
    CHECK(lines(many).empty()); // too many for a whole plan, and they count
}

#ifdef VERIROCE_HAVE_XDP
namespace {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

PacketPort port(const World& world, Where where, const std::string& name) {
    auto port = world.at(where, [&] {
        return PacketPort::open(name, static_cast<int>(::if_nametoindex(name.c_str())));
    });
    if (!port) FAIL(port.error().text);
    return std::move(*port);
}

// Requests, ACKs and CNPs of several hosts and QPs, some with a tag, some IPv6, some with a UDP
// checksum.
std::vector<Frame> frames(std::size_t count) {
    std::vector<Frame> all;
    constexpr std::array<std::string_view, 4> opcodes{"SEND_ONLY", "RDMA_WRITE_ONLY", "ACKNOWLEDGE",
                                                      "CNP"};
    for (std::size_t i = 0; i < count; ++i) {
        wire::Packet packet;
        packet.bth.opcode = *wire::opcode_by_name(opcodes[i * 7 % opcodes.size()]);
        packet.bth.dest_qp = wire::Qpn{0x11U + static_cast<std::uint32_t>(i % 3)};
        packet.bth.psn = wire::Psn(static_cast<std::uint32_t>(i));
        packet.headers = wire::opcode_info(packet.bth.opcode).headers;
        Frame headers(wire::kMaxTransportHeaderBytes);
        headers.resize(wire::encode_headers(packet, headers));
        const Frame payload(packet.info().carries_payload() ? 4 * (i % 50) : 0, std::byte{7});
        const bool v6 = i % 5 == 0;
        wire::Envelope envelope{.source = *wire::IpAddress::parse(v6           ? "fd00::1"
                                                                  : i % 4 == 0 ? "10.9.0.3"
                                                                               : "10.9.0.1"),
                                .destination = *wire::IpAddress::parse(v6 ? "fd00::2" : "10.9.0.2"),
                                .dscp = 26,
                                .ecn = static_cast<std::uint8_t>(i % 3)};
        if (i % 6 == 0) envelope.vlan = wire::VlanId{77, 3};
        Frame frame(wire::kMaxFrameOverhead + headers.size() + payload.size());
        frame.resize(wire::write_frame({}, envelope, 7, headers, payload, frame));
        all.push_back(std::move(frame));
    }
    return all;
}

// What leaves of them, by the process's own code.
std::vector<Frame> by_process(const std::vector<fault::Rule>& rules, const std::vector<Frame>& sent,
                              std::vector<fault::Fired>& fired) {
    Bump bump(42, rules);
    std::vector<Leaving> out;
    std::vector<Frame> left;
    for (std::size_t i = 0; i < sent.size(); ++i) {
        out.clear();
        bump.handle(End::A, sent[i], wire::Instant(1s) + i * 1us, out);
        for (const Leaving& one : out)
            left.emplace_back(one.bytes.begin(), one.bytes.end());
        bump.sent();
    }
    for (std::size_t i = 0; i < rules.size(); ++i)
        fired.push_back(bump.injector().fired(i));
    return left;
}

} // namespace

TEST_CASE("kernel rules: kernel and process do the same to the same packets", "[inject]") {
    const World world;
    world.run(Where::Left, "ethtool -K host_a tx off tso off gso off gro on >/dev/null");
    world.run(Where::Right, "ethtool -K host_b tx off tso off gso off gro on >/dev/null");
    PacketPort left = port(world, Where::Left, "host_a");
    PacketPort right = port(world, Where::Right, "host_b");
    const std::vector<Frame> sent = frames(400);
    const DataPath path = GENERATE(DataPath::Generic, DataPath::Native);
    // More rules than a word of the index has bits; each fifth names the QP of some packets.
    std::string many;
    for (int i = 0; i < 256; ++i) {
        many += "mark ce when opcode=" + std::string(i % 2 == 0 ? "CNP" : "data");
        if (i % 5 != 0) many += " qp=" + std::to_string(0x11 + i % 25);
        many += " every=" + std::to_string(100 + i) + "\n";
    }
    many.pop_back();
    const std::string plan = GENERATE_COPY(
        as<std::string>{}, many, "drop when p=0.3\nmark ce when p=0.5",
        "drop when every=7 also\nmark ce when from=a every=3 also\ncorrupt bit=500 when p=0.4",
        "mark ce when opcode=data first=20 also\ndrop when opcode=CNP\ncorrupt byte=49 when "
        "opcode=acks every=2",
        "drop when qp=0x12 every=2\nmark ce when qp=0x13",
        "drop when host=\"10.9.0.3\"\ndrop when host=\"fd00::2\" every=2\ndrop when from=b",
        "corrupt byte=70 when every=2 also\ncorrupt bit=567 when every=3\ndrop when p=0",
        "mark ce when between 100000s..200000s\ncorrupt byte=9000 when from=a\ndrop when from=a "
        "rate=1");
    INFO(plan);
    const std::vector<fault::Rule> rules = rules_of(plan);
    LineOptions options{.path = path, .in_kernel = kernel_rules(rules, 42)};
    REQUIRE(options.in_kernel.whole_plan);
    std::vector<fault::Fired> expected_fired;
    const std::vector<Frame> expected = by_process(rules, sent, expected_fired);

    InLine line = world.open(options);
    Bump bump(42, rules);
    std::vector<Frame> got;
    {
        const Running running(line, bump);
        for (const Frame& frame : sent) {
            left.queue(frame, {});
            left.flush();
        }
        // A frame that is not RoCEv2 comes last.
        const Frame end(60, std::byte{0x5A});
        left.queue(end, {});
        left.flush();
        const auto until = net::monotonic_now() + 5s;
        while ((got.empty() || got.back() != end) && net::monotonic_now() < until) {
            net::wait_for(right.fd(), POLLIN, until);
            const auto arrivals = right.receive();
            REQUIRE(arrivals);
            for (const Arrival& one : *arrivals)
                got.emplace_back(one.frame.begin(), one.frame.end());
        }
        REQUIRE_FALSE(got.empty());
        CHECK(got.back() == end);
        got.pop_back();
    }
    CHECK(got.size() == expected.size());
    CHECK(got == expected);
    line.collect(bump);
    line.collect(bump); // adds nothing
    for (std::size_t i = 0; i < rules.size(); ++i) {
        INFO(rules[i].text);
        CHECK(bump.injector().fired(i).selected == expected_fired[i].selected);
        CHECK(bump.injector().fired(i).fired == expected_fired[i].fired);
    }
    CHECK(bump.traffic(End::A).roce == 0);
    CHECK(line.counts(End::A).roce_in_kernel == expected.size());
    CHECK(line.counts(End::A).dropped_by_rules == sent.size() - expected.size());
}

TEST_CASE("kernel rules: only connections of other rules come to the process", "[inject]") {
    const World world;
    world.run(Where::Left, "ethtool -K host_a tx off tso off gso off gro on >/dev/null");
    world.run(Where::Right, "ethtool -K host_b tx off tso off gso off gro on >/dev/null");
    const auto rules = rules_of("mark ce when from=a opcode=data\ndelay 1us when conn=2 p=1\n"
                                "drop when qp=0x12345 p=1");
    InLine line = world.open({.path = DataPath::Generic, .in_kernel = kernel_rules(rules, 1)});
    Bump bump(1, rules);
    Hosts hosts(world, 20'000, 20);
    {
        const Running running(line, bump);
        CHECK(hosts.play());
    }
    line.collect(bump);
    CHECK(line.counts(End::A).roce_in_kernel > 100);
    CHECK(bump.traffic(End::A).roce > 0); // until both QPs were known
    // Every data packet of A is marked, wherever that was decided.
    const auto marked = bump.injector().fired(0);
    CHECK(marked.fired == marked.selected);
    CHECK(marked.fired >= 20 * 20);
    CHECK(hosts.server.port->engine().counters().ecn_marked == marked.fired);
}
#endif // VERIROCE_HAVE_XDP

} // namespace veriroce::inject::tests
