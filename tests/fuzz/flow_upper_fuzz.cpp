// Any sequence of frames is a capture: what is learned of connections from some never breaks how
// others are taken apart, and no packet repeats or answers a later one. A byte in front of each
// frame is a quarter of its length.
#include <cassert>

#include "dissector/decode/decoder.hpp"
#include "dissector/flow/follower.hpp"
#include "dissector/flow/upper_connections.hpp"

using namespace veriroce;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    flow::DecodeAs told;
    told.ports.push_back({7174, decode::Upper::Iser});
    told.qps.push_back({{0x12}, decode::Upper::Nvme});
    flow::UpperConnections connections(told);
    flow::Follower follower;
    std::uint64_t number = 0;
    static decode::Dissection dissection;
    wire::Bytes rest = std::as_bytes(std::span(data, size));
    while (rest.size() > 1) {
        const std::size_t wanted = std::to_integer<std::size_t>(rest.front()) * 4;
        const std::size_t length = std::min(wanted, rest.size() - 1);
        decode::FrameFacts facts;
        facts.bytes = rest.subspan(1, length);
        facts.original_length = static_cast<std::uint32_t>(wanted);
        facts.number = ++number;
        facts.time_ns = static_cast<std::int64_t>(number * length);
        // Not checked: a wrong ICRC would keep everything from being learned.
        decode::dissect_frame(facts, {.verify_icrc = false, .also_roce_ports = {}}, dissection);
        connections.apply(dissection);
        follower.follow(dissection);
        if (dissection.layers.has(decode::LayerKind::Flow)) {
            assert(dissection.flow->again_of < number && dissection.flow->response_to < number);
            assert(dissection.flow->acks_first <= dissection.flow->acks_last);
            assert(dissection.flow->acks_last < number);
        }
        for (const decode::LayerSpan& layer : dissection.layers)
            assert(layer.offset + layer.length <= length);
        rest = rest.subspan(1 + length);
    }
    assert(connections.ends() <= size);
    return 0;
}
