// The data sheet tells what a device is: played against the engine, and against lawful oddities
// that differ from it in one known way.
#include "conformance/sheet/measure.hpp"

#include <algorithm>
#include <map>

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

using sheet::DataSheet;
using sheet::Quantity;
using sheet::Series;
using namespace std::chrono_literals;

// The sheet from these of its cases; all if none is named.
DataSheet sheet_of(VirtualTestbedOptions device, const std::vector<std::string>& names = {}) {
    Selection selection;
    selection.slow = true;
    std::vector<ScriptFile> files;
    for (const cases::EmbeddedFile& one : sheet::case_files()) {
        const std::string path(one.path);
        const bool wanted = names.empty() || std::ranges::any_of(names, [&](const auto& name) {
                                return path == "sheet/" + name + ".roce";
                            });
        if (!wanted) continue;
        selection.names.push_back(path);
        files.push_back({path, std::string(one.text)});
    }
    REQUIRE(files.size() == (names.empty() ? sheet::case_files().size() : names.size()));
    const auto plan = make_plan(selection, files);
    if (!plan) FAIL(plan.error().text);
    DataSheet sheet;
    for (const CaseResult& result : play_suite(*plan, selection, std::move(device))) {
        INFO(text_of(result));
        CHECK(result.verdict == Verdict::Pass);
        sheet::measure(sheet, result);
    }
    return sheet;
}

VirtualTestbedOptions oddity(std::string_view name) {
    for (const mutants::Mutant& one : mutants::lawful()) {
        if (one.name == name) return engine_of(one);
    }
    FAIL("no oddity is called " << name);
    return {};
}

std::string kind_of(const DataSheet& sheet, std::string_view name) {
    std::string kinds;
    for (const sheet::Behaviour& one : sheet.behaviours) {
        if (one.name == name) kinds += (kinds.empty() ? "" : " | ") + one.kind;
    }
    return kinds;
}

// The samples of one setting, from the least to the most.
std::vector<std::int64_t> samples_of(const DataSheet& sheet, std::string_view name,
                                     std::string_view label = "") {
    for (const Quantity& one : sheet.quantities) {
        if (one.name != name) continue;
        for (const Series& series : one.series) {
            if (series.label != label) continue;
            auto samples = series.samples;
            std::ranges::sort(samples);
            return samples;
        }
    }
    FAIL(name << " has no setting '" << label << "'");
    return {};
}

std::int64_t median_of(const DataSheet& sheet, std::string_view name, std::string_view label = "") {
    const auto samples = samples_of(sheet, name, label);
    return samples[samples.size() / 2];
}

constexpr std::int64_t us = 1000;

} // namespace

TEST_CASE("sheet: the engine has every quantity and every behaviour", "[sheet]") {
    const DataSheet sheet = sheet_of(right_engine());
    std::map<std::string, std::size_t> settings;
    for (const Quantity& one : sheet.quantities) {
        settings[one.name] = one.series.size();
        for (const Series& series : one.series)
            CHECK_FALSE(series.samples.empty());
    }
    const std::map<std::string, std::size_t> expected{{"ack_delay", 2},
                                                      {"ack_latency", 1},
                                                      {"ack_timer", 22},
                                                      {"cnp_interval", 1},
                                                      {"cnp_latency", 1},
                                                      {"cnp_spacing", 2},
                                                      {"goodput_CMP_AND_SWP", 6},
                                                      {"goodput_FETCH_AND_ADD", 6},
                                                      {"goodput_READ", 6},
                                                      {"goodput_SEND", 6},
                                                      {"goodput_SEND_WITH_IMM", 6},
                                                      {"goodput_WRITE", 6},
                                                      {"goodput_WRITE_WITH_IMM", 6},
                                                      {"implied_nak", 1},
                                                      {"nak_latency", 1},
                                                      {"nak_reaction", 1},
                                                      {"naks_per_gap", 1},
                                                      {"packets_per_ack", 2},
                                                      {"read_gap", 1},
                                                      {"read_latency", 3},
                                                      {"read_whole", 3},
                                                      {"retries", 8},
                                                      {"rnr_retries", 7},
                                                      {"rnr_timer", 32},
                                                      {"sent_after_nak", 1},
                                                      {"sent_after_late_ack", 1},
                                                      {"time_per_ack", 2},
                                                      {"window", 2},
                                                      {"window_after_nak", 1}};
    for (const auto& [name, count] : settings)
        CHECK((name + " " + std::to_string(count)) ==
              name + " " + std::to_string(expected.contains(name) ? expected.at(name) : 0));
    CHECK(settings.size() == expected.size());
    CHECK(kind_of(sheet, "gap_nak") == "gets a NAK");
    CHECK(kind_of(sheet, "gap_packets") == "are discarded (go-back-N)");
    CHECK(kind_of(sheet, "loss_recovery") == "sends all again from the lost packet (go-back-N)");
    CHECK(kind_of(sheet, "timeout_recovery") == "sends all again (go-back-N)");
    CHECK(kind_of(sheet, "implied_nak") == "is asked for again at once (implied NAK)");
    CHECK(kind_of(sheet, "duplicate_read") == "is executed again");
    CHECK(kind_of(sheet, "duplicate_read_part") == "is answered from RDMA_READ_RESPONSE_FIRST on");
    CHECK(kind_of(sheet, "duplicate_write") == "gets the latest ACK again");
    CHECK(kind_of(sheet, "read_msn") == "from its first response on");
    CHECK(kind_of(sheet, "cnp_scope") == "cause CNPs for each of them");
    CHECK(kind_of(sheet, "cnp_scope_addresses") == "cause CNPs for each of them");
    CHECK(kind_of(sheet, "rnr_forever") == "is sent until it is taken");
    CHECK(kind_of(sheet, "cnp_reaction") == "sends as before");
    CHECK(samples_of(sheet, "naks_per_gap") == std::vector<std::int64_t>(32, 1));
    for (std::int64_t n = 0; n < 8; ++n)
        CHECK(median_of(sheet, "retries", "retry_cnt " + std::to_string(n)) == n);
    CHECK(median_of(sheet, "rnr_timer", "code 0") >= 655'360 * us);
    CHECK(median_of(sheet, "nak_latency") == 2 * us); // there and back
}

TEST_CASE("sheet: settings stand in the order of their numbers", "[sheet]") {
    const DataSheet sheet = sheet_of(right_engine());
    std::map<std::string, std::vector<std::string>> labels;
    for (const Quantity& one : sheet.quantities)
        for (const Series& series : one.series)
            labels[one.name].push_back(series.label);
    for (const char* name :
         {"goodput_SEND", "goodput_WRITE_WITH_IMM", "goodput_READ", "goodput_FETCH_AND_ADD"})
        CHECK(labels[name] ==
              std::vector<std::string>{"0 %", "0.2 %", "0.5 %", "1 %", "2 %", "5 %"});
    REQUIRE(labels["ack_timer"].size() == 22);
    for (std::size_t i = 0; i < 22; ++i)
        CHECK(labels["ack_timer"][i] == "code " + std::to_string(i + 1));
}

TEST_CASE("sheet: times that a device adds are measured", "[sheet]") {
    CHECK(median_of(sheet_of(oddity("naks_leave_late"), {"nak-latency"}), "nak_latency") ==
          402 * us);
    const DataSheet reads = sheet_of(oddity("read_responses_late"), {"read-latency"});
    CHECK(median_of(reads, "read_latency", "8B") == 302 * us);
    CHECK(median_of(sheet_of(oddity("responses_twenty_us_apart"), {"read-latency"}), "read_gap",
                    "16KiB") == 20 * us);
    const auto once = median_of(sheet_of(right_engine(), {"rnr-timer"}), "rnr_timer", "code 14");
    CHECK(median_of(sheet_of(oddity("twice_the_rnr_time"), {"rnr-timer"}), "rnr_timer", "code 14") >
          3 * once / 2);
    const auto timer =
        samples_of(sheet_of(oddity("timeout_grows"), {"ack-timer"}), "ack_timer", "code 14");
    CHECK(timer.back() > 3 * timer.front() / 2);
    const DataSheet floor = sheet_of(oddity("ack_timer_with_a_floor"), {"ack-timer"});
    CHECK(median_of(floor, "ack_timer", "code 4") == median_of(floor, "ack_timer", "code 6"));
}

TEST_CASE("sheet: how many packets an ACK acknowledges", "[sheet]") {
    const std::string label = "a WRITE of 64 packets";
    CHECK(median_of(sheet_of(oddity("each_fourth_packet_acknowledged"), {"ack-packets"}),
                    "packets_per_ack", label) == 4);
    CHECK(median_of(sheet_of(oddity("every_packet_acknowledged"), {"ack-packets"}),
                    "packets_per_ack", label) == 1);
    CHECK(median_of(sheet_of(oddity("acks_coalesced_to_the_end"), {"ack-messages"}),
                    "packets_per_ack", "64 WRITEs") == 64);
}

TEST_CASE("sheet: the choices that the standard leaves are told apart", "[sheet]") {
    struct Choice {
        const char* of;
        std::string_view behaviour;
        std::string_view engine;
        std::string_view oddity;
        std::string_view otherwise;
    };
    const std::array choices{
        Choice{"choice-checksums", "udp_checksum_wrong", "gets no answer",
               "wrong_udp_checksum_accepted", "is acknowledged"},
        Choice{"choice-checksums", "udp_checksum_sent", "is 0", "udp_checksum_sent",
               "is filled in"},
        Choice{"choice-duplicate", "duplicate_without_ackreq", "is acknowledged",
               "duplicate_without_ack_request_ignored", "gets no answer"},
        Choice{"choice-larger-mtu", "packet_above_mtu", "gets NAK INVALID_REQUEST",
               "page_fault_at_the_first_touch", "gets an RNR NAK"},
        Choice{"choice-key-alignment", "fault_key_alignment", "gets NAK INVALID_REQUEST",
               "unusual_codes", "gets NAK REMOTE_ACCESS"},
        Choice{"choice-two-faults", "fault_key_length", "gets NAK INVALID_REQUEST", "unusual_codes",
               "gets NAK REMOTE_ACCESS"},
        Choice{"choice-two-faults", "fault_key_psn", "gets NAK PSN_SEQUENCE",
               "writes_wait_for_a_gap_on_four_ports", "gets no answer"},
        Choice{"choice-half-a-write", "half_a_write", "is not written at all",
               "write_range_at_first_up_to_four_packets", "is written as far as it is inside"},
        Choice{"choice-early-retry", "retry_in_rnr_time", "is acknowledged",
               "lb10m_deaf_in_first_half_of_rnr_wait", "gets no answer"},
        Choice{"choice-atomic-payload", "atomic_with_payload", "gets NAK INVALID_REQUEST",
               "stray_payload_dropped", "gets no answer"},
        Choice{"choice-credits", "credit_update", "are not told: its ACKs grant no credits",
               "credits_told_unasked", "are told by another ACK"},
        Choice{"choice-read-and-write", "write_after_read", "shows in the READ's answer",
               "every_rnr_for_write", "does not show in the READ's answer"},
        Choice{"choice-second-nak", "second_nak", "changes nothing", "timer_adapts_and_probes",
               "makes it resend once more"},
    };
    for (const Choice& one : choices) {
        INFO(one.behaviour);
        CHECK(kind_of(sheet_of(right_engine(), {one.of}), one.behaviour) == one.engine);
        CHECK(kind_of(sheet_of(oddity(one.oddity), {one.of}), one.behaviour) == one.otherwise);
    }
}

TEST_CASE("sheet: behaviours have the class that the oddity is made of", "[sheet]") {
    const auto kind = [](std::string_view name, const char* of, std::string_view behaviour) {
        return kind_of(sheet_of(oddity(name), {of}), behaviour);
    };
    CHECK(kind("packets_ahead_kept", "nak-latency", "gap_packets") ==
          "are kept (selective repeat)");
    CHECK(kind("one_packet_after_a_loss", "after-nak", "loss_recovery") ==
          "sends one packet and waits for its answer");
    CHECK(kind("implied_nak_waits_for_the_timer", "implied-nak", "implied_nak") ==
          "is asked for again after the timer");
    CHECK(kind("duplicate_reads_out_of_a_cache", "duplicates", "duplicate_read") ==
          "gets the bytes of the first time");
    CHECK(kind("read_first_with_old_msn", "read-latency", "read_msn") == "with its last response");
    CHECK(kind("marks_cause_no_cnp", "cnp", "cnp_scope") == "cause no CNP");
    CHECK(kind("one_cnp_for_a_port", "cnp", "cnp_scope") == "cause CNPs for one of them");
    CHECK(kind("one_cnp_for_a_port", "cnp-addresses", "cnp_scope_addresses") ==
          "cause CNPs for one of them");
    CHECK(kind("late_cnps_by_address", "cnp", "cnp_scope") == "cause CNPs for one of them");
    CHECK(kind("late_cnps_by_address", "cnp-addresses", "cnp_scope_addresses") ==
          "cause CNPs for each of them");
    CHECK(kind("requests_alone_cause_cnps", "cnp-causes", "cnp_causes") ==
          "a WRITE, a duplicate, a READ request, a packet after a lost one");
    CHECK(kind("loss_draws_cnp_and_late_nak", "cnp-causes", "cnp_causes") ==
          "a WRITE, a duplicate, a READ request, a packet after a lost one, a loss by itself, "
          "an ACK, a READ response");
    CHECK(kind("cnps_lower_the_rate", "cnp-reaction", "cnp_reaction") == "sends more slowly");
    CHECK(kind("partial_read_retry_goes_on_with_middle", "duplicates", "duplicate_read_part") ==
          "is answered from RDMA_READ_RESPONSE_MIDDLE on");
    CHECK(median_of(sheet_of(oddity("four_packets_outstanding"), {"after-timeout"}), "window",
                    "at first") == 4);
}

TEST_CASE("sheet: parts are joined, and a case that is not of the sheet adds nothing", "[sheet]") {
    DataSheet one = sheet_of(right_engine(), {"implied-nak"});
    const DataSheet other = sheet_of(right_engine(), {"implied-nak", "ack-latency"});
    one.merge(other);
    CHECK(samples_of(one, "implied_nak").size() == 2);
    CHECK(samples_of(one, "ack_latency").size() == 64);
    CHECK(one.behaviours == other.behaviours);
    CaseResult result;
    result.id = "rsp/gap-nak";
    DataSheet none;
    sheet::measure(none, result);
    result.id = "sheet/nak-latency"; // skipped: no packets
    sheet::measure(none, result);
    result.packets.resize(2); // and frames that are no packets
    sheet::measure(none, result);
    CHECK(none.empty());
}

} // namespace veriroce::test
