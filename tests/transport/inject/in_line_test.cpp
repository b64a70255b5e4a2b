// The bump in a real wire: two of our engines, kernels and raw frames on both sides of it.
#include "tests/transport/inject/world.hpp"

#include <catch2/catch.hpp>

#include <net/if.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <set>

#include "transport/fault/generated_frames.hpp"
#include "transport/inject/packet_port.hpp"
#include "transport/inject/xdp_ports.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;
using Frame = std::vector<std::byte>;

// A plan, and what the devices show of it. Messages have 20 packets; A sends the first.
struct Row {
    std::string plan;
    std::function<bool(const Hosts&, const Bump&)> shows;
};

Counters all(const Bump& bump) {
    return bump.recovery().total();
}

std::vector<Row> rows() {
    const auto server = [](const Hosts& hosts) { return hosts.server.port->engine().counters(); };
    const auto client = [](const Hosts& hosts) { return hosts.client.port->engine().counters(); };
    return {
        {"drop when from=a opcode=data psn=5 pass=1 fires=1",
         [=](const Hosts& hosts, const Bump& bump) {
             return server(hosts).out_of_sequence > 0 && all(bump).retransmissions > 0;
         }},
        {"duplicate when from=a opcode=data psn=19 fires=1",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).duplicate_request > 0; }},
        {"delay 20ms when conn=1 from=b opcode=acks first=1",
         [](const Hosts&, const Bump& bump) {
             const auto& event = bump.recovery().events().front();
             return event.recovery && *event.recovery >= 20ms;
         }},
        {"reorder by=2 when from=a opcode=data psn=3 pass=1",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).out_of_sequence > 0; }},
        {"hold until from=a psn=6 for=100ms when from=a opcode=data psn=3 pass=1",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).out_of_sequence > 0; }},
        {"corrupt bit=500 when from=a opcode=data psn=7 pass=1",
         [](const Hosts& hosts, const Bump&) { return hosts.server.port->bad_icrc() == 1; }},
        // The ICRC does not show it, and receivers ignore reserved bits.
        {"corrupt field=resv7 icrc=good when from=a opcode=data psn=7 pass=1",
         [](const Hosts& hosts, const Bump& bump) {
             return hosts.server.port->bad_icrc() == 0 && all(bump).retransmissions == 0;
         }},
        {"rewrite destqp=abs:0xABCDEF when from=a opcode=data psn=7 pass=1",
         [=](const Hosts& hosts, const Bump& bump) {
             return server(hosts).dropped > 0 && all(bump).retransmissions > 0;
         }},
        {"truncate=100 when from=a opcode=data psn=7 pass=1",
         [](const Hosts& hosts, const Bump& bump) {
             return hosts.server.port->bad_icrc() == 1 && all(bump).retransmissions > 0;
         }},
        {"mark ce when from=a opcode=data host=\"10.77.0.2\" every=4",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).ecn_marked > 0; }},
        {"replay age=3 when from=a opcode=data psn=9 pass=1",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).duplicate_request > 0; }},
        {"forge SEND_ONLY psn=9 when from=a opcode=data psn=29 pass=1",
         [=](const Hosts& hosts, const Bump&) { return server(hosts).duplicate_request > 0; }},
        {"pause class=3 quanta=1 when from=a opcode=data psn=9 pass=1",
         [](const Hosts&, const Bump& bump) { return all(bump).retransmissions == 0; }},
        // Exactly the transmissions that it names: the packet is lost three times in all.
        {"drop when from=a opcode=data psn=5 pass=1..3 fires=3",
         [=](const Hosts& hosts, const Bump& bump) {
             const auto& events = bump.recovery().events();
             for (std::size_t i = 0; i < events.size(); ++i) {
                 if (events[i].pass != static_cast<std::int64_t>(i) + 1) return false;
                 if (events[i].place.psn != 5) return false;
             }
             return events.size() == 3 && client(hosts).local_ack_timeout > 0;
         }},
        {"drop when from=b opcode=acks nth=1..2 pass=1",
         [](const Hosts&, const Bump& bump) { return bump.injector().fired(0).fired > 0; }},
    };
}

// Sends frames on one end's interface, and reads whatever comes on the other's.
struct Raw {
    PacketPort left;
    PacketPort right;

    static PacketPort open(const World& world, Where where, const std::string& name) {
        auto port = world.at(where, [&] {
            return PacketPort::open(name, static_cast<int>(::if_nametoindex(name.c_str())));
        });
        if (!port) FAIL(port.error().text);
        return std::move(*port);
    }
    explicit Raw(const World& world)
        : left(open(world, Where::Left, "host_a")), right(open(world, Where::Right, "host_b")) {}

    // The next `count` frames on the right.
    std::vector<Frame> receive(std::size_t count, std::chrono::milliseconds patience = 5s) {
        std::vector<Frame> frames;
        const auto until = net::monotonic_now() + patience;
        while (frames.size() < count && net::monotonic_now() < until) {
            net::wait_for(right.fd(), POLLIN, until);
            const auto arrivals = right.receive();
            REQUIRE(arrivals);
            for (const Arrival& arrival : *arrivals)
                frames.emplace_back(arrival.frame.begin(), arrival.frame.end());
        }
        return frames;
    }
};

Frame bytes_of(std::initializer_list<unsigned> head, std::size_t size) {
    Frame frame(size, std::byte{0x5A});
    std::ranges::transform(head, frame.begin(), [](unsigned b) { return std::byte(b); });
    return frame;
}

// A megabyte between the kernels of both sides, with checksums and segments left to the card.
bool tcp_passes(const World& world) {
    const auto make = [] {
        net::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const timeval patience{.tv_sec = 5, .tv_usec = 0};
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        return socket;
    };
    const auto to = net::SocketAddress::of(*wire::IpAddress::parse("10.77.0.2"), 5000);
    const auto listening = world.at(Where::Right, make);
    REQUIRE(::bind(listening.fd(), to.get(), to.size) == 0);
    REQUIRE(::listen(listening.fd(), 1) == 0);
    const auto client = world.at(Where::Left, make);
    REQUIRE(::connect(client.fd(), to.get(), to.size) == 0);
    const net::Descriptor server(::accept(listening.fd(), nullptr, nullptr));
    Frame data(1'000'000);
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<std::byte>(i % 251);
    Frame got;
    {
        const std::jthread sender([&] {
            (void)::send(client.fd(), data.data(), data.size(), MSG_NOSIGNAL);
            ::shutdown(client.fd(), SHUT_WR);
        });
        Frame piece(65'536);
        while (true) {
            const auto count = ::recv(server.fd(), piece.data(), piece.size(), 0);
            if (count <= 0) break;
            got.insert(got.end(), piece.begin(), piece.begin() + count);
        }
    }
    return got == data;
}

// Those that this program was built with.
std::vector<DataPath> paths() {
    std::vector<DataPath> all{DataPath::Packet};
#ifdef VERIROCE_HAVE_XDP
    all.insert(all.end(), {DataPath::Generic, DataPath::Native});
#endif
    return all;
}

// The other ends of veth pairs, which XDP needs so: they fill in their checksums, cut their
// segments and take frames from a driver.
void prepare_hosts(const World& world) {
    world.run(Where::Left, "ethtool -K host_a tx off tso off gso off gro on >/dev/null");
    world.run(Where::Right, "ethtool -K host_b tx off tso off gso off gro on >/dev/null");
}

} // namespace

TEST_CASE("in line: every action shows at the devices, and the data stays intact", "[inject]") {
    const World world;
    const auto path = GENERATE(from_range(paths()));
    if (path != DataPath::Packet) prepare_hosts(world);
    InLine line = world.open({.path = path});
    INFO(line.path());
    std::set<std::size_t> kinds;
    for (const Row& row : rows()) {
        INFO(row.plan);
        Bump bump(1, rules_of(row.plan));
        kinds.insert(bump.injector().rules().front().action.index());
        Hosts hosts(world, 20'000, 4);
        bool intact = false;
        {
            const Running running(line, bump);
            intact = hosts.play();
        }
        CHECK(intact);
        for (const std::string& sentence : bump.injector().unmet())
            FAIL_CHECK(sentence);
        CHECK(row.shows(hosts, bump));
        CHECK(bump.connections().known().size() == 1);
        CHECK(std::ranges::all_of(bump.recovery().events(), [](const FaultEvent& event) {
            return !event.followed || event.recovery.has_value();
        }));
    }
    CHECK(kinds.size() == std::variant_size_v<fault::Action::variant>);
    for (const End end : {End::A, End::B}) {
        const PortCounts counts = line.counts(end);
        CHECK(counts.dropped_by_kernel + counts.unreadable + counts.refused + counts.queue_full ==
              0);
    }
}

TEST_CASE("in line: what is not RoCE passes untouched and in order", "[inject]") {
    const World world;
    const std::string features =
        world.output(Where::Middle, "ethtool -k bump_a; ethtool -k bump_b");
    const std::string links = world.output(Where::Middle, "ip -d link 2>/dev/null");
    const auto path = GENERATE(from_range(paths()));
    if (path != DataPath::Packet) prepare_hosts(world);
    InLine line = world.open({.path = path});
    INFO(line.path());
    Bump bump(1, rules_of("drop when p=1"));
    {
        const Running running(line, bump);
        Raw raw(world);
        const std::vector<Frame> frames{
            // LLDP and PFC, which bridges keep to themselves
            bytes_of({0x01, 0x80, 0xC2, 0, 0, 0x0E, 2, 0, 0, 0, 0, 1, 0x88, 0xCC}, 60),
            bytes_of({0x01, 0x80, 0xC2, 0, 0, 0x01, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 1, 1}, 60),
            // one tag, two tags, a priority tag
            bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0x60, 77, 0x88, 0xB5}, 64),
            bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xA8, 0, 9, 0x81, 0, 0, 8, 8, 0},
                     100),
            bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0xE0, 0, 0x88, 0xB5}, 64),
            // unknown, as short as can be, as long as can be
            bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5}, 16),
            bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5}, 1514),
        };
        std::vector<Frame> sent;
        for (int i = 0; i < 10; ++i) {
            for (const Frame& frame : frames) {
                sent.push_back(frame);
                sent.back().back() = static_cast<std::byte>(i);
            }
        }
        for (const Frame& frame : sent)
            raw.left.queue(frame, {});
        raw.left.flush();
        CHECK(raw.receive(sent.size()) == sent);
        CHECK(tcp_passes(world));
    }
    CHECK(bump.traffic(End::A).roce == 0);
    REQUIRE(line.close());
    {
        const InLine gone = std::move(line);
    }
    CHECK(world.output(Where::Middle, "ethtool -k bump_a; ethtool -k bump_b") == features);
    CHECK(world.output(Where::Middle, "ip -d link 2>/dev/null") == links);
}

#ifdef VERIROCE_HAVE_XDP
TEST_CASE("in line: a connection that no rule can concern passes in the kernel", "[inject]") {
    const World world;
    prepare_hosts(world);
    InLine line = world.open({.path = DataPath::Generic});
    Bump bump(1, rules_of("drop when conn=2 p=1\ndrop when host=\"10.77.0.9\" p=1\n"
                          "drop when service=1 p=1"));
    Hosts hosts(world, 20'000, 20);
    {
        const Running running(line, bump);
        CHECK(hosts.play());
    }
    CHECK(line.counts(End::A).roce_in_kernel > 100);
    CHECK(line.counts(End::B).roce_in_kernel > 100);
    CHECK(bump.traffic(End::A).roce > 0); // until both QPs were known
}

TEST_CASE("in line: a killed process leaves what was asked for", "[inject]") {
    const World world;
    prepare_hosts(world);
    world.run(Where::Middle, "mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf");
    struct Case {
        LineOptions options;
        std::size_t passes; // frames, after the kill
    };
    const std::vector<Case> cases{
        {{.path = DataPath::Packet}, 0},
        {{.path = DataPath::Generic}, 0},
        {{.path = DataPath::Generic, .forward_when_killed = true}, 1},
        {{.path = DataPath::Native, .forward_when_killed = true}, 1},
    };
    Raw raw(world);
    const auto pass = [&raw](std::chrono::milliseconds patience) {
        const auto frame = bytes_of({2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xB5}, 60);
        raw.left.queue(frame, {});
        raw.left.flush();
        return raw.receive(1, patience).size();
    };
    for (const Case& one : cases) {
        INFO(static_cast<int>(one.options.path) << one.options.forward_when_killed);
        std::array<int, 2> ready{};
        REQUIRE(::pipe(ready.data()) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            auto line = InLine::open("bump_a", "bump_b", one.options);
            Bump bump(1, {});
            if (!line || ::write(ready[1], "1", 1) != 1) ::_exit(1);
            for (;;)
                (void)line->step(bump, net::monotonic_now() + 100ms, nullptr);
        }
        ::close(ready[1]);
        char started = 0;
        REQUIRE(::read(ready[0], &started, 1) == 1);
        ::close(ready[0]);
        CHECK(pass(5s) == 1);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        CHECK(pass(one.passes == 0 ? 50ms : 5000ms) == one.passes);
        // The next run cleans up.
        {
            const InLine next = world.open({.path = DataPath::Generic});
        }
        CHECK(pass(50ms) == 0);
    }
}

TEST_CASE("in line: queues that the kernel has yet to free are waited for", "[inject]") {
    const World world;
    prepare_hosts(world);
    const XdpOptions options{.a = "bump_a", .b = "bump_b", .native = false};
    auto other = open_xdp_ports(options);
    REQUIRE(other);
    const std::jthread closes([&] {
        std::this_thread::sleep_for(200ms);
        other->reset();
    });
    const auto began = net::monotonic_now();
    const auto ports = open_xdp_ports(options);
    INFO((ports ? "" : ports.error().text));
    CHECK(ports.has_value());
    CHECK(net::monotonic_now() - began >= 200ms);
}

namespace {

void set_mtu(const World& world, int mtu) {
    const std::string size = " mtu " + std::to_string(mtu);
    for (const auto* name : {"bump_a", "bump_b"})
        world.run(Where::Middle, std::string("ip link set ") + name + size);
    world.run(Where::Left, "ip link set host_a" + size);
    world.run(Where::Right, "ip link set host_b" + size);
}

// A RoCEv2 packet whose UDP length is right.
Frame roce_of(std::size_t size, std::uint32_t psn) {
    std::array<std::byte, wire::Bth::kSize> header{};
    wire::Bth{.opcode = 0x04, .dest_qp = {0x11}, .psn = wire::Psn(psn)}.encode(header);
    constexpr std::size_t kAround = 14 + 20 + 8 + wire::Bth::kSize + 4;
    Frame payload(size - kAround);
    for (std::size_t i = 0; i < payload.size(); ++i)
        payload[i] = static_cast<std::byte>((i + psn) % 251);
    const wire::Envelope envelope{.source = *wire::IpAddress::parse("10.77.0.1"),
                                  .destination = *wire::IpAddress::parse("10.77.0.2")};
    Frame bytes(wire::kMaxFrameOverhead + payload.size() + wire::Bth::kSize);
    bytes.resize(wire::write_frame({}, envelope, 0, header, payload, bytes));
    return bytes;
}

} // namespace

TEST_CASE("in line: jumbo frames pass whole on every path, and rules change what they name",
          "[inject]") {
    const World world;
    const int mtu = GENERATE(4'200, 9'000);
    set_mtu(world, mtu);
    prepare_hosts(world);
    const DataPath path = GENERATE(from_range(paths()));
    InLine line = world.open({.path = path});
    INFO(line.path());
    {
        Bump bump(1, rules_of("drop when from=a opcode=data psn=3 pass=1 fires=1"));
        Hosts hosts(world, 20'000, 4, wire::Mtu::B4096);
        {
            const Running running(line, bump);
            CHECK(hosts.play());
        }
        CHECK(bump.injector().unmet().empty());
        CHECK(bump.traffic(End::A).bytes / bump.traffic(End::A).roce > 1'500);
    }
    // Of all lengths about the ends of buffers, in order; a byte of the last one is changed.
    const std::size_t largest = static_cast<std::size_t>(mtu) + 14;
    Bump bump(1,
              rules_of("corrupt byte=" + std::to_string(largest - 14 - 8) + " when nth=300.. p=1"));
    const Running running(line, bump);
    Raw raw(world);
    std::vector<Frame> sent;
    for (std::uint32_t i = 0; i < 300; ++i) {
        const std::size_t about = i % 3 == 0 ? 3'840 : i % 3 == 1 ? largest - 60 : 100;
        sent.push_back(roce_of(std::min(about - 20 + i % 40 + (i % 3 == 1 ? 40 : 0), largest), i));
    }
    sent.back() = roce_of(largest, 299);
    std::vector<Frame> got;
    // More buffers at a time than are read at once.
    constexpr std::size_t kBurst = 60;
    for (std::size_t i = 0; i < sent.size(); i += kBurst) {
        for (std::size_t k = i; k < i + kBurst; ++k)
            raw.left.queue(sent[k], {});
        raw.left.flush();
        const auto some = raw.receive(kBurst);
        got.insert(got.end(), some.begin(), some.end());
    }
    sent.back()[largest - 8] ^= std::byte{0xFF};
    REQUIRE(got.size() == sent.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        INFO(i << ": " << sent[i].size());
        CHECK(got[i] == sent[i]);
    }
    for (const End end : {End::A, End::B}) {
        const PortCounts counts = line.counts(end);
        CHECK(counts.dropped_by_kernel + counts.refused + counts.queue_full == 0);
    }
}

TEST_CASE("in line: frames too long for AF_XDP's chains are refused with the reason", "[inject]") {
    const World world;
    set_mtu(world, 65'535);
    const auto refused = InLine::open("bump_a", "bump_b", {.path = DataPath::Generic});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text ==
          "MTU 65535 is more than the 17 buffers of 3840 bytes that AF_XDP chains");
}

#endif // VERIROCE_HAVE_XDP

TEST_CASE("in line: rules select PFC frames on every path, and know what these stop", "[inject]") {
    const World world;
    prepare_hosts(world);
    const DataPath path = GENERATE(from_range(paths()));
    const auto rules = rules_of("drop when from=a pfc=3 quanta=1.. first=1\n"
                                "drop when from=b paused=3 class=3\n"
                                "drop when from=a pfc=5 quanta=0\n");
    Bump bump(1, rules);
    REQUIRE(bump.follows_pfc());
    InLine line = world.open({.path = path, .takes_pfc = true});
    INFO(line.path());
    bump.set_link_speed(1e6); // a quantum is 512 us
    Raw raw(world);
    const auto pfc = [](std::uint8_t priority, std::uint16_t quanta) {
        return fault::pause_frame({.priority = priority, .quanta = quanta}, wire::Frame{});
    };
    const auto roce = [](std::uint8_t dscp) {
        std::array<std::byte, wire::Bth::kSize> header{};
        wire::Bth{.opcode = 0x04, .dest_qp = {0x11}}.encode(header);
        const wire::Envelope envelope{.source = *wire::IpAddress::parse("10.77.0.2"),
                                      .destination = *wire::IpAddress::parse("10.77.0.1"),
                                      .dscp = dscp};
        Frame bytes(wire::kMaxFrameOverhead);
        bytes.resize(wire::write_frame({}, envelope, 0, header, {}, bytes));
        return bytes;
    };
    const auto pass = [](PacketPort& from, PacketPort& to, const Frame& frame) {
        from.queue(frame, {});
        from.flush();
        const auto until = net::monotonic_now() + 300ms;
        while (net::monotonic_now() < until) {
            net::wait_for(to.fd(), POLLIN, until);
            const auto arrivals = to.receive();
            REQUIRE(arrivals);
            for (const Arrival& one : *arrivals)
                if (std::ranges::equal(one.frame, frame)) return true;
        }
        return false;
    };
    const Running running(line, bump);
    CHECK_FALSE(pass(raw.left, raw.right, pfc(3, 10'000))); // the lost PAUSE
    CHECK(pass(raw.right, raw.left, roce(24)));             // so B is not stopped
    CHECK(pass(raw.left, raw.right, pfc(3, 60'000)));       // 30 s
    CHECK_FALSE(pass(raw.right, raw.left, roce(24)));
    CHECK(pass(raw.right, raw.left, roce(0))); // another class
    CHECK(pass(raw.left, raw.right, pfc(3, 0)));
    CHECK(pass(raw.right, raw.left, roce(24)));
    CHECK_FALSE(pass(raw.left, raw.right, pfc(5, 0))); // the lost RESUME
    CHECK(pass(raw.left, raw.right, pfc(5, 1)));
    CHECK(bump.injector().unmet().empty());
    CHECK(bump.fabric().signals(End::A).pauses[3].frames == 2);
}

TEST_CASE("in line: interfaces that cannot be joined are refused", "[inject]") {
    const World world;
    const auto error = [](const std::string& a, const std::string& b) {
        const auto line = InLine::open(a, b);
        REQUIRE_FALSE(line);
        return line.error().text;
    };
    CHECK(error("bump_a", "bump_a") == "a bump needs two interfaces, got bump_a twice");
    {
        const InLine other = world.open();
        CHECK(error("bump_a", "bump_b") == "another veriroce inject has bump_a");
    }
    CHECK(error("bump_a", "nix") == "there is no interface nix");
    CHECK(error("bump_a", "lo") == "lo is not an Ethernet interface");
    world.run(Where::Middle, "ip link set bump_b mtu 1400");
    CHECK(error("bump_a", "bump_b") ==
          "bump_a has MTU 1500 and bump_b has MTU 1400: ip link set bump_b mtu 1500");
    world.run(Where::Middle, "ip link set bump_b mtu 1500 && ip link add bridge0 type bridge && "
                             "ip link set bump_a master bridge0");
    CHECK(error("bump_a", "bump_b") ==
          "bump_a belongs to bridge0, which would forward every frame once more: "
          "ip link set bump_a nomaster");
}

} // namespace veriroce::inject::tests
