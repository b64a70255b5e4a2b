// What can stand between the two hosts: the bump, and the peers that it is held against. Each
// forwards from bump_a to bump_b as long as it lives. Throws Failure.
#pragma once

#include <memory>

#include "transport/inject/in_line.hpp"

namespace veriroce::bench_test {

class Forwarder {
  public:
    Forwarder() = default;
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;
    virtual ~Forwarder() = default;
    // Called by one thread again and again; returns after some milliseconds when nothing comes.
    // What forwards in the kernel only waits.
    virtual void step();
};

// The kernel's bridge; both ways.
std::unique_ptr<Forwarder> kernel_bridge();
// `rules` are the plan; the kernel decides what it can of `in_kernel`.
std::unique_ptr<Forwarder> bump(inject::DataPath path, std::vector<fault::Rule> rules,
                                bool in_kernel);
// An XDP program of one call that looks at nothing.
std::unique_ptr<Forwarder> bare_redirect();
// A loop that moves each frame from one AF_XDP socket to another, in copy mode as veth has it, and
// does not look at it.
std::unique_ptr<Forwarder> bare_af_xdp();

} // namespace veriroce::bench_test
