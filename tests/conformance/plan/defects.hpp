// Devices that break one rule, for the cases that no planted defect of conformance/mutants
// concerns: the right engine with one of its named checks switched off ("without key-range"), or
// with a filter on its surface that does one thing wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "conformance/mutants/mutants.hpp"
#include "tests/conformance/plan/defect_filters.hpp"
#include "tests/conformance/plan/network_filters.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {

struct SurfaceDefect {
    std::string_view name;
    std::unique_ptr<engine::SurfaceFilter> (*make)();
};
inline constexpr SurfaceDefect surface_defects[] = {
    {"drops what comes from a low port", deaf<low_port>},
    {"drops the last hop", deaf<last_hop>},
    {"drops packets with marks in the BTH", deaf<marked>},
    {"drops packets whose pad is not zero", deaf<padded_with_something>},
    {"drops empty SENDs", deaf<empty_send>},
    {"drops other services", deaf<unreliable>},
    {"drops ATOMIC_WRITE", deaf<atomic_write>},
    {"drops READ responses", deaf<response_again>},
    {"takes every request for solicited", mishears<solicited>},
    {"takes no request for solicited", mishears<never_solicited>},
    {"takes packets to reserved QPNs in", mishears<to_the_first_qp>},
    {"takes every NAK for an ACK", mishears<credits_as_nak>},
    {"swaps compare and swap", mishears<swapped_compare>},
    {"reads one byte where none is written", mishears<hears_too_little>},
    {"hears acknowledges one PSN too low", mishears<one_psn_too_low>},
    {"waits less than an RNR NAK asks for", mishears<hasty>},
    {"takes responses for requests", mishears<response_as_request>},
    {"takes any ACK for the newest request", one<AcknowledgesTheNewest>},
    {"answers in every state", one<AnswersBeforeItsTime>},
    {"sends every request once more", one<SaysItTwice>},
    {"hides flushed work", one<HidesFlushedWork>},
    {"mixes receives up", one<MixesReceivesUp>},
    {"takes the IP length for the packet's", one<Edge<by_ip_length>>},
    {"takes RoCEv1 packets in", one<Edge<of_rocev1>>},
    {"takes any IP checksum", one<Edge<any_ip_checksum>>},
    {"drops packets with a UDP checksum", one<Edge<nothing_with_a_checksum>>},
    {"loses the traffic class", misspeaks<class_lost>},
    {"asks for less time than it was told", misspeaks<impatient_rnr>},
    {"answers another QP", misspeaks<to_another_qp>},
    {"answers to another port", misspeaks<another_port>},
    {"sends no LAST", misspeaks<last_is_middle>},
    {"sends another immediate", misspeaks<other_immediate>},
    {"loses the original value", misspeaks<original_lost>},
    {"loses the Q_Key", misspeaks<qkey_lost>},
    {"counts one message too many", misspeaks<too_many_messages>},
    {"drops packets that met congestion", deaf<met_congestion>},
    {"drops packets with a flow label", deaf<in_a_flow>},
    {"drops tagged frames", one<Edge<nothing_tagged>>},
    {"looks at no EtherType", one<Edge<any_ether_type>>},
    {"takes packets to another address in", one<Edge<hundred_ahead>>},
    {"stays paused", one<StaysPaused>},
    {"sends another P_Key", misspeaks<another_pkey>},
    {"answers from another address", misspeaks<another_source>},
    {"spoils the last byte of what comes in", one<Spoils<true>>},
    {"spoils the last byte of what it sends", one<Spoils<false>>},
    {"sends something else the second time", one<SaysItOtherwise>},
    {"takes requests with PSNs of its own for its own", one<HearsItself>},
    {"tells of every second success alone", one<TellsOfEverySecond>},
};

// --- checks switched off ----------------------------------------------------------------------

inline engine::RequestVerdict any_request(const engine::RequestView& /*view*/) {
    return engine::RequestVerdict::Accept;
}
inline engine::ResponseVerdict any_response(const engine::ResponseView& /*view*/) {
    return engine::ResponseVerdict::Take;
}
template <typename View>
bool anything(const View& /*view*/) {
    return true;
}

using Unchecked = std::vector<std::pair<std::string, engine::Checks>>;

template <typename Check, typename Function>
void add_without(Unchecked& list, std::string_view prefix, std::size_t count, Function function) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto check = static_cast<Check>(i);
        list.emplace_back("without " + std::string(prefix) + std::string(engine::name_of(check)),
                          engine::kStandardChecks.with(check, function));
    }
}

// Some names stand in several lists (state, known-opcode): all but requests have a prefix.
inline Unchecked unchecked_devices() {
    using namespace engine;
    Unchecked list;
    add_without<RequestCheck>(list, "", kRequestRows.size(), any_request);
    add_without<PacketCheck>(list, "packet ", kPacketRows.size(), anything<PacketView>);
    add_without<DuplicateCheck>(list, "duplicate ", kDuplicateRows.size(), anything<RequestView>);
    add_without<DatagramCheck>(list, "datagram ", kDatagramRows.size(), anything<DatagramView>);
    add_without<ResponseCheck>(list, "response ", kResponseRows.size(), any_response);
    add_without<SendCheck>(list, "send ", kSendRows.size(), anything<SendView>);
    return list;
}

// A planted defect by its name: of conformance/mutants, or one of the above.
inline std::optional<VirtualTestbedOptions> defective(std::string_view name) {
    if (const auto mutant = mutants::find(name)) return engine_of(*mutant);
    for (const SurfaceDefect& defect : surface_defects) {
        if (defect.name != name) continue;
        VirtualTestbedOptions device = right_engine();
        device.filter = defect.make;
        return device;
    }
    for (const auto& [unchecked, checks] : unchecked_devices()) {
        if (unchecked != name) continue;
        VirtualTestbedOptions device = right_engine();
        device.checks = checks;
        return device;
    }
    return std::nullopt;
}

} // namespace veriroce::test
