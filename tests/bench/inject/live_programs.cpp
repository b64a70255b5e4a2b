#include "tests/bench/inject/live_programs.hpp"

#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>

namespace veriroce::bench_test {

LivePrograms::~LivePrograms() {
    // Closing it would detach the program some time later.
    if (link_.valid()) bpf_link_detach(link_.fd());
}

live_bpf& LivePrograms::open() {
    programs_.reset(live_bpf::open());
    if (!programs_) throw Failure("cannot open the programs for the kernel");
    return *programs_;
}

void LivePrograms::load() {
    needed(live_bpf::load(programs_.get()), "loading programs into the kernel");
}

void LivePrograms::attach(const bpf_program* program, const std::string& interface) {
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = XDP_FLAGS_DRV_MODE;
    link_ = net::Descriptor(needed(
        bpf_link_create(bpf_program__fd(program),
                        static_cast<int>(::if_nametoindex(interface.c_str())), BPF_XDP, &options),
        "attaching a program to " + interface));
}

} // namespace veriroce::bench_test
