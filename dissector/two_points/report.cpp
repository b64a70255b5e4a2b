#include "dissector/two_points/report.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dissector/analyze/json_object.hpp"
#include "dissector/analyze/put.hpp"

namespace veriroce::two_points {
namespace {

using analyze::Object;

using analyze::put;

std::string text_of(double nanoseconds) {
    const double size = std::abs(nanoseconds);
    if (size < 1e3) return fmt::format("{:.0f} ns", nanoseconds);
    if (size < 1e6) return fmt::format("{:.3g} us", nanoseconds / 1e3);
    if (size < 1e9) return fmt::format("{:.4g} ms", nanoseconds / 1e6);
    return fmt::format("{:.9f} s", nanoseconds / 1e9);
}

std::uint64_t gone(const Flow& flow) {
    return flow.count(Fate::Lost) + flow.count(Fate::Damaged);
}

// Indices: those that lost the most first, then those with the most packets.
std::vector<std::size_t> worst_first(const std::vector<Flow>& flows) {
    std::vector<std::size_t> order(flows.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return std::pair(gone(flows[a]), flows[a].packets) >
               std::pair(gone(flows[b]), flows[b].packets);
    });
    return order;
}

std::string title_of(const Flow& flow) {
    return fmt::format("{} -> {} QP 0x{:06x}", flow.path.from.text(), flow.path.to.text(),
                       flow.to_qp.value);
}

void put_clocks(std::string& out, const Clocks& clocks) {
    const double offset = ns(clocks.offset());
    put(out, "Clocks: the second is {} {} the first", text_of(std::abs(offset)),
        offset < 0 ? "behind" : "ahead of");
    if (clocks.both_ways()) {
        put(out, " (give or take {})", text_of(ns(clocks.uncertainty())));
    } else {
        put(out, " if the fastest packet took no time: packets of one way alone were seen");
    }
    put(out, ", and gains {:.1f} us a second; from {} packets\n", clocks.drift() / 1e3,
        clocks.samples());
}

void put_count(std::string& out, std::uint64_t count, std::string_view what) {
    if (count > 0) put(out, ", {} {}", count, what);
}

void put_flow(std::string& out, const Flow& flow) {
    put(out, "\n{}: passes the {} point first\n", title_of(flow),
        flow.nearer == Point::First ? "first" : "second");
    put(out, "    {} packets, {} arrived", flow.packets, flow.arrived);
    put_count(out, flow.count(Fate::Lost), "lost");
    put_count(out, flow.count(Fate::Damaged), "damaged");
    put_count(out, flow.doubled, "doubled");
    put_count(out, flow.overtaken, "overtaken");
    put_count(out, flow.marked, "marked \"congestion experienced\"");
    put_count(out, flow.count(Fate::NotCaptured), "not captured at the far point");
    put_count(out, flow.only_far, "not captured at the near point");
    put_count(out, flow.count(Fate::Undecided), "undecided");
    put_count(out, flow.damaged_before, "damaged before the near point");
    put_count(out, flow.damaged_far, "unknown ones with a wrong ICRC at the far point");
    out += '\n';
    const analyze::Histogram& delay = flow.delay_ns;
    if (delay.count() == 0) return;
    const auto quantile = [&](double part) {
        return text_of(static_cast<double>(delay.quantile(part)));
    };
    put(out, "    one-way delay: least {}, median {}, 99 % {}, most {}\n",
        text_of(static_cast<double>(delay.least())), quantile(0.5), quantile(0.99),
        text_of(static_cast<double>(delay.most())));
}

void put_missing(std::string& out, const Missing& one, const Flow& flow) {
    put(out, "    packet {} ({} PSN {}) to QP 0x{:06x}: {}", one.number,
        wire::opcode_info(one.opcode).name, one.psn.value(), flow.to_qp.value, name_of(one.fate));
    if (one.other != 0 && one.fate == Fate::Damaged) put(out, "; packet {} there", one.other);
    if (one.other != 0 && one.fate == Fate::Lost) put(out, "; sent again as {}", one.other);
    out += '\n';
}

void put_flow_json(std::string& out, const Flow& flow) {
    Object object(out);
    object.text("from", flow.path.from.text());
    object.text("to", flow.path.to.text());
    object.number("to_qp", flow.to_qp.value);
    object.text("near_point", flow.nearer == Point::First ? "first" : "second");
    object.number("packets", flow.packets);
    object.number("arrived", flow.arrived);
    object.number("lost", flow.count(Fate::Lost));
    object.number("damaged", flow.count(Fate::Damaged));
    object.number("not_captured_far", flow.count(Fate::NotCaptured));
    object.number("not_captured_near", flow.only_far);
    object.number("undecided", flow.count(Fate::Undecided));
    object.number("doubled", flow.doubled);
    object.number("overtaken", flow.overtaken);
    object.number("marked", flow.marked);
    object.number("damaged_before", flow.damaged_before);
    object.number("damaged_unknown", flow.damaged_far);
    const analyze::Histogram& delay = flow.delay_ns;
    if (delay.count() == 0) return;
    object.name("delay_ns");
    Object delays(out);
    delays.number("least", delay.least());
    delays.number("median", delay.quantile(0.5));
    delays.number("p99", delay.quantile(0.99));
    delays.number("most", delay.most());
}

void put_missing_json(std::string& out, const Missing& one) {
    Object object(out);
    object.number("flow", one.flow);
    object.text("fate", name_of(one.fate));
    object.text("opcode", wire::opcode_info(one.opcode).name);
    object.number("psn", one.psn.value());
    object.time("time", one.time);
    object.number("packet", one.number);
    object.packet("other_packet", one.other);
}

} // namespace

void append_text(std::string& out, const Clocks& clocks, const Passages& passages,
                 std::size_t top) {
    const auto& flows = passages.flows();
    put(out, "{} packets at the first point, {} at the second, {} flows\n", passages.seen()[0],
        passages.seen()[1], flows.size());
    if (passages.other_packets() > 0) {
        put(out, "{} packets of more flows were not looked at\n", passages.other_packets());
    }
    put_clocks(out, clocks);
    const auto order = worst_first(flows);
    for (std::size_t i = 0; i < std::min(top, order.size()); ++i)
        put_flow(out, flows[order[i]]);
    std::size_t shown = 0;
    for (const Missing& one : passages.missing()) {
        if (one.fate != Fate::Lost && one.fate != Fate::Damaged) continue;
        if (shown == 0) out += "\nThe first that were lost or damaged:\n";
        if (++shown > top) break;
        put_missing(out, one, flows[one.flow]);
    }
}

void append_json(std::string& out, const Clocks& clocks, const Passages& passages) {
    {
        Object object(out);
        object.text("schema", "veriroce/two-points/1");
        object.name("packets");
        put(out, "[{},{}]", passages.seen()[0], passages.seen()[1]);
        object.name("clocks");
        {
            Object members(out);
            members.number("samples", clocks.samples());
            members.flag("both_ways", clocks.both_ways());
            members.duration("offset_ns", clocks.offset());
            members.real("drift_ns_per_s", clocks.drift());
            members.duration("uncertainty_ns", clocks.uncertainty());
        }
        object.name("flows");
        analyze::put_list(out, passages.flows(),
                          [&](const Flow& flow) { put_flow_json(out, flow); });
        object.name("missing");
        analyze::put_list(out, passages.missing(),
                          [&](const Missing& one) { put_missing_json(out, one); });
    }
    out += '\n';
}

} // namespace veriroce::two_points
