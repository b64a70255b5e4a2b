// Dialogues of seeds: the same every time, no false alarm, and findings that stand by themselves.
#include <array>
#include <span>
#include <string_view>

#include <catch2/catch.hpp>

#include "conformance/explorer/exploration.hpp"
#include "conformance/explorer/signature.hpp"
#include "dissector/wire/crc32c.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::explorer {
namespace {

using interpreter::CaseResult;
using interpreter::Verdict;
using test::engine_of;
using test::right_engine;
using testbed::VirtualTestbed;
using testbed::VirtualTestbedOptions;

Exploration exploring(testbed::Testbed& device, std::uint64_t seed, std::uint64_t runs) {
    std::vector<RightDevice> right;
    right.push_back({"the right device", std::make_unique<VirtualTestbed>(right_engine())});
    return {device, std::move(right), {.seed = seed, .runs = runs}};
}

// All that speaks against a device of which nothing may.
std::string blame(VirtualTestbedOptions options, std::uint64_t seed, std::uint64_t runs) {
    VirtualTestbed device(std::move(options));
    Exploration exploration = exploring(device, seed, runs);
    std::string told;
    while (const auto found = exploration.next())
        told += found->text;
    for (const Unconfirmed& one : exploration.unconfirmed())
        told += std::to_string(one.seed) + " " + one.signature + ": " + one.why + "\n";
    for (const auto& [what, of_seed] : exploration.troubles()) {
        // As a device may in ERR, and where its queue is full.
        if (what.starts_with("SKIP: the DUT refused ") && what.contains("post")) continue;
        told += std::to_string(of_seed) + " " + what + "\n";
    }
    CHECK(exploration.counts().dialogues == runs);
    return told;
}

} // namespace

TEST_CASE("explorer: a seed gives one dialogue, and another seed another", "[explorer]") {
    const Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    CHECK(dialogue_of(7, reach).text == dialogue_of(7, reach).text);
    CHECK(dialogue_of(7, reach).text != dialogue_of(8, reach).text);
    CHECK(dialogue_of(7, reach).text.find("\ntags   unscripted\n") != std::string::npos);
}

// The presets have different compilers, which evaluate the arguments of a call in different orders:
// no call may have two that draw. Whoever changes the grammar changes the sum.
TEST_CASE("explorer: the dialogues of seeds are the same with each compiler", "[explorer]") {
    const Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    std::uint32_t sum = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        const std::string text = dialogue_of(seed, reach).text;
        sum = wire::crc32c(std::as_bytes(std::span(text)), sum);
    }
    CHECK(sum == 0x6D2B088B);
}

TEST_CASE("explorer: no line of a dialogue is too long for a script", "[explorer]") {
    const Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    for (std::uint64_t seed = 500'000; seed < 500'500; ++seed) {
        const std::string text = dialogue_of(seed, reach).text;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            REQUIRE(line.size() <= 100);
    }
}

TEST_CASE("explorer: dialogues use the rare words of the language, too", "[explorer]") {
    constexpr std::array<std::string_view, 38> words{"SEND_ONLY_WITH_INV",
                                                     "RDMA_WRITE_LAST_WITH_IMM",
                                                     " LOCAL_INV ",
                                                     "access=remote_atomic",
                                                     "zero_based",
                                                     "ATOMIC_WRITE",
                                                     "FLUSH",
                                                     " sel=1",
                                                     "RNR_RETRY_EXC_ERR",
                                                     "status=RETRY_EXC_ERR",
                                                     "WR_FLUSH_ERR",
                                                     "lkey=abs",
                                                     "CM_REQ",
                                                     "CM_DREQ",
                                                     "CM_SIDR_REQ",
                                                     "CM_REJ",
                                                     "state=SQD",
                                                     "state=INIT",
                                                     "event SQ_DRAINED",
                                                     "dut    notified",
                                                     "dut    quiet",
                                                     "dut    rearm",
                                                     "dut    dereg",
                                                     "dut    reconnect",
                                                     " new_peer",
                                                     "RDMA_READ_REQUEST psn=i",
                                                     " to=x",
                                                     "qkey=0x80001234",
                                                     "vlan.pcp=",
                                                     "invert=ip.src",
                                                     "ip.checksum=",
                                                     "cq=all",
                                                     "srq=q",
                                                     "signal_all=1",
                                                     " fence",
                                                     " inline",
                                                     "[8 +0]",
                                                     "tester answers"};
    Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    reach.vlan = 77;
    std::string all;
    for (std::uint64_t seed = 500'000; seed < 503'000; ++seed)
        all += dialogue_of(seed, reach).text;
    for (const std::string_view word : words) {
        INFO(word);
        CHECK(all.contains(word));
    }
}

// RNR-01: a WRITE takes its receive at its last packet, whose PSN the RNR NAK has.
TEST_CASE("explorer: only a WRITE of one packet lacks its receive at its first PSN", "[explorer]") {
    const Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    std::size_t refusals = 0;
    for (std::uint64_t seed = 547'000; seed < 548'000; ++seed) {
        std::istringstream lines(dialogue_of(seed, reach).text);
        std::map<std::string, std::string> latest; // request of each QP
        for (std::string line; std::getline(lines, line);) {
            const std::size_t way = line.find_first_of("<>");
            if (way > 2) continue;
            std::string& request = latest[line.substr(0, way)];
            if (line[way] == '>') {
                request = line;
            } else if (line.find("< RNR_NAK") != std::string::npos) {
                ++refusals;
                INFO(seed << ": " << request);
                CHECK(request.find("> RDMA_WRITE_WITH_IMM") == std::string::npos);
            }
        }
    }
    CHECK(refusals > 50);
}

// REQ-31: a requester that tries again sends the same bytes.
TEST_CASE("explorer: the tester's engine sends from memory that nothing changes", "[explorer]") {
    const Reach reach = reach_of(VirtualTestbed(right_engine()).environment({}));
    std::size_t posts = 0;
    for (std::uint64_t seed = 500'000; seed < 500'100; ++seed) {
        std::istringstream lines(dialogue_of(seed, reach).text);
        for (std::string line; std::getline(lines, line);) {
            const bool sends =
                line.find(" SEND") != std::string::npos || line.find("WRITE") != std::string::npos;
            if (!line.starts_with("tester post") || !sends) continue;
            ++posts;
            INFO(seed << ": " << line);
            CHECK(line.find("local=r") == std::string::npos);
        }
    }
    CHECK(posts > 50);
}

TEST_CASE("explorer: in virtual time two plays of a seed are equal to the byte", "[explorer]") {
    const auto packets_of = [](std::uint64_t seed) {
        VirtualTestbed device(right_engine());
        const Reach reach = reach_of(device.environment({}));
        const auto script = script::compile("explored/x.roce", dialogue_of(seed, reach).text);
        REQUIRE(script.has_value());
        std::vector<std::vector<std::byte>> packets;
        const CaseResult result =
            device.play(script->test_case, script->runs.front(), device.environment({}));
        for (const interpreter::RecordedPacket& one : result.packets)
            packets.push_back(one.frame);
        return packets;
    };
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        CHECK(packets_of(seed) == packets_of(seed));
}

TEST_CASE("explorer: dialogues can be played, and a right device passes them", "[explorer]") {
    CHECK(blame(right_engine(), 1, 200).empty());
}

TEST_CASE("explorer: a slow lab raises no alarm", "[explorer]") {
    VirtualTestbedOptions slow = right_engine();
    slow.lab = test::real_lab;
    CHECK(blame(std::move(slow), 1000, 60).empty());
}

TEST_CASE("explorer: no lawful oddity raises an alarm", "[explorer][mutants]") {
    std::uint64_t seed = 2000;
    for (const mutants::Mutant& oddity : mutants::lawful()) {
        INFO(oddity.name);
        VirtualTestbedOptions device = engine_of(oddity);
        if (seed % 20 == 0) device.lab = test::real_lab;
        CHECK(blame(std::move(device), seed, 2) == "");
        seed += 10;
    }
}

TEST_CASE("explorer: a refused message may have taken a shared receive", "[explorer][mutants]") {
    const auto oddity = mutants::find("in_range_part_always_written");
    REQUIRE(oddity.has_value());
    CHECK(blame(engine_of(*oddity), 920'433, 60).empty());
}

TEST_CASE("explorer: a request with a part of its answer is not refused", "[explorer][mutants]") {
    const auto oddity = mutants::find("every_second_rnr_for_write");
    REQUIRE(oddity.has_value());
    CHECK(blame(engine_of(*oddity), 915'695, 60).empty());
}

TEST_CASE("explorer: a finding is a script that fails on the defect and passes on a right device",
          "[explorer][mutants]") {
    VirtualTestbed device(engine_of(*mutants::find("duplicate_send_executed_again")));
    Exploration exploration = exploring(device, 720, 400);
    const auto found = exploration.next();
    REQUIRE(found.has_value());
    INFO(found->text);
    CHECK(found->result.verdict == Verdict::Fail);
    CHECK(found->text.find("\n# veriroce test --explore, dialogue of seed ") != std::string::npos);
    const CaseResult again =
        test::play_script(found->text, engine_of(*mutants::find("duplicate_send_executed_again")));
    CHECK(again.verdict == Verdict::Fail);
    CHECK(test::play_script(found->text).verdict == Verdict::Pass);
    // What is left is what it takes: set-up, a receive or two, and a few packets.
    CHECK(std::ranges::count(found->text, '>') <= 6);
}

// Without lines that it holds together, a dialogue may ask of some right devices what they need not
// do: a script that is too small speaks against them.
TEST_CASE("explorer: a small script passes on every right device", "[explorer][mutants]") {
    constexpr std::array<std::string_view, 4> oddities{
        "first_request_waits_for_doorbells", "requests_ten_us_apart", "one_packet_outstanding",
        "impossible_msns_dropped"};
    const auto engine = [](std::string_view name) {
        return std::make_unique<VirtualTestbed>(engine_of(*mutants::find(name)));
    };
    const auto device = engine("read_repeats_byte_at_odd_sge");
    std::vector<RightDevice> right;
    right.push_back({"the right device", std::make_unique<VirtualTestbed>(right_engine())});
    for (const std::string_view name : oddities)
        right.push_back({std::string(name), engine(name)});
    Exploration exploration(*device, std::move(right), {.seed = 7'000'000, .runs = 400});
    const auto found = exploration.next();
    REQUIRE(found.has_value());
    CHECK(exploration.unconfirmed().empty());
    const std::string whole = dialogue_of(found->seed, reach_of(device->environment({}))).text;
    CHECK(found->text.size() < whole.size() / 2);
    for (const std::string_view name : oddities) {
        INFO(name << "\n" << found->text);
        const CaseResult result = test::play_script(found->text, engine_of(*mutants::find(name)));
        CHECK(result.verdict == Verdict::Pass);
    }
}

TEST_CASE("explorer: a device is blamed at once on a wire that probes saw lose nothing",
          "[explorer][mutants]") {
    VirtualTestbedOptions options = engine_of(*mutants::find("duplicate_send_executed_again"));
    options.noise.loss = 1e-9; // it may lose packets, and does not
    VirtualTestbed device(options);
    Exploration exploration(device, {}, {.seed = 710, .runs = 1});
    CHECK(exploration.next().has_value());
    CHECK(exploration.counts().failed == 1);
    CHECK(exploration.troubles().empty());
}

TEST_CASE("explorer: what the profile knows is no new signature", "[explorer]") {
    CaseResult one;
    one.verdict = Verdict::Fail;
    one.violations.push_back({.rule = "ACK-07", .certain = true, .packets = {}, .measured = "x"});
    one.violations.push_back({.rule = "RSP-02", .certain = true, .packets = {}, .measured = "y"});
    const std::vector<plan::KnownFailure> known{
        {.kind = interpreter::FindingKind::Violation, .rules = {"ACK-07"}}};
    CHECK(signatures_of(one).size() == 2);
    CHECK(new_signatures_of(one, known).size() == 1);
    one.violations.pop_back();
    CHECK(new_signatures_of(one, known).empty());
}

TEST_CASE("explorer: a signature names no values", "[explorer]") {
    CaseResult one;
    one.verdict = Verdict::Fail;
    one.packets.push_back({.script = "< ACK psn=3 msn=2"});
    one.violations.push_back({.rule = "ACK-07",
                              .certain = true,
                              .packets = {0},
                              .measured = "MSN is 2",
                              .allowed = "MSN must be 1"});
    CaseResult other = one;
    other.packets[0].script = "b < ACK psn=9 msn=4";
    other.violations[0].measured = "MSN is 4";
    CHECK(signatures_of(one) == signatures_of(other));
    other.violations[0].rule = "ACK-08";
    CHECK(signatures_of(one) != signatures_of(other));
    other.verdict = Verdict::Pass;
    CHECK(signatures_of(other).empty());
}

} // namespace veriroce::explorer
