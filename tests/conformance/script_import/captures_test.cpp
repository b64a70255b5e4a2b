// Every committed capture becomes scripts, and every script passes against the built-in engine,
// also with every lawful oddity; and against planted defects the scripts fail.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "tests/conformance/script_import/imported.hpp"
#include "tests/part_of.hpp"

namespace veriroce::script_import::test {
namespace {

// What a capture gives, and why it gives no more.
struct Row {
    std::string_view capture;
    std::size_t connections = 1; // of RC
    std::size_t scripts = 0;     // of both directions, both parts of the tester
    std::string_view why;        // of a direction without a script
};

constexpr std::string_view one_way = "sends no requests on the connection";

const std::vector<Row> rows{
    {"rxe-atomic", 2, 4, one_way},
    {"rxe-cm-reject", 0, 0, "no RC connection: CM messages only"},
    {"rxe-lengths", 1, 2, one_way},
    {"rxe-mtu2048", 1, 4, ""},
    {"rxe-mtu4096-read-send", 1, 2, one_way},
    {"rxe-nak-access-atomic", 1, 2, one_way},
    {"rxe-nak-access-read", 1, 2, one_way},
    {"rxe-nak-access-write", 1, 2, one_way},
    {"rxe-nak-qp-access", 1, 2, one_way},
    {"rxe-psn-wrap", 1, 4, ""},
    {"rxe-rc-pingpong", 1, 4, ""},
    {"rxe-rc-pingpong-linklocal", 1, 4, ""},
    {"rxe-retry-exceeded", 1, 2, one_way},
    {"rxe-rnr-nak", 1, 2, one_way},
    {"rxe-rping-cm", 1, 4, ""},
    {"rxe-rping-cm-v6", 1, 4, ""},
    {"rxe-send-imm", 1, 2, one_way},
    {"rxe-tc-dscp", 1, 2, one_way},
    {"rxe-uc-pingpong", 0, 0, "no RC connection: UC only"},
    {"rxe-ud-verbs", 0, 0, "no RC connection: UD only"},
    {"rxe-vlan", 2, 6, one_way},
    {"rxe-write-corrupt", 1, 2, one_way},
    {"rxe-write-loss", 1, 2, one_way},
    {"userspace-peer-rc", 1, 4, ""},
};

struct Made {
    std::string name;
    std::string script;
    std::uint64_t requests = 0; // packets of the asking end
    bool tester_asks = true;
};

// All scripts of a capture; of the errors the last.
std::vector<Made> scripts_of(std::string_view capture, std::size_t& connections,
                             std::string& error) {
    const auto frames = flow::test::frames_of(flow::test::pcap(capture));
    std::vector<Made> scripts;
    for (const Found& found : connections_in(frames)) {
        if (found.service != wire::Service::Rc) continue;
        ++connections;
        const Conversation conversation = conversation_in(frames, found);
        for (const FoundEnd& end : found.ends) {
            for (const Part part : {Part::Requester, Part::Responder}) {
                Choice choice{.tester = part, .asking = end.address};
                choice.source = capture;
                const auto script = script_of(conversation, choice);
                if (!script) {
                    error = script.error();
                    continue;
                }
                scripts.push_back({.name = fmt::format(
                                       "{} from {}, the tester is {}", capture, end.address.text(),
                                       part == Part::Requester ? "requester" : "responder"),
                                   .script = *script,
                                   .requests = end.requests,
                                   .tester_asks = part == Part::Requester});
            }
        }
    }
    return scripts;
}

std::vector<Made> scripts_of(std::string_view capture) {
    std::size_t connections = 0;
    std::string error;
    return scripts_of(capture, connections, error);
}

std::size_t lost_in(const std::string& script) {
    constexpr std::string_view head = "# left out: ";
    constexpr std::string_view tail = " requests that were lost";
    const std::size_t at = script.find(tail);
    if (at == std::string::npos) return 0;
    const std::size_t begin = script.rfind(head, at) + head.size();
    return std::stoul(script.substr(begin, at - begin));
}

// REQ-02: a DUT may hold back requests that the recorded device had open: the script then says
// nothing of it.
bool holds_requests_back(const interpreter::CaseResult& result) {
    return result.verdict == interpreter::Verdict::Skip &&
           result.reason().starts_with("needs more requests outstanding");
}

} // namespace

TEST_CASE("script import: every committed capture has a row that says what it gives",
          "[script_import]") {
    std::map<std::string_view, int> named;
    for (const Row& row : rows)
        ++named[row.capture];
    std::size_t files = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(flow::test::pcap("x").parent_path())) {
        if (entry.path().extension() != ".pcap") continue;
        ++files;
        INFO(entry.path().stem().string());
        CHECK(named[entry.path().stem().string()] == 1);
    }
    CHECK(files == rows.size());
    for (const Row& row : rows) {
        INFO(row.capture);
        std::size_t connections = 0;
        std::string error;
        const auto scripts = scripts_of(row.capture, connections, error);
        CHECK(connections == row.connections);
        CHECK(scripts.size() == row.scripts);
        const bool all = scripts.size() == 4 * connections;
        CHECK(all == (row.why.empty() || connections == 0));
        if (!all) CHECK(error.find(row.why) != std::string::npos);
    }
}

TEST_CASE("script import: every script is laid out, compiles, and passes against the engine",
          "[script_import]") {
    for (const Row& row : rows) {
        for (const Made& made : scripts_of(row.capture)) {
            INFO(made.name << "\n" << made.script);
            check_passes(made.script);
        }
    }
}

TEMPLATE_TEST_CASE_SIG("script import: every script passes whatever a device may lawfully do",
                       "[script_import]", ((std::size_t part), part), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                       10, 11) {
    for (const Row& row : rows) {
        for (const Made& made : scripts_of(row.capture)) {
            for (const mutants::Mutant& oddity :
                 veriroce::test::shared_sweep_of(mutants::lawful(), part, 12)) {
                // RNR-03: whoever may be RNR NAKed at any time cannot say beforehand what he sends.
                if (oddity.name == "occasional_rnr_for_write" && made.tester_asks) continue;
                // RSP-06: the script has the one NAK that the recorded device sent for its gap.
                if (oddity.behaviour.duplicate_rearms_nak && made.tester_asks) continue;
                // The script needs what the recorded device had, and has the NAK of its gap.
                if (!oddity.lacks.empty() || oddity.traits.contains("out_of_order")) continue;
                // REQ-02: the script waits for all that the recorded device sent again at once.
                if (oddity.behaviour.after_loss != engine::Behaviour{}.after_loss &&
                    !made.tester_asks)
                    continue;
                // RSP-10: the script has the PSN with which the recorded device answered.
                if (oddity.name == "duplicate_acknowledged_with_its_own_psn" && made.tester_asks)
                    continue;
                INFO(made.name << ", " << oddity.name);
                const interpreter::CaseResult result =
                    play_laid_out(made.script, veriroce::test::engine_of(oddity));
                INFO(veriroce::test::text_of(result));
                CHECK((result.verdict == interpreter::Verdict::Pass ||
                       (!made.tester_asks && holds_requests_back(result))));
            }
        }
    }
}

TEST_CASE("script import: every request of a capture is sent, or said to be left out",
          "[script_import]") {
    for (const Row& row : rows) {
        for (const Made& made : scripts_of(row.capture)) {
            if (!made.tester_asks || says(made.script, "# left out from here on")) continue;
            INFO(made.name);
            // A packet with a wrong ICRC is none of the connection's requests.
            std::size_t damaged = 0;
            for (std::size_t at = made.script.find("icrc=bad"); at != std::string::npos;
                 at = made.script.find("icrc=bad", at + 1))
                ++damaged;
            CHECK(lines_beginning(made.script, "> ") + lost_in(made.script) - damaged ==
                  made.requests);
        }
    }
}

TEST_CASE("script import: scripts fail on devices that break what they observe",
          "[script_import]") {
    struct Defect {
        std::string_view capture;
        Part tester;
        std::string_view mutant;
    };
    const std::vector<Defect> defects{
        {"rxe-write-loss", Part::Requester, "nak_for_every_packet_ahead"},
        {"rxe-write-loss", Part::Requester, "nak_names_the_arrived_psn"},
        {"rxe-write-loss", Part::Requester, "gap_dropped_in_silence"},
        {"rxe-write-loss", Part::Requester, "nak_state_never_cleared"},
        {"rxe-write-loss", Part::Responder, "nak_resends_from_the_next"},
        {"rxe-write-corrupt", Part::Requester, "any_icrc_accepted"},
        {"rxe-rnr-nak", Part::Requester, "rnr_nak_names_the_next_psn"},
        {"rxe-nak-access-read", Part::Requester, "unknown_key_is_invalid_request"},
        {"rxe-nak-access-read", Part::Requester, "fatal_nak_leaves_the_qp_alive"},
        {"rxe-lengths", Part::Requester, "full_last_followed_by_empty_last"},
        {"rxe-lengths", Part::Requester, "zero_read_moves_no_psn"},
        {"rxe-lengths", Part::Requester, "pad_count_zero_in_responses"},
        {"rxe-rc-pingpong", Part::Requester, "ack_one_psn_ahead"},
        {"userspace-peer-rc", Part::Requester, "duplicate_send_executed_again"},
        {"userspace-peer-rc", Part::Requester, "duplicate_never_acknowledged"},
        {"rxe-retry-exceeded", Part::Responder, "gives_up_with_wrong_status"},
    };
    for (const Defect& defect : defects) {
        const auto mutant =
            std::ranges::find(mutants::all(), defect.mutant, &mutants::Mutant::name);
        INFO(defect.capture << ", " << defect.mutant);
        REQUIRE(mutant != mutants::all().end());
        bool failed = false;
        for (const Made& made : scripts_of(defect.capture)) {
            if (made.tester_asks != (defect.tester == Part::Requester)) continue;
            const auto result =
                veriroce::test::play_script(made.script, veriroce::test::engine_of(*mutant));
            failed = failed || result.verdict == interpreter::Verdict::Fail;
        }
        CHECK(failed);
    }
}

} // namespace veriroce::script_import::test
