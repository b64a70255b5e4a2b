#include "tests/bench/inject/three_hosts.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/frame.hpp"
#include "tests/bench/traffic.hpp"

namespace veriroce::bench_test {
namespace {

int new_namespace() {
    needed(::unshare(CLONE_NEWNET), "a new network namespace");
    return needed(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC), "its descriptor");
}

void make_pair(const std::string& bump, const std::string& host, int host_namespace) {
    must_succeed(fmt::format(
        "ip link add {0} numrxqueues 1 numtxqueues 1 type veth peer name {1} numrxqueues 1 "
        "numtxqueues 1 && ip link set {1} netns /proc/{2}/fd/{3} && "
        "ethtool -K {0} gro on && ip link set {0} addrgenmode none up",
        bump, host, ::getpid(), host_namespace));
}

void bring_up(const std::string& host) {
    must_succeed(
        fmt::format("ip link set {0} addrgenmode none up && ethtool -K {0} tx off gro on", host));
}

} // namespace

ThreeHosts::ThreeHosts() : left_(new_namespace()), right_(new_namespace()), here_(new_namespace()) {
    make_pair("bump_a", "host_a", left_);
    make_pair("bump_b", "host_b", right_);
    at_a([] { bring_up("host_a"); });
    at_b([] { bring_up("host_b"); });
}

ThreeHosts::Visit::Visit(int there, int back) : back_(back) {
    needed(::setns(there, CLONE_NEWNET), "entering a network namespace");
}

ThreeHosts::Visit::~Visit() {
    if (::setns(back_, CLONE_NEWNET) != 0) std::abort(); // what follows would be at the wrong host
}

std::uint64_t ThreeHosts::received() const {
    return at_b([] {
        std::ifstream file("/proc/thread-self/net/dev");
        std::uint64_t frames = 0;
        for (std::string line; std::getline(file, line);) {
            std::istringstream words(line);
            std::string name;
            std::uint64_t bytes = 0;
            words >> name;
            if (name == "host_b:") words >> bytes >> frames;
        }
        return frames;
    });
}

bool succeeds(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

void must_succeed(const std::string& command) {
    if (!succeeds(command)) throw Failure("failed: " + command);
}

std::vector<std::byte> send_frame(std::size_t payload_bytes, std::uint32_t psn,
                                  std::uint16_t destination_port) {
    std::array<std::byte, wire::Bth::kSize> header{};
    wire::Bth{.opcode = 0x04, .dest_qp = {0x11}, .psn = wire::Psn(psn)}.encode(header);
    const std::vector<std::byte> payload(payload_bytes, std::byte{0x5A});
    const wire::LinkAddress link{*wire::MacAddress::parse("02:00:00:00:00:01"),
                                 *wire::MacAddress::parse("02:00:00:00:00:02")};
    const wire::Envelope envelope{.source = *wire::IpAddress::parse("10.0.0.1"),
                                  .destination = *wire::IpAddress::parse("10.0.0.2"),
                                  .destination_port = destination_port};
    std::vector<std::byte> bytes(payload_bytes + wire::kMaxFrameOverhead);
    bytes.resize(wire::write_frame(link, envelope, 0, header, payload, bytes));
    return bytes;
}

} // namespace veriroce::bench_test
