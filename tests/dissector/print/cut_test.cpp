// Every frame of the corpus, cut at every length by the capture: its line says so, whatever it says
// besides, and its tree can be printed.
#include <catch2/catch.hpp>

#include "dissector/decode/decoder.hpp"
#include "dissector/decode/upper.hpp"
#include "dissector/print/line.hpp"
#include "dissector/print/tree.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"
#include "tests/dissector/corpus/upper_corpus.hpp"

using namespace veriroce;
using namespace veriroce::print;

namespace {

constexpr std::string_view kCut = " [cut]\n";

struct Cutter {
    decode::Dissection d;
    decode::UpperFacts upper;
    std::string out;
    std::size_t lines = 0;

    // The line, and the tree if it is asked for; whether both say cut.
    bool says_cut(const std::vector<std::byte>& frame, std::size_t size, std::uint16_t link,
                  bool tree) {
        decode::FrameFacts facts;
        facts.bytes = wire::Bytes(frame).first(size);
        facts.original_length = static_cast<std::uint32_t>(frame.size());
        facts.link_code = link;
        facts.number = ++lines;
        decode::dissect_frame(facts, {.verify_icrc = false, .also_roce_ports = {}}, d);
        if (decode::begins_message(d)) decode::dissect_upper(upper, d);
        out.clear();
        append_line(out, d);
        if (!out.ends_with(kCut) || out.contains("malformed")) return false;
        if (!tree) return true;
        out.clear();
        append_tree(out, d);
        return out.contains("The capture ends here: the frame was truncated\n") &&
               !out.contains("Findings");
    }
};

} // namespace

TEST_CASE("lines: every opcode in every encapsulation, cut at every length, says cut", "[print]") {
    Cutter cutter;
    for (const auto& made : corpus::corpora()) {
        for (const auto& frame : made.frames) {
            const bool tree = frame.opcode == 0x0C || frame.opcode == 0x16;
            for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
                if (cutter.says_cut(frame.bytes, size, made.link_code, tree)) continue;
                FAIL_CHECK(made.name << ", " << frame.carrier << ", opcode " << int{frame.opcode}
                                     << ", cut to " << size << ": " << cutter.out);
            }
        }
    }
    CHECK(cutter.lines > 300'000);
}

TEST_CASE("lines: what comes beside connections, cut at every length, says cut", "[print]") {
    Cutter cutter;
    for (const auto& made : corpus::other_corpora()) {
        for (const auto& frame : made.frames) {
            for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
                if (cutter.says_cut(frame.bytes, size, made.link_code, true)) continue;
                FAIL_CHECK(frame.carrier << " cut to " << size << ": " << cutter.out);
            }
        }
    }
    CHECK(cutter.lines > 8'000);
}

TEST_CASE("lines: every message above the transport, cut at every length, says cut", "[print]") {
    Cutter cutter;
    for (const auto& made : corpus::upper_corpora()) {
        for (const auto& frame : made.frames) {
            if (frame.carrier.contains("short") || frame.carrier.contains("long completion") ||
                frame.carrier.contains("unknown") || frame.carrier.contains("version 2") ||
                frame.carrier.contains("too much") || frame.carrier.contains("without end")) {
                continue; // findings of their own
            }
            cutter.upper = {};
            cutter.upper.protocol = *decode::upper_by_name(made.name);
            cutter.upper.nvme_queue = decode::NvmeQueue::Io;
            for (std::size_t size = 0; size < frame.bytes.size(); ++size) {
                if (cutter.says_cut(frame.bytes, size, made.link_code, true)) continue;
                FAIL_CHECK(frame.carrier << " cut to " << size << ": " << cutter.out);
            }
        }
    }
    CHECK(cutter.lines > 8'000);
}
