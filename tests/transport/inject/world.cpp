#include "tests/transport/inject/world.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "conformance/script/script.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;

net::Descriptor current_namespace() {
    net::Descriptor space(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    REQUIRE(space.valid());
    return space;
}

net::Descriptor new_namespace() {
    REQUIRE(::unshare(CLONE_NEWNET) == 0); // otherwise: not root
    return current_namespace();
}

// What children can open as a namespace.
std::string path_of(const net::Descriptor& space) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(space.fd());
}

std::string set_up(const std::string& name, const std::string& rest) {
    return "ip link set " + name + " addrgenmode none && ip link set " + name + " up" + rest;
}

} // namespace

World::World() : outside_(current_namespace()) {
    left_ = new_namespace();
    right_ = new_namespace();
    middle_ = new_namespace();
    // Offloads' restore files are not the host's, nor another test's that runs at the same time.
    runtime_ = "/tmp/veriroce-test-" + std::to_string(::getpid());
    std::filesystem::create_directories(runtime_);
    ::setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
    run(Where::Middle,
        "ip link add bump_a type veth peer name host_a && ip link set host_a netns " +
            path_of(left_) +
            " && ip link add bump_b type veth peer name host_b && ip link set host_b netns " +
            path_of(right_) + " && " + set_up("bump_a", "") + " && " + set_up("bump_b", ""));
    run(Where::Left, set_up("host_a", " && ip addr add 10.77.0.1/24 dev host_a"));
    run(Where::Right, set_up("host_b", " && ip addr add 10.77.0.2/24 dev host_b"));
}

World::~World() {
    ::setns(outside_.fd(), CLONE_NEWNET);
    std::error_code ignored;
    std::filesystem::remove_all(runtime_, ignored);
}

int World::fd(Where where) const {
    switch (where) {
    case Where::Left: return left_.fd();
    case Where::Middle: return middle_.fd();
    case Where::Right: return right_.fd();
    }
    return -1;
}

World::Stay::Stay(int there, int way_back) : back(way_back) {
    REQUIRE(::setns(there, CLONE_NEWNET) == 0);
}

World::Stay::~Stay() {
    ::setns(back, CLONE_NEWNET);
}

void World::run(Where where, const std::string& command) const {
    at(where, [&] {
        INFO(command);
        REQUIRE(std::system(command.c_str()) == 0);
    });
}

std::string World::output(Where where, const std::string& command) const {
    return at(where, [&] {
        std::FILE* const pipe = ::popen(command.c_str(), "r");
        REQUIRE(pipe != nullptr);
        std::string text;
        for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
            text += static_cast<char>(c);
        REQUIRE(::pclose(pipe) == 0);
        return text;
    });
}

InLine World::open(const LineOptions& options) const {
    auto line = InLine::open("bump_a", "bump_b", options);
    if (!line) FAIL(line.error().text);
    return std::move(*line);
}

Running::Running(InLine& line, Bump& bump, Observer* observer)
    : thread_([this, &line, &bump, observer] {
          while (!stop_) {
              if (!line.step(bump, net::monotonic_now() + 5ms, observer)) return;
          }
      }) {}

Running::~Running() {
    stop_ = true;
    thread_.join();
}

std::vector<fault::Rule> rules_of(std::string_view plan) {
    const auto loaded = script::load_injection("made-up.faults", plan);
    if (!loaded) FAIL(loaded.error().front().text("made-up.faults"));
    return loaded->rules;
}

Hosts::Hosts(const World& world, std::uint32_t size, std::uint64_t rounds, wire::Mtu mtu) {
    const auto make = [&](Where where, const std::string& text) {
        const auto address = *wire::IpAddress::parse(text);
        auto port = world.at(where, [&] { return port::Port::udp(address); });
        if (!port) FAIL(port.error().text);
        auto made = pingpong::Pingpong::open((*port)->engine(), {.size = size,
                                                                 .rounds = rounds,
                                                                 .mtu = mtu,
                                                                 .psn = wire::Psn(0xFFFFF0),
                                                                 .address = address});
        if (!made) FAIL(made.error());
        return Host{std::move(*port), std::move(*made)};
    };
    client = make(Where::Left, "10.77.0.1");
    server = make(Where::Right, "10.77.0.2");
    REQUIRE(server.pingpong->connect(client.pingpong->local(), net::monotonic_now()));
    REQUIRE(client.pingpong->connect(server.pingpong->local(), net::monotonic_now()));
}

bool Hosts::play() {
    client.pingpong->start(net::monotonic_now());
    const auto until = net::monotonic_now() + 20s;
    while (!(client.pingpong->finished() && server.pingpong->finished())) {
        REQUIRE(net::monotonic_now() < until);
        for (Host* host : {&client, &server}) {
            REQUIRE(host->port->step(net::monotonic_now()).has_value());
            host->pingpong->progress(net::monotonic_now());
        }
    }
    return !client.pingpong->failed() && !server.pingpong->failed();
}

} // namespace veriroce::inject::tests
