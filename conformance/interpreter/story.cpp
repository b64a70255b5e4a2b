#include "conformance/interpreter/story.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/record.hpp"

namespace veriroce::interpreter {
namespace {

// At one instant the device first takes what comes, then carries out what its application asks for,
// call by call, and then sends.
enum class Turn : std::uint8_t { Arrival, Call, Departure };

struct Placed {
    wire::Instant at; // at the device, if it is known; else all are equal
    Turn turn = Turn::Arrival;
    std::size_t place = 0; // in the order of the tester
    model::Step step;

    [[nodiscard]] auto by_device() const { return std::tuple(at, turn, place); }
};

model::Setting setting_of(const Environment& environment) {
    return {.dut = environment.dut,
            .gid_index = environment.gid_index,
            .dut_address = environment.dut_address,
            .dut_mac = environment.dut_mac,
            .tester_mac = environment.tester.mac,
            .vlan = environment.vlan,
            .exact = environment.path_delay.has_value(),
            .line_rate = environment.line_rate,
            .answer_time = environment.settle,
            .ack_timer_floor = environment.ack_timer_floor,
            .lowest_qpn = kLowestTesterQpn,
            .first_qpn = environment.first_tester_qpn};
}

} // namespace

model::Story story_of(const Environment& environment, const Record& record, CallLog log,
                      wire::Instant end) {
    using Kind = model::Step::Kind;
    model::Story story{.setting = setting_of(environment), .end = end};
    const wire::Duration delay = environment.path_delay.value_or(wire::Duration(0));
    const bool exact = environment.path_delay.has_value();
    std::vector<Placed> placed;
    const auto place = [&](wire::Instant at, Turn turn, model::Step step) {
        placed.push_back({exact ? at : wire::Instant{}, turn, placed.size(), step});
    };
    std::vector<CallLog::Logged>& calls = log.calls();
    // There is one call at a time, so they are in order.
    std::size_t next = 0; // of what the log says: each call when asked and when answered
    const auto calls_before = [&](std::size_t packet) {
        for (; next < 2 * calls.size(); ++next) {
            const CallLog::Logged& logged = calls[next / 2];
            const bool asks = next % 2 == 0;
            if ((asks ? logged.next_when_asked : logged.next_when_answered) > packet) return;
            if (asks)
                place(logged.call.asked, Turn::Call, {Kind::Asked, next / 2});
            else if (logged.call.answer)
                place(logged.call.answered, Turn::Call, {Kind::Answered, next / 2});
        }
    };
    for (std::size_t i = 0; i < record.size(); ++i) {
        calls_before(i);
        const Entry& entry = record[i];
        if (!entry.on_wire) continue; // what fault rules took away, or made of the device's packets
        const bool of_dut = entry.from == Side::Dut;
        place(entry.at.latest + (of_dut ? -delay : delay), of_dut ? Turn::Departure : Turn::Arrival,
              {Kind::Packet, story.packets.size()});
        story.packets.push_back({.from = entry.from,
                                 .number = i,
                                 .bytes = entry.bytes,
                                 .frame = entry.frame,
                                 .packet = entry.packet,
                                 .refusal = entry.refusal,
                                 .at = entry.at});
    }
    calls_before(record.size());
    if (exact) std::ranges::sort(placed, {}, &Placed::by_device);
    for (const Placed& one : placed)
        story.steps.push_back(one.step);
    for (CallLog::Logged& logged : calls)
        story.calls.push_back(std::move(logged.call));
    return story;
}

bool HostLook::still_holds(const Record& record, const CallLog& log, wire::Instant now) const {
    const auto answered = [](const model::Call& call) { return call.answer.has_value(); };
    // What a case gives back at its end says nothing of what it did.
    const auto gives_back = [](const CallLog::Logged& one) {
        return std::holds_alternative<dut::Reset>(one.call.request);
    };
    const auto calls = std::span(log.calls());
    return packets == record.size() && story.end == now &&
           std::ranges::all_of(story.calls, answered) &&
           std::ranges::all_of(calls.subspan(story.calls.size()), gives_back);
}

namespace {

// Whether a wire or a switch can change the field, and the ICRC is still right or cannot be summed.
bool outside_icrc(std::string_view field) {
    constexpr std::array<std::string_view, 6> others{"vlan.id",      "udp.length", "resv6",
                                                     "udp.checksum", "fecn",       "becn"};
    const bool address = field == "ip.src" || field == "ip.dst";
    return field.starts_with("eth.") || (field.starts_with("ip.") && !address) ||
           std::ranges::find(others, field) != others.end();
}

} // namespace

Violation violation_of(const model::Deviation& deviation, const model::Setting& setting) {
    const bool on_the_way = !setting.exact && outside_icrc(deviation.field);
    return {.rule = deviation.rule,
            .level = deviation.level,
            .certain = deviation.kind != rules::FindingClass::Absence || setting.exact,
            .packets = deviation.packets,
            .measured = deviation.measured,
            .allowed = deviation.allowed,
            .of_class = on_the_way ? rules::FindingClass::Absence : deviation.kind};
}

} // namespace veriroce::interpreter
