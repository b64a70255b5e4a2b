#include "dissector/print/ladder.hpp"

#include <algorithm>

#include "dissector/decode/flow_facts.hpp"
#include "dissector/print/append.hpp"
#include "dissector/print/flow_notes.hpp"
#include "dissector/print/info.hpp"
#include "dissector/print/line.hpp"

namespace veriroce::print {
namespace {

using decode::Dissection;

// Number, time, and the spaces behind them.
constexpr std::size_t kMargin = kNumberWidth + 1 + kTimeWidth + 1;
constexpr std::size_t kLanes = 2;      // columns
constexpr std::size_t kLeastArrow = 4; // an end, two spaces around the text, a head
constexpr std::size_t kLeastText = 8;

void append_right(std::string& out, std::string_view text, std::size_t width) {
    if (text.size() < width) out.append(width - text.size(), ' ');
    out += text;
}

void append_times(std::string& out, std::string_view text, std::size_t times) {
    for (std::size_t i = 0; i < times; ++i)
        out += text;
}

// Of a text without characters beyond ASCII.
std::string_view cut(std::string_view text, std::size_t columns) {
    return text.substr(0, columns);
}

const decode::FlowFacts* facts_of(const Dissection& d) {
    return d.layers.has(decode::LayerKind::Flow) ? d.flow : nullptr;
}

bool sent_again(const Dissection& d) {
    const decode::FlowFacts* facts = facts_of(d);
    return facts != nullptr && (facts->retransmission || facts->duplicate);
}

// "Send Only PSN=4096 [Retransmission of 1] Len=500 AckReq", without characters beyond ASCII. What
// matters most comes first, because a narrow line cuts the rest.
void append_text(std::string& out, const Dissection& d) {
    const wire::OpcodeInfo& info = d.info();
    std::string_view title = info.title;
    for (const std::string_view service : {"RC ", "UC "}) {
        if (title.starts_with(service)) title.remove_prefix(service.size());
    }
    out += title;
    append<" PSN={}">(out, d.packet.bth.psn.value());
    const bool aeth = d.packet.headers.has(wire::Header::Aeth);
    if (aeth) append_syndrome(out, d.packet.aeth.syndrome);
    if (d.icrc.status == decode::IcrcStatus::Bad) out += " [ICRC bad]";
    append_flow_notes(out, d);
    if (aeth) append<" MSN={}">(out, d.packet.aeth.msn.value);
    if (d.packet.headers.has(wire::Header::Reth)) {
        append<" DMALen={}">(out, d.packet.reth.dma_length);
    }
    if (info.carries_payload() && !d.malformed) append<" Len={}">(out, d.payload_bytes());
    if (d.packet.bth.ack_request) out += " AckReq";
    if (d.cut) out += " [cut]";
}

} // namespace

Ladder::Ladder(std::size_t width) : width_(std::max(width, kNarrowest)) {}

void Ladder::append_head(std::string& out, std::string_view left, std::string_view right) const {
    out.append(kMargin, ' ');
    const std::size_t room = width_ - kMargin;
    const std::string_view first = cut(left, room / 2 - 1);
    const std::string_view second = cut(right, room / 2 - 1);
    out += first;
    out.append(room - first.size() - second.size(), ' ');
    out += second;
    out += '\n';
}

// PSNs before the packet that no packet carried.
void Ladder::append_missing(std::string& out, const Dissection& d) const {
    const decode::FlowFacts* facts = facts_of(d);
    const std::uint32_t count = facts == nullptr ? 0 : std::max(facts->gap, facts->response_gap);
    if (count == 0) return;
    Scratch<80> text;
    text.put(" ");
    text.decimal(count);
    text.put(count == 1 ? " PSN missing" : " PSNs missing");
    text.put(facts->gap_damaged ? " or damaged: " : ": ");
    text.decimal((d.packet.bth.psn - count).value());
    if (count > 1) {
        text.put("-");
        text.decimal((d.packet.bth.psn - 1).value());
    }
    text.put(" ");
    const std::size_t between = width_ - kMargin - kLanes;
    const std::string_view words = cut(text.text(), between);
    const std::size_t room = between - words.size();
    out.append(kMargin, ' ');
    out += "│";
    append_times(out, "·", room / 2);
    out += words;
    append_times(out, "·", room - room / 2);
    out += "│\n";
}

void Ladder::append(std::string& out, const Dissection& dissection, bool to_right,
                    TimeColumn& time) {
    append_missing(out, dissection);
    Cell number;
    number.decimal(dissection.frame.number);
    const Cell when = time.text(dissection);
    append_right(out, number.text(), kNumberWidth);
    out += ' ';
    append_right(out, when.text(), kTimeWidth);
    out += ' ';
    const std::size_t margin =
        std::max(number.size(), kNumberWidth) + std::max(when.size(), kTimeWidth) + 2;

    const bool again = sent_again(dissection);
    const std::size_t mark = again ? 2 : 0;
    const std::size_t taken = margin + kLanes + kLeastArrow + mark;
    const std::size_t room = std::max(width_, taken + kLeastText) - taken;
    text_.clear();
    append_text(text_, dissection);
    const bool too_long = text_.size() > room;
    const std::string_view text = cut(text_, too_long ? room - 1 : room);
    const std::string_view stroke = again ? "╌" : "─";
    const bool dropped = dissection.icrc.status == decode::IcrcStatus::Bad;
    const std::size_t fill = too_long ? 0 : room - text.size();

    out += "│";
    if (!to_right) {
        out += dropped ? "✗" : "◀";
        append_times(out, stroke, fill);
    } else {
        out += stroke;
    }
    out += again ? " ↻ " : " ";
    out += text;
    out += too_long ? "… " : " ";
    if (to_right) {
        append_times(out, stroke, fill);
        out += dropped ? "✗" : "▶";
    } else {
        out += stroke;
    }
    out += "│\n";
}

} // namespace veriroce::print
