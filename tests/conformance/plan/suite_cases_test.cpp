// The program's own cases: the right engine passes them all, each finds a planted defect, and no
// lawful oddity fails one.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "conformance/cases/embedded.hpp"
#include "conformance/rules/rules.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"
#include "tests/conformance/plan/defects.hpp"

namespace veriroce::test {
namespace {

using namespace std::chrono_literals;

// A case and a planted defect that it must find. A new case needs a row here.
struct Finding {
    std::string_view case_id;
    std::string_view defect;
};
constexpr Finding findings[] = {
    {"ack/each-kind", "ack_one_psn_ahead"},
    {"ack/each-kind", "read_not_in_its_msn"},
    {"ack/refused-not-counted", "counts one message too many"},
    {"ack/refused-not-counted", "without key-range"},
    {"atm/compare-swap", "loses the original value"},
    {"atm/duplicate", "duplicate_atomic_executed_again"},
    {"atm/fetch-add", "loses the original value"},
    {"atm/lost-answer", "drops READ responses"},
    {"atm/misaligned", "without atomic-alignment"},
    {"atm/other-duplicate", "without expected-psn"},
    {"atm/replay-cache", "duplicate_atomic_executed_again"},
    {"atm/two-qps", "loses the original value"},
    {"bth/answer-header", "answers another QP"},
    {"bth/cut-on-the-way", "takes the IP length for the packet's"},
    {"bth/ignored-bits", "drops packets with marks in the BTH"},
    {"bth/ignored-bits-in-answers", "drops packets with marks in the BTH"},
    {"bth/pad-bytes", "drops packets whose pad is not zero"},
    {"bth/pad-count", "pad_count_zero_in_responses"},
    {"bth/pad-in-first", "drops packets whose pad is not zero"},
    {"bth/pad-too-large", "pad_count_underflows_the_length"},
    {"bth/pad-too-large", "without pad-count"},
    {"bth/partition-key", "without packet pkey"},
    {"bth/partition-key-sent", "sends another P_Key"},
    {"bth/reserved-opcode", "without known-opcode"},
    {"bth/reserved-qpns", "takes packets to reserved QPNs in"},
    {"bth/service-class", "service_class_ignored"},
    {"bth/service-class", "without packet service"},
    {"bth/solicited-error", "hides flushed work"},
    {"bth/solicited-event", "takes every request for solicited"},
    {"bth/solicited-event", "takes no request for solicited"},
    {"bth/transport-version", "tver_not_checked"},
    {"bth/unknown-qp", "unknown_qp_gets_a_nak"},
    {"bth/truncated", "any_icrc_accepted"},
    {"bth/truncated-answer", "any_icrc_accepted"},
    {"cnp/among-requests", "cnp_taken_for_a_request"},
    {"cnp/not-answered", "cnp_taken_for_a_request"},
    {"cnp/not-counted", "any_icrc_accepted"},
    {"crc/bad-icrc-request", "any_icrc_accepted"},
    {"crc/bad-icrc-request", "byte_swapped_icrc_accepted"},
    {"crc/bad-icrc-response", "byte_swapped_icrc_accepted"},
    {"crc/congestion-mark", "drops packets that met congestion"},
    {"crc/covered-fields", "any_icrc_accepted"},
    {"crc/flow-label", "drops packets with a flow label"},
    {"crc/masked-fields", "drops packets with marks in the BTH"},
    {"crc/noise", "any_icrc_accepted"},
    {"crc/noise", "read_gap_overlooked"},
    {"crc/payload", "any_icrc_accepted"},
    {"crc/then-a-gap", "any_icrc_accepted"},
    {"enc/answer-addresses", "answers from another address"},
    {"enc/hop-limit", "drops the last hop"},
    {"enc/ip-checksum", "takes any IP checksum"},
    {"enc/ip-length", "takes the IP length for the packet's"},
    {"enc/ip-version", "looks at no EtherType"},
    {"enc/older-encapsulation", "takes RoCEv1 packets in"},
    {"enc/other-destination", "takes packets to another address in"},
    {"enc/priority-tag", "drops tagged frames"},
    {"enc/short-frame-padding", "icrc_at_the_end_of_the_frame"},
    {"enc/source-address", "without packet source-address"},
    {"enc/source-port", "answers to another port"},
    {"enc/source-port", "drops what comes from a low port"},
    {"enc/traffic-class", "loses the traffic class"},
    {"enc/udp-checksum", "drops packets with a UDP checksum"},
    {"ext/atomic-write", "drops ATOMIC_WRITE"},
    {"ext/atomic-write-misaligned", "without atomic-alignment"},
    {"ext/atomic-write-duplicate", "without expected-psn"},
    {"ext/datagram-sent", "loses the Q_Key"},
    {"ext/queue-key", "service_class_ignored"},
    {"ext/unreliable-gap", "service_class_ignored"},
    {"key/address-wrap", "without key-range"},
    {"key/cq-overflow", "error_state_still_answers"},
    {"key/deregistered", "unknown_key_is_invalid_request"},
    {"key/invalidate-nothing", "without invalidate-key"},
    {"key/missing-right", "without key-rights"},
    {"key/no-atomic-right", "without key-rights"},
    {"key/other-domain", "protection_domain_not_compared"},
    {"key/out-of-range", "access_out_of_range_dropped"},
    {"key/out-of-range", "without key-range"},
    {"key/qp-rights", "without rights"},
    {"key/receive-lkey", "without receive-memory"},
    {"key/scattered", "spoils the last byte of what comes in"},
    {"key/send-with-invalidate", "unknown_key_is_invalid_request"},
    {"key/unknown-rkey", "unknown_key_is_invalid_request"},
    {"key/variant", "without key-variant"},
    {"key/window-invalidated", "unknown_key_is_invalid_request"},
    {"key/window-right", "without key-rights"},
    {"key/window-type-1", "without key-range"},
    {"key/window-type-2", "without key-range"},
    {"len/first", "short_middle_accepted"},
    {"len/first", "without payload-length"},
    {"len/gathered", "spoils the last byte of what it sends"},
    {"len/last", "without payload-length"},
    {"len/message-length", "without message-length"},
    {"len/message-length-last", "without message-length"},
    {"len/middle", "short_middle_accepted"},
    {"len/middle", "without payload-length"},
    {"len/only", "without payload-length"},
    {"len/only-good", "drops empty SENDs"},
    {"len/receive-too-small", "without receive-room"},
    {"len/segments", "sends no LAST"},
    {"len/zero-length-read", "zero_read_moves_no_psn"},
    {"len/zero-length-write", "reads one byte where none is written"},
    {"n/completion-order", "drops READ responses"},
    {"n/extra-responses", "drops READ responses"},
    {"n/gap-then-no-receive", "gap_dropped_in_silence"},
    {"n/gap-then-no-receive", "without receive-ready"},
    {"n/last-byte", "pad_count_zero_in_responses"},
    {"n/nak-inside-a-read", "drops READ responses"},
    {"n/receives-in-order", "mixes receives up"},
    {"n/reply-in-time", "timeout_half_as_long"},
    {"n/two-counters", "rnr_uses_up_retry_cnt"},
    {"n/vlan-both-ways", "drops tagged frames"},
    {"n/vlan-membership", "without packet vlan"},
    {"opc/inside-a-send", "first_inside_a_message_restarts"},
    {"opc/inside-a-send", "without opcode-sequence"},
    {"opc/inside-a-write", "first_inside_a_message_restarts"},
    {"opc/inside-a-write", "without opcode-sequence"},
    {"opc/matrix", "first_inside_a_message_restarts"},
    {"opc/matrix", "orphan_last_taken_for_only"},
    {"opc/matrix", "without opcode-sequence"},
    {"opc/unasked-response", "takes responses for requests"},
    {"opc/without-first", "orphan_last_taken_for_only"},
    {"opc/without-first", "without opcode-sequence"},
    {"rdr/duplicate", "without expected-psn"},
    {"rdr/msn", "full_last_followed_by_empty_last"},
    {"rdr/msn", "read_not_in_its_msn"},
    {"rdr/not-a-part", "without duplicate within-read"},
    {"rdr/order", "read_not_in_its_msn"},
    {"rdr/response-opcodes", "full_last_followed_by_empty_last"},
    {"rdr/tail", "read_tail_answered_from_the_start"},
    {"req/ack-for-a-read", "drops READ responses"},
    {"req/ack-inside-a-message", "hears acknowledges one PSN too low"},
    {"req/all-signaled", "tells of every second success alone"},
    {"req/both-ways", "takes requests with PSNs of its own for its own"},
    {"req/coalesced-ack", "hears acknowledges one PSN too low"},
    {"req/fence", "without send fence"},
    {"req/future-ack", "takes any ACK for the newest request"},
    {"req/implied-nak", "ack_completes_an_unanswered_read"},
    {"req/inline", "sends something else the second time"},
    {"req/invalidate-again", "sends something else the second time"},
    {"req/lost-read-response", "read_gap_overlooked"},
    {"req/nak-invalid-request", "takes every NAK for an ACK"},
    {"req/nak-outside", "takes any ACK for the newest request"},
    {"req/nak-remote-access", "takes every NAK for an ACK"},
    {"req/nak-remote-operational", "takes every NAK for an ACK"},
    {"req/old-ack", "takes any ACK for the newest request"},
    {"req/outstanding-reads", "without send rd-atomic"},
    {"req/psns-of-a-read", "drops READ responses"},
    {"req/read-acknowledges", "drops READ responses"},
    {"req/read-overtaken", "ack_completes_an_unanswered_read"},
    {"req/read-scattered", "read_gap_overlooked"},
    {"req/read-scattered", "spoils the last byte of what comes in"},
    {"req/repeated-answers", "spoils the last byte of what comes in"},
    {"req/reserved-nak", "takes every NAK for an ACK"},
    {"req/same-bytes", "sends another immediate"},
    {"req/sequence-nak", "nak_resends_from_the_next"},
    {"req/seven-is-seven", "gives_up_with_wrong_status"},
    {"req/seven-is-seven", "without send retry-left"},
    {"req/unsignaled", "hears acknowledges one PSN too low"},
    {"rnr/ack-timer", "waits less than an RNR NAK asks for"},
    {"rnr/acknowledges-earlier", "hears acknowledges one PSN too low"},
    {"rnr/for-ever", "rnr_uses_up_retry_cnt"},
    {"rnr/no-receive", "rnr_nak_names_the_next_psn"},
    {"rnr/no-receive", "without receive-ready"},
    {"rnr/no-receive-needed", "answers another QP"},
    {"rnr/no-receive-needed", "read_not_in_its_msn"},
    {"rnr/pipeline", "without one-nak"},
    {"rnr/progress", "hears acknowledges one PSN too low"},
    {"rnr/read", "drops READ responses"},
    {"rnr/requester-waits", "rnr_code_zero_is_no_wait"},
    {"rnr/requester-waits", "waits less than an RNR NAK asks for"},
    {"rnr/retry-exceeded", "without send rnr-retry-left"},
    {"rnr/shared-queue", "without receive-ready"},
    {"rnr/timer-code", "asks for less time than it was told"},
    {"rnr/write-with-immediate", "rnr_nak_names_the_next_psn"},
    {"rnr/write-with-immediate", "without receive-ready"},
    {"rob/other-frames", "stays paused"},
    {"rob/paused", "stays paused"},
    {"rsp/duplicate-in-a-message", "without expected-psn"},
    {"rsp/duplicate-send", "duplicate_never_acknowledged"},
    {"rsp/duplicate-send", "duplicate_send_executed_again"},
    {"rsp/duplicate-while-waiting", "duplicate_never_acknowledged"},
    {"rsp/duplicate-write", "duplicate_never_acknowledged"},
    {"rsp/duplicate-write-imm", "duplicate_never_acknowledged"},
    {"rsp/far-behind", "without expected-psn"},
    {"rsp/fault-ahead", "nak_for_every_packet_ahead"},
    {"rsp/fault-ahead", "without one-nak"},
    {"rsp/fault-in-duplicate", "without expected-psn"},
    {"rsp/gap-nak", "nak_for_every_packet_ahead"},
    {"rsp/gap-nak", "nak_names_the_arrived_psn"},
    {"rsp/ghosts", "without expected-psn"},
    {"rsp/lost-again", "nak_for_every_packet_ahead"},
    {"rsp/lost-twice", "without expected-psn"},
    {"rsp/psn-wrap", "read_psns_not_wrapped"},
    {"rsp/psn-wrap-nak", "psn_compared_without_wrap"},
    {"rsp/reordered", "gap_dropped_in_silence"},
    {"rsp/reordered", "nak_names_the_arrived_psn"},
    {"rsp/second-gap", "nak_state_never_cleared"},
    {"rsp/twice-on-the-way", "duplicate_send_executed_again"},
    {"rsp/wide-gaps", "nak_names_the_arrived_psn"},
    {"sta/drained", "hears acknowledges one PSN too low"},
    {"sta/error-is-silent", "error_state_still_answers"},
    {"sta/error-is-silent", "without state"},
    {"sta/fatal-nak", "error_state_still_answers"},
    {"sta/fatal-nak", "fatal_nak_leaves_the_qp_alive"},
    {"sta/init", "answers in every state"},
    {"sta/local-error", "hides flushed work"},
    {"sta/ready-to-receive", "read_not_in_its_msn"},
    {"sta/reset", "answers in every state"},
    {"sta/reset-forgets", "counts one message too many"},
    {"sta/reset-forgets", "nak_names_the_arrived_psn"},
    {"sta/send-queue-drain", "mixes receives up"},
    {"sta/send-queue-flushed", "hides flushed work"},
    {"tmo/dead-peer", "one_transmission_too_few"},
    {"tmo/interval", "timeout_half_as_long"},
    {"tmo/never", "sends every request once more"},
    {"tmo/oldest-first", "hears acknowledges one PSN too low"},
    {"tmo/progress", "timeout_half_as_long"},
    {"tmo/retry-exceeded", "gives_up_with_wrong_status"},
    {"tmo/retry-exceeded", "one_transmission_too_few"},
    {"tmo/retry-exceeded", "one_transmission_too_many"},
};

// What they are about does not pass the surface on which defects are planted: verbs, events, and
// memory that the engine has no pointer to.
constexpr std::string_view unproven[] = {
    "enc/fragments",  // level INFO: it never fails
    "enc/ip-options", // the same
    "n/shared-queue-limit", "req/response-too-long", "sta/refused-transitions",
};

bool is_unproven(std::string_view id) {
    return std::ranges::find(unproven, id.substr(0, id.find('['))) != std::end(unproven);
}

// By its level: a SHOULD that is broken is a WARN.
bool condemned(const CaseResult& result) {
    return result.verdict == Verdict::Fail ||
           (result.level == rules::Level::Should && result.verdict == Verdict::Warn);
}

// As real ones are: nobody knows what passed the device's port when.
constexpr InexactLab real_lab{
    .stamp_width = 50us, .path_delay = 200us, .call_delay = 300us, .jitter = 100us};

// Whether any run of the case fails, by itself: without the sanity exchange behind it.
bool finds(const Finding& finding, std::string& told, InexactLab lab = {}) {
    auto device = defective(finding.defect);
    REQUIRE(device.has_value());
    device->lab = lab;
    const Plan plan = plan_of(over_both({std::string(finding.case_id)}));
    VirtualTestbed testbed(std::move(*device));
    bool failed = false;
    for (const PlannedRun& run : plan.runs) {
        const CaseResult result =
            testbed.play(plan.cases[run.case_index], run.run, testbed.environment(run.network()));
        told += text_of(result) + "\n";
        failed = failed || condemned(result);
    }
    return failed;
}

std::vector<wire::Psn> psns_of(const CaseResult& result) {
    std::vector<wire::Psn> psns;
    for (const RecordedPacket& packet : result.packets) {
        auto frame = wire::decode_frame(packet.frame);
        REQUIRE(frame.has_value());
        wire::map_transport(*frame);
        const auto decoded = wire::decode_packet(frame->transport);
        REQUIRE(decoded.has_value());
        psns.push_back(decoded->bth.psn);
    }
    return psns;
}

} // namespace

TEST_CASE("suite: the built-in engine passes every case over IPv4 and IPv6", "[suite]") {
    const auto results = play_suite(over_both(), right_engine());
    REQUIRE(results.size() >= 2 * cases::embedded_files().size());
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        CHECK(result.reason().empty());
        const bool verbs_only = result.id.starts_with("sta/refused-transitions") ||
                                result.id.starts_with("bth/solicited-error") ||
                                result.id.starts_with("sta/local-error");
        CHECK(result.packets.empty() == verbs_only);
        CHECK(result.tolerated_retransmissions == 0);
    }
}

// What a call does is then on the wire long before its answer is there, and packets come while the
// case waits for the answer to a question.
TEST_CASE("suite: the time that the agent takes to answer changes no verdict", "[suite]") {
    for (const wire::Duration delay : {30us, 300us, 1000us, 2000us, 6000us}) {
        VirtualTestbedOptions device = right_engine();
        device.lab.call_delay = delay;
        for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
            INFO("answers take " << 2 * delay.count() << " ns\n" << text_of(result));
            CHECK(result.verdict == Verdict::Pass);
        }
    }
}

// Acknowledgements then come late, and what the DUT sends crosses what we send.
TEST_CASE("suite: long ways to the device change no verdict", "[suite]") {
    for (const wire::Duration delay : {20us, 300us, 2000us}) {
        VirtualTestbedOptions device = right_engine();
        device.lab.path_delay = delay;
        device.lab.call_delay = 150us;
        device.lab.stamp_width = delay / 4;
        device.lab.jitter = delay;
        for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
            INFO("one way takes " << delay.count() << " ns\n" << text_of(result));
            CHECK(result.verdict == Verdict::Pass);
        }
    }
}

TEST_CASE("suite: every case fails on a planted defect", "[suite][mutants]") {
    for (const Finding& finding : findings) {
        std::string told;
        const bool found = finds(finding, told);
        INFO("case " << finding.case_id << ", defect " << finding.defect << "\n" << told);
        CHECK(found);
    }
}

// What only the judge sees may need to know what passed the device's port when.
TEST_CASE("suite: a slow lab hides no planted defect", "[suite][mutants]") {
    for (const Finding& finding : findings) {
        std::string told;
        const bool found = finds(finding, told, real_lab);
        INFO("case " << finding.case_id << ", defect " << finding.defect << "\n" << told);
        const bool judge_alone =
            finding.case_id == "rsp/reordered" && finding.defect == "gap_dropped_in_silence";
        CHECK(found != judge_alone);
    }
}

TEST_CASE("suite: silence on a reserved opcode is lawful, and a WARN", "[suite][BTH-06]") {
    VirtualTestbedOptions silent = right_engine();
    silent.engine.behaviour.reserved_opcode = engine::ReservedOpcode::Silent;
    const auto results = play_suite(over_both({"bth/reserved-opcode"}), std::move(silent));
    CHECK(results.size() == 14);
    for (const CaseResult& result : results) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Warn);
    }
}

// Hidden: verdicts in labs as slow as they come. Nothing but PASS, or ERROR where time is judged.
TEST_CASE("survey: slow labs", "[.survey]") {
    std::mt19937_64 random(1);
    const auto up_to = [&](double most_us) { // small ones as often as large ones
        const double power = std::uniform_real_distribution(0.0, std::log(most_us))(random);
        return wire::Duration(static_cast<std::int64_t>(1000 * std::exp(power)));
    };
    for (int round = 0; round < 400; ++round) {
        VirtualTestbedOptions device = right_engine();
        device.lab.path_delay = up_to(5'000);
        device.lab.call_delay = up_to(20'000);
        device.lab.stamp_width = std::min(up_to(1'000), *device.lab.path_delay);
        device.lab.jitter = up_to(5'000);
        device.lab.lateness = up_to(5'000);
        device.seed = static_cast<std::uint64_t>(round);
        INFO("path " << device.lab.path_delay->count() << " ns, calls "
                     << device.lab.call_delay.count() << " ns, stamps "
                     << device.lab.stamp_width.count() << " ns, jitter "
                     << device.lab.jitter.count() << " ns, late " << device.lab.lateness.count()
                     << " ns");
        for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
            if (result.verdict == Verdict::Pass || result.verdict == Verdict::Error) continue;
            FAIL_CHECK(text_of(result));
        }
    }
}

// Hidden: which defects each case finds, for whoever writes a row of `findings`.
TEST_CASE("survey: what each case finds", "[.survey]") {
    std::vector<std::string> names;
    for (const mutants::Mutant& one : mutants::all())
        names.emplace_back(one.name);
    for (const SurfaceDefect& one : surface_defects)
        names.emplace_back(one.name);
    for (const auto& [name, checks] : unchecked_devices())
        names.push_back(name);
    Selection selection;
    selection.slow = true;
    const Plan plan = plan_of(selection);
    std::map<std::string, std::set<std::string>> found;
    for (const std::string& name : names) {
        VirtualTestbed testbed(*defective(name));
        for (const PlannedRun& run : plan.runs) {
            const script::Case& one = plan.cases[run.case_index];
            if (found[one.id()].contains(name)) continue;
            const CaseResult result =
                testbed.play(one, run.run, testbed.environment(run.network()));
            if (condemned(result)) found[one.id()].insert(name);
        }
    }
    for (const auto& [id, defects] : found) {
        std::cout << id << ":";
        for (const std::string& name : defects)
            std::cout << ' ' << name << ';';
        std::cout << '\n';
    }
    CHECK(found.size() == plan.cases.size());
}

TEST_CASE("suite: no case lacks a defect that it must find", "[suite][mutants]") {
    std::set<std::string, std::less<>> known;
    for (const cases::EmbeddedFile& file : cases::embedded_files()) {
        const std::string id(file.id());
        known.insert(id);
        INFO("a row of `findings` is missing for " << id);
        CHECK(is_unproven(id) !=
              std::ranges::any_of(findings, [&](const auto& row) { return row.case_id == id; }));
    }
    for (const Finding& finding : findings) {
        INFO("case " << finding.case_id << ", defect " << finding.defect);
        CHECK(known.contains(finding.case_id));
        CHECK(defective(finding.defect).has_value());
    }
}

TEST_CASE("suite: no case fails on a lawful oddity", "[suite][mutants]") {
    REQUIRE_FALSE(mutants::lawful().empty());
    for (const mutants::Mutant& oddity : mutants::lawful()) {
        for (const InexactLab& lab : {InexactLab{}, real_lab}) {
            VirtualTestbedOptions device = engine_of(oddity);
            device.lab = lab;
            for (const CaseResult& result : play_suite(over_both(), std::move(device))) {
                INFO("device " << oddity.name << ": " << oddity.description
                               << (lab.path_delay ? ", slow lab\n" : "\n") << text_of(result));
                CHECK(result.verdict != Verdict::Fail);
                CHECK(result.verdict != Verdict::Error);
            }
        }
    }
}

// The rules that no case names stand in the README of the cases, each under its reason.
TEST_CASE("suite: the README lists the rules without a case", "[suite]") {
    std::set<std::string, std::less<>> covered;
    for (const script::Case& one : plan_of(over_both()).cases) {
        for (const script::Word& rule : one.rules)
            covered.insert(rule.text);
    }
    std::ifstream file(std::string(VERIROCE_SOURCE_DIR) + "/conformance/cases/README.md");
    REQUIRE(file.good());
    std::set<std::string, std::less<>> listed;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("## ")) inside = line == "## Rules without a case";
        std::istringstream words(line);
        for (std::string word; inside && words >> word;) {
            if (rules::catalogue().contains(word)) listed.insert(word);
        }
    }
    for (const rules::Rule& rule : rules::catalogue().rules()) {
        // Statements of the annex are covered by the rules that are made of them.
        if (rule.id.starts_with("CA17-")) continue;
        INFO(rule.id);
        CHECK(covered.contains(rule.id) != listed.contains(rule.id));
    }
}

TEST_CASE("suite: a seed gives the same packets and times again", "[suite]") {
    const auto first = play_suite(over_both(), right_engine(7), 7);
    const auto second = play_suite(over_both(), right_engine(7), 7);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        INFO(first[i].id);
        CHECK(first[i].id == second[i].id);
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        for (std::size_t j = 0; j < first[i].packets.size(); ++j) {
            const RecordedPacket& one = first[i].packets[j];
            const RecordedPacket& other = second[i].packets[j];
            INFO(j << ": " << one.script);
            CHECK(one.from == other.from);
            CHECK(one.frame == other.frame);
            CHECK(one.script == other.script);
            CHECK(one.at.earliest == other.at.earliest);
            CHECK(one.at.latest == other.at.latest);
        }
    }
}

TEST_CASE("suite: another seed gives other PSNs and the same dialogue", "[suite]") {
    const auto first = play_suite(over_both({"rsp/gap-nak"}), right_engine(1), 1);
    const auto second = play_suite(over_both({"rsp/gap-nak"}), right_engine(2), 2);
    REQUIRE(first.size() == second.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        REQUIRE(first[i].packets.size() == second[i].packets.size());
        CHECK(psns_of(first[i]) != psns_of(second[i]));
        for (std::size_t j = 0; j < first[i].packets.size(); ++j)
            CHECK(first[i].packets[j].script == second[i].packets[j].script);
    }
}

TEST_CASE("suite: results name case, rules, file and the command that runs them again", "[suite]") {
    const Selection selection = over_both({"tmo/retry-exceeded"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(right_engine(5));
    SuiteRun run(testbed, plan, selection, {.seed = 5, .command = " -i eth1"});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->id == "tmo/retry-exceeded[ip=4,n=0]");
    CHECK(result->rules == std::vector<std::string>{"TMO-03"});
    CHECK(result->file == "tmo/retry-exceeded.roce");
    CHECK(result->command == "veriroce test tmo/retry-exceeded -i eth1 --over ip=4 --seed 5");
    CHECK(run.done() == 1);
}

TEST_CASE("suite: fail-fast ends behind the first FAIL", "[suite]") {
    const Selection selection = over_both({"bth/transport-version"});
    const Plan plan = plan_of(selection);
    VirtualTestbed testbed(engine_of(mutants::find("tver_not_checked")->get()));
    SuiteRun run(testbed, plan, selection, {.fail_fast = true});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->verdict == Verdict::Fail);
    CHECK_FALSE(run.next().has_value());
    CHECK(run.done() == 1);
}

} // namespace veriroce::test
