// Any frame can be printed in every format: one line stays one line, and JSON has no raw control
// character.
#include "dissector/decode/decoder.hpp"
#include "dissector/decode/flow_facts.hpp"
#include "dissector/decode/upper.hpp"
#include "dissector/print/hex_dump.hpp"
#include "dissector/print/json.hpp"
#include "dissector/print/ladder.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/table.hpp"
#include "dissector/print/tree.hpp"

using namespace veriroce;

// Facts of all sorts, without a tracker that would have to be led to them.
static void follow(std::uint8_t bits, decode::Dissection& dissection) {
    static decode::FlowFacts facts;
    facts = {.connection = 1,
             .role = bits % 2 == 0 ? "requester" : "responder",
             .kind = bits % 3 == 0 ? "new" : "late",
             .retransmission = (bits & 4U) != 0,
             .duplicate = (bits & 8U) != 0,
             .again_of = bits,
             .gap = bits % 16U == 0 ? 0xFFFFFFFF : 0,
             .response_to = bits & 16U,
             .latency_ns = -std::int64_t{bits} * 1'000'000'000,
             .acks_first = bits & 32U,
             .acks_last = ~std::uint64_t{0},
             .acks_unseen = bits & 64U};
    if (dissection.layers.size() == decode::Layers::kCapacity) return;
    dissection.flow = &facts;
    dissection.layers.push(decode::LayerKind::Flow,
                           static_cast<std::uint32_t>(dissection.frame.bytes.size()), 0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const print::Columns columns = print::all_columns();
    static decode::Dissection dissection;
    decode::FrameFacts facts;
    facts.bytes = std::as_bytes(std::span(data, size));
    facts.original_length = static_cast<std::uint32_t>(size) + (size > 0 ? data[0] & 1U : 0U);
    facts.number = size;
    decode::dissect_frame(facts, {}, dissection);
    if (decode::begins_message(dissection)) {
        decode::UpperFacts upper;
        upper.protocol = static_cast<decode::Upper>(size % 5);
        if (size % 2 == 0) upper.nvme_queue = decode::NvmeQueue::Io;
        decode::dissect_upper(upper, dissection);
    }
    if (dissection.has_bth && size % 3 != 0) follow(data[size - 1], dissection);

    std::string out;
    print::append_line(out, dissection);
    assert(out.find('\n') == out.size() - 1);
    out.clear();
    if (dissection.has_bth) {
        print::TimeColumn time;
        print::Ladder(size).append(out, dissection, size % 2 == 0, time);
        assert(out.back() == '\n');
        out.clear();
    }
    print::append_fields(out, dissection, columns);
    print::append_csv(out, dissection, columns);
    print::append_tree(out, dissection);
    print::append_hex_dump(out, dissection, size % 2 == 1);
    out.clear();
    print::append_json_packet(out, dissection, columns, "", true);
    for (const char c : out) {
        assert(static_cast<unsigned char>(c) >= 0x20);
    }
    return 0;
}
