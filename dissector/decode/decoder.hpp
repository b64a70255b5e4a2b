// Takes a frame apart: link layer, tags and tunnels, IP, UDP, and the transport packet behind UDP
// port 4791 (RoCE v2), a GRH (v1) or an LRH (InfiniBand), with its findings and its ICRC.
//
// Two ways to end early are kept apart: a frame that the capture cut short is `cut`, whatever it
// lacks; a packet that ends inside a header by its own lengths is `malformed`, and has a finding.
#pragma once

#include "dissector/decode/dissection.hpp"

namespace veriroce::decode {

struct Options {
    bool verify_icrc = true;
    // UDP destination ports that carry RoCEv2 as 4791 does. The caller keeps them.
    std::span<const std::uint16_t> also_roce_ports;
    // Whether the fast path may be taken (fast_path.hpp). Nothing but time depends on it.
    bool fast_path = true;
};

// Takes `out.frame` apart, which the caller has filled. `out` holds views into its bytes and is
// good as long as they are.
void dissect_frame(const Options& options, Dissection& out);

// The same of a frame that is described elsewhere.
inline void dissect_frame(const FrameFacts& frame, const Options& options, Dissection& out) {
    out.frame = frame;
    dissect_frame(options, out);
}

} // namespace veriroce::decode
