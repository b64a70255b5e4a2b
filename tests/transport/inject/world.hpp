// Three network namespaces in a row, joined by two veth pairs: a host on each side, and between
// them the bump's machine. Needs root; where it cannot be built the test fails.
//
//   left  host_a  10.77.0.1/24  ---  bump_a  middle  bump_b  ---  host_b  10.77.0.2/24  right
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transport/inject/in_line.hpp"
#include "transport/net/descriptor.hpp"
#include "transport/pingpong/pingpong.hpp"
#include "transport/port/port.hpp"

namespace veriroce::inject::tests {

enum class Where : std::uint8_t { Left, Middle, Right };

class World {
  public:
    World();
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // Runs a command in a namespace; the test fails if the command does.
    void run(Where where, const std::string& command) const;
    [[nodiscard]] std::string output(Where where, const std::string& command) const;
    // Calls `body` with this thread in that namespace: sockets that it opens stay there.
    template <typename F>
    auto at(Where where, F body) const {
        const Stay stay(fd(where), fd(Where::Middle));
        return body();
    }
    [[nodiscard]] InLine open(const LineOptions& options = {}) const;

  private:
    struct Stay {
        Stay(int there, int back);
        ~Stay();
        int back;
    };
    [[nodiscard]] int fd(Where where) const;

    net::Descriptor outside_; // the namespace that the test came from
    net::Descriptor left_;
    net::Descriptor middle_;
    net::Descriptor right_;
    std::string runtime_; // $XDG_RUNTIME_DIR
};

// Runs the line in a thread of its own as long as it lives.
class Running {
  public:
    Running(InLine& line, Bump& bump, Observer* observer = nullptr);
    ~Running();

  private:
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

std::vector<fault::Rule> rules_of(std::string_view plan);

// Two engines on UDP sockets, left and right: `rounds` round trips of `size` bytes. Each compares
// what it gets.
struct Hosts {
    struct Host {
        std::unique_ptr<port::Port> port;
        std::unique_ptr<pingpong::Pingpong> pingpong;
    };
    Hosts(const World& world, std::uint32_t size, std::uint64_t rounds,
          wire::Mtu mtu = wire::Mtu::B1024);
    // Until both are done; whether every byte came back.
    bool play();

    Host client; // left
    Host server; // right
};

} // namespace veriroce::inject::tests
