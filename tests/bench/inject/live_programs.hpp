// live_frames.bpf.c in the kernel. Throws Failure.
#pragma once

#include <memory>
#include <string>

#include "tests/bench/inject/live_difference.hpp"
#include "tests/bench/traffic.hpp"
#include "transport/net/descriptor.hpp"
#include <live.skel.h>

namespace veriroce::bench_test {

class LivePrograms {
  public:
    LivePrograms() = default;
    LivePrograms(const LivePrograms&) = delete;
    LivePrograms& operator=(const LivePrograms&) = delete;
    ~LivePrograms();
    // What is constant can be set before load().
    live_bpf& open();
    void load();
    // In native mode, to an interface of the caller's namespace, until this dies.
    void attach(const bpf_program* program, const std::string& interface);
    live_bpf* operator->() const { return programs_.get(); }

  private:
    struct Destroy {
        void operator()(live_bpf* programs) const { live_bpf::destroy(programs); }
    };
    std::unique_ptr<live_bpf, Destroy> programs_;
    net::Descriptor link_;
};

} // namespace veriroce::bench_test
