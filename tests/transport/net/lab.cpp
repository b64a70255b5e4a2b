#include "tests/transport/net/lab.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "dissector/wire/bth.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/socket_address.hpp"

namespace veriroce::net_test {

namespace {

constexpr auto* kSetUpHere =
    "ip link set lo up && ip link set va address 52:54:00:77:00:01 addrgenmode none && "
    "ip link set va up && ip addr add 10.77.0.1/24 dev va && ip addr add fd77::1/64 dev va nodad";
constexpr auto* kSetUpPeer =
    "ip link set lo up && ip link set vb address 52:54:00:77:00:02 addrgenmode none && "
    "ip link set vb up && ip addr add 10.77.0.2/24 dev vb && ip addr add fd77::2/64 dev vb nodad";
// The kernel tells at most once a second what became of links: where many come and go, one that
// is set up may need a while until it takes packets.
constexpr auto* kWaitHere =
    "for i in $(seq 500); do ip -o link show va | grep -q 'state UP' && exit 0; sleep 0.01; done; "
    "exit 1";
constexpr auto* kWaitPeer =
    "for i in $(seq 500); do ip -o link show vb | grep -q 'state UP' && exit 0; sleep 0.01; done; "
    "exit 1";

net::Descriptor open_namespace(const std::string& path) {
    net::Descriptor space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(space.valid());
    return space;
}

// A process in a namespace of its own that does nothing and dies with us.
pid_t start_keeper() {
    std::array<int, 2> ready{};
    REQUIRE(::pipe(ready.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const char ok = ::unshare(CLONE_NEWNET) == 0 ? '1' : '0';
        if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
        for (;;)
            ::pause();
    }
    char ok = '0';
    const bool answered = ::read(ready[0], &ok, 1) == 1;
    ::close(ready[0]);
    ::close(ready[1]);
    REQUIRE(answered);
    REQUIRE(ok == '1'); // otherwise: not root
    return child;
}

std::vector<std::byte> frame_of(const wire::LinkAddress& link, const wire::Envelope& envelope,
                                std::uint32_t psn, std::size_t payload_bytes) {
    const wire::Bth bth{.opcode = 0x04, .dest_qp = {0x11}, .psn = wire::Psn(psn)};
    std::array<std::byte, wire::Bth::kSize> header{};
    bth.encode(header);
    const std::vector<std::byte> payload(payload_bytes, std::byte{0x5A});
    std::vector<std::byte> frame(payload_bytes + wire::kMaxFrameOverhead);
    frame.resize(wire::write_frame(link, envelope, 0x1234, header, payload, frame));
    return frame;
}

const auto kMacHere = *wire::MacAddress::parse("52:54:00:77:00:01");
const auto kMacPeer = *wire::MacAddress::parse("52:54:00:77:00:02");

} // namespace

Lab::Lab() : outside_(open_namespace("/proc/thread-self/ns/net")) {
    keeper_ = start_keeper();
    peer_ = open_namespace("/proc/" + std::to_string(keeper_) + "/ns/net");
    REQUIRE(::unshare(CLONE_NEWNET) == 0);
    here_ = open_namespace("/proc/thread-self/ns/net");
    // Offloads' restore files are not the host's, nor another test's that runs at the same time.
    runtime_ = "/tmp/veriroce-test-" + std::to_string(::getpid());
    std::filesystem::create_directories(runtime_);
    ::setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
    run("ip link add va type veth peer name vb netns " + std::to_string(keeper_));
    run(kSetUpHere);
    run_at_peer(kSetUpPeer);
    run(kWaitHere);
    run_at_peer(kWaitPeer);
}

Lab::~Lab() {
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
    ::setns(outside_.fd(), CLONE_NEWNET);
    std::error_code ignored;
    std::filesystem::remove_all(runtime_, ignored);
}

void Lab::run(const std::string& command) const {
    INFO(command);
    REQUIRE(std::system(command.c_str()) == 0);
}

void Lab::run_at_peer(const std::string& command) const {
    at_peer([&] { run(command); });
}

void Lab::silence() const {
    run("echo 1 > /proc/sys/net/ipv6/conf/va/disable_ipv6");
    run_at_peer("echo 1 > /proc/sys/net/ipv6/conf/vb/disable_ipv6");
}

Lab::Stay::Stay(int there, int way_back) : back(way_back) {
    REQUIRE(::setns(there, CLONE_NEWNET) == 0);
}

Lab::Stay::~Stay() {
    ::setns(back, CLONE_NEWNET);
}

std::unique_ptr<net::RawLink> Lab::open(net::RawLinkOptions options) const {
    if (options.interface.empty()) options.interface = "va";
    auto link = net::RawLink::open(options);
    if (!link) FAIL(link.error().text);
    return std::move(*link);
}

std::unique_ptr<net::RawLink> Lab::open_at_peer(net::RawLinkOptions options) const {
    options.interface = "vb";
    return at_peer([&] { return open(options); });
}

net::Descriptor Lab::udp_at_peer(const std::string& address, std::uint16_t port) const {
    return at_peer([&] {
        const auto to = net::SocketAddress::of(ip(address), port);
        net::Descriptor socket(::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
        REQUIRE(socket.valid());
        REQUIRE(::connect(socket.fd(), to.get(), to.size) == 0);
        return socket;
    });
}

wire::IpAddress ip(const std::string& text) {
    const auto address = wire::IpAddress::parse(text);
    REQUIRE(address.has_value());
    return *address;
}

std::vector<std::byte> roce_frame(std::uint32_t psn, std::size_t payload_bytes,
                                  const wire::Envelope& envelope) {
    return frame_of({.source = kMacPeer, .destination = kMacHere}, envelope, psn, payload_bytes);
}

std::vector<std::byte> roce_frame_to_peer(std::uint32_t psn, std::size_t payload_bytes) {
    return frame_of({.source = kMacHere, .destination = kMacPeer},
                    {.source = ip("10.77.0.1"), .destination = ip("10.77.0.2")}, psn,
                    payload_bytes);
}

std::optional<std::uint32_t> psn_of(wire::Bytes bytes) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame) return std::nullopt;
    const auto bth = wire::Bth::decode(frame->transport);
    if (!bth) return std::nullopt;
    return bth->psn.value();
}

std::vector<Seen> receive_until(net::RawLink& link, std::uint32_t psn) {
    std::vector<Seen> seen;
    const auto deadline = soon();
    for (;;) {
        const auto received = link.receive(deadline);
        if (!received) FAIL(received.error().text);
        if (!*received) FAIL("the frame with PSN " << psn << " did not come");
        const auto& packet = **received;
        seen.push_back({packet, {packet.frame.begin(), packet.frame.end()}});
        if (psn_of(packet.frame) == psn) return seen;
    }
}

wire::Instant soon() {
    return net::monotonic_now() + std::chrono::seconds(10);
}

} // namespace veriroce::net_test
