#include "reports/injection_html.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "conformance/interpreter/notation.hpp"
#include "dissector/wire/duration_text.hpp"
#include "dissector/wire/frame.hpp"
#include "reports/decoded_packet.hpp"
#include "reports/html_page.hpp"
#include "reports/json_objects.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using fault::End;
using inject::FaultEvent;
using inject::Result;

json::value time_value(const std::optional<wire::Duration>& time) {
    return time ? json::value(time->count()) : json::value();
}

// The lanes of a ladder: who sends from there.
std::string lane(const Result& result, End end) {
    return text(end == End::A ? "A: " + result.a_name : "B: " + result.b_name);
}

std::string headline(const Result& result) {
    const auto unmet = std::ranges::count(result.verdicts, false, &inject::Verdict::met);
    if (unmet > 0) {
        return fmt::format("{} of {} expectations {} not met", unmet, result.verdicts.size(),
                           unmet == 1 ? "is" : "are");
    }
    if (!result.sweep.empty()) {
        return fmt::format("Goodput without loss and at {} loss rates", result.sweep.size() - 1);
    }
    const std::uint64_t faults = result.bump.recovery().total().faults;
    const auto done = fmt::format("{} packet{} of connections changed by the plan", faults,
                                  faults == 1 ? "" : "s");
    return result.verdicts.empty() ? done : "Every expectation is met; " + done;
}

json::array facts(const Result& result) {
    json::array all;
    const auto add = [&all](std::string_view name, const std::string& value) {
        all.push_back(json::array{name, text(value)});
    };
    add("Interfaces", fmt::format("{} (A) and {} (B)", result.a_name, result.b_name));
    add("Data path", result.path);
    if (!result.plan.empty()) add("Plan", result.plan);
    add("Seed", std::to_string(result.seed));
    add("Took", wire::short_time(result.elapsed));
    for (const End end : {End::A, End::B}) {
        const inject::Traffic& traffic = result.bump.traffic(end);
        const inject::PortCounts& counts = end == End::A ? result.a : result.b;
        add(end == End::A ? "From A" : "From B",
            fmt::format("{} frames, {} of them RoCEv2", traffic.frames + counts.in_kernel,
                        traffic.roce + counts.roce_in_kernel));
    }
    return all;
}

json::array verdicts(const Result& result) {
    json::array all;
    for (const inject::Verdict& one : result.verdicts) {
        all.push_back(
            json::object{{"text", text(one.text)}, {"met", one.met}, {"why", text(one.why)}});
    }
    return all;
}

json::array rules(const Result& result) {
    json::array all;
    const auto& injector = result.bump.injector();
    for (std::size_t i = 0; i < injector.rules().size(); ++i) {
        const inject::Recoveries found = recoveries_of(result.bump.recovery().events(), i);
        json::object rule{
            {"line", injector.rules()[i].line}, {"text", text(injector.rules()[i].text)},
            {"fired", injector.fired(i).fired}, {"selected", injector.fired(i).selected},
            {"followed", found.followed},       {"recovered", found.times.size()},
            {"again", found.retransmitted}};
        if (!found.times.empty()) {
            rule["least"] = found.times.front().count();
            rule["median"] = found.times[found.times.size() / 2].count();
            rule["most"] = found.times.back().count();
        }
        all.push_back(std::move(rule));
    }
    return all;
}

json::array faults(const Result& result) {
    std::unordered_map<std::size_t, std::size_t> ladders; // by event
    for (std::size_t i = 0; i < result.excerpts.size(); ++i) {
        for (const std::size_t event : result.excerpts[i].events)
            ladders.emplace(event, i);
    }
    json::array all;
    const auto& events = result.bump.recovery().events();
    for (std::size_t i = 0; i < std::min(events.size(), kFaultsShown); ++i) {
        const FaultEvent& one = events[i];
        const auto ladder = ladders.find(i);
        all.push_back(json::object{
            {"number", i + 1},
            {"at", (one.at - result.began).count()},
            {"line", result.bump.injector().rules()[one.rule].line},
            {"connection", one.place.connection},
            {"from", lane(result, one.from)},
            {"opcode", wire::opcode_info(one.place.opcode).name},
            {"psn", one.place.psn},
            {"pass", one.pass},
            {"followed", one.followed},
            {"detection", time_value(one.detection)},
            {"sign", name_of(one.sign)},
            {"recovery", time_value(one.recovery)},
            {"again", one.retransmitted},
            {"dip", one.dip ? json::value(*one.dip) : json::value()},
            {"ladder", ladder == ladders.end() ? json::value() : json::value(ladder->second)}});
    }
    return all;
}

std::string side_text(const inject::Connections::Side& side) {
    return side.qpn ? fmt::format("{} QP {:#x}", side.address.text(), side.qpn->value)
                    : side.address.text();
}

json::array connections(const Result& result) {
    json::array all;
    const auto& known = result.bump.connections().known();
    const auto& counters = result.bump.recovery().counters();
    for (std::size_t i = 0; i < std::min(known.size(), kConnectionsShown); ++i) {
        const inject::Counters one = i < counters.size() ? counters[i] : inject::Counters{};
        all.push_back(json::object{{"number", i + 1},
                                   {"a", side_text(known[i].sides[0])},
                                   {"b", side_text(known[i].sides[1])},
                                   {"packets", one.packets},
                                   {"bytes", one.delivered.bytes},
                                   {"messages", one.delivered.messages},
                                   {"again", one.retransmissions},
                                   {"sequence_naks", one.sequence_naks},
                                   {"rnr_naks", one.rnr_naks},
                                   {"fatal_naks", one.fatal_naks},
                                   {"faults", one.faults}});
    }
    return all;
}

// As the data sheet has it (json_objects.hpp), so that its plots draw it.
json::value sheet(const Result& result) {
    if (result.sweep.empty()) return nullptr;
    json::array goodput;
    for (const inject::SweepStep& step : result.sweep) {
        json::array samples;
        for (const double one : step.samples)
            samples.emplace_back(static_cast<std::int64_t>(one));
        goodput.push_back(
            json::object{{"label", step.loss > 0 ? inject::loss_text(step.loss) : "0 %"},
                         {"asked", nullptr},
                         {"samples", std::move(samples)}});
    }
    return json::object{
        {"quantities",
         json::array{json::object{{"name", "goodput"},
                                  {"title", "Delivered RC payload, at each share of lost packets"},
                                  {"unit", "bit/s"},
                                  {"series", std::move(goodput)}}}},
        {"behaviours", json::array{}}};
}

// Rows of what each end signalled: [what, from A, from B].
json::array fabric(const Result& result) {
    json::array rows;
    const inject::Fabric& all = result.bump.fabric();
    const auto add = [&](const std::string& what, auto value) {
        const std::string a = value(all.signals(End::A));
        const std::string b = value(all.signals(End::B));
        if (a != "0" || b != "0") rows.push_back(json::array{what, a, b});
    };
    using Signals = inject::Fabric::Signals;
    for (std::size_t i = 0; i < inject::kClasses; ++i) {
        if (all.signals(End::A).pauses[i].frames + all.signals(End::B).pauses[i].frames == 0) {
            continue;
        }
        const std::string of = fmt::format(" class {}", i);
        add("PFC frames for" + of,
            [i](const Signals& s) { return std::to_string(s.pauses[i].frames); });
        add("time that they stop" + of,
            [i](const Signals& s) { return wire::short_time(s.pauses[i].time); });
        add("packets from the other end in it, of" + of,
            [i](const Signals& s) { return std::to_string(s.pauses[i].packets); });
        add("packets from the other end in it, of other classes",
            [i](const Signals& s) { return std::to_string(s.pauses[i].other_packets); });
    }
    add("packets that came marked CE", [](const Signals& s) { return std::to_string(s.ce); });
    add("packets that the virtual queue marked",
        [](const Signals& s) { return std::to_string(s.marked); });
    add("packets that it could not mark: no ECT bit",
        [](const Signals& s) { return std::to_string(s.not_capable); });
    add("CNPs", [](const Signals& s) { return std::to_string(s.cnps); });
    const auto reaction = [&](End end) {
        std::vector<double> values = all.reactions(end);
        if (values.empty()) return std::string("0");
        std::ranges::sort(values);
        return fmt::format("{:.2f} (of {})", values[values.size() / 2], values.size());
    };
    if (!all.reactions(End::A).empty() || !all.reactions(End::B).empty()) {
        rows.push_back(json::array{"rate of the other end in the 5 ms after a CNP over that before",
                                   reaction(End::A), reaction(End::B)});
    }
    return rows;
}

json::array remarks(const Result& result, const inject::ExcerptPacket& packet) {
    json::array all;
    for (const std::size_t index : packet.rules) {
        const fault::Rule& rule = result.bump.injector().rules()[index];
        all.emplace_back(text(fmt::format("injected: {} (line {})", rule.text, rule.line)));
    }
    if (packet.pass == 0) {
        all.emplace_back("injected: made by the plan, or held and sent now");
    }
    if (packet.skipped > 0) {
        all.emplace_back(fmt::format("before it, {} packets are not shown; inject.pcapng has them",
                                     packet.skipped));
    }
    return all;
}

std::string notation(const inject::ExcerptPacket& packet) {
    // Only the head is kept: zeros stand for the payload, whose length the notation names.
    std::vector<std::byte> whole(packet.length);
    std::ranges::copy(packet.bytes(), whole.begin());
    const auto frame = wire::decode_frame(whole);
    const auto decoded = frame ? wire::decode_packet(frame->transport)
                               : std::unexpected(wire::PacketError::TooShortForBth);
    return (packet.from == End::A ? "> " : "< ") +
           (decoded ? interpreter::packet_text(*decoded, packet.psn) : std::string("damaged"));
}

json::object ladder(const Result& result, const inject::Excerpt& excerpt) {
    json::array packets;
    json::array trees;
    json::array marked;
    const auto& events = result.bump.recovery().events();
    for (const inject::ExcerptPacket& packet : excerpt.packets) {
        const std::int64_t at = (packet.at - result.began).count();
        const std::size_t place = packets.size();
        for (const std::size_t event : excerpt.events) {
            if (packet.rules.empty() || events[event].at != packet.at ||
                events[event].from != packet.from) {
                continue;
            }
            marked.push_back(json::object{{"fault", event + 1}, {"packet", place}});
        }
        trees.push_back(decoded_packet(packet.bytes(), packet.length, place + 1, at));
        packets.push_back(json::object{{"from", lane(result, packet.from)},
                                       {"text", text(notation(packet))},
                                       {"remarks", remarks(result, packet)},
                                       {"on_wire", !packet.lost},
                                       {"bytes", packet.length},
                                       {"timing", json::object{{"latest_ns", at}}}});
    }
    json::array of;
    for (const std::size_t event : excerpt.events)
        of.emplace_back(event + 1);
    return {{"lanes", json::array{lane(result, End::A), lane(result, End::B)}},
            {"faults", std::move(of)},
            {"marked", std::move(marked)},
            {"whole", excerpt.whole},
            {"packets", std::move(packets)},
            {"trees", std::move(trees)}};
}

} // namespace

std::string injection_html(const inject::Result& result) {
    const json::object head{{"headline", text(headline(result))},
                            {"facts", facts(result)},
                            {"verdicts", verdicts(result)},
                            {"rules", rules(result)},
                            {"fault_count", result.bump.recovery().events().size()},
                            {"faults", faults(result)},
                            {"connections", connections(result)},
                            {"fabric", fabric(result)},
                            {"sheet", sheet(result)}};
    json::array ladders;
    for (const inject::Excerpt& one : result.excerpts)
        ladders.push_back(ladder(result, one));
    return html_page(
        {.kind = PageKind::Injection,
         .head = for_element(head),
         .packed = packed(json::serialize(json::object{{"ladders", std::move(ladders)}})),
         .plots = !result.sweep.empty()});
}

} // namespace veriroce::reports
