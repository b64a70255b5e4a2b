// Which runs a selection has: axes, rounds, shards, parameters.
#include <catch2/catch.hpp>

#include <set>

#include "conformance/cases/embedded.hpp"
#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

Selection selected(std::vector<std::string> names, std::vector<std::string> axes = {}) {
    Selection selection;
    selection.names = std::move(names);
    for (const std::string& axis : axes) {
        const auto added = add_axis(selection, axis);
        if (!added) FAIL(added.error());
    }
    return selection;
}

std::vector<std::string> ids_of(const Plan& plan) {
    std::vector<std::string> ids;
    for (const PlannedRun& run : plan.runs)
        ids.push_back(run.id(plan.cases[run.case_index]));
    return ids;
}

const std::string with_names = R"(rule   RSP-01
title  "Message {n} of {kind}"
role   responder
let    spare = 1
for    n     in 1 2 3
for    kind  in SEND_ONLY

dut    recv id=1
> {kind}  psn=0 ackreq len=n+spare
< ACK     psn=0
dut    done recv id=1 len=n+spare
)";

} // namespace

TEST_CASE("plan: each value of each axis is a run with its own id", "[plan]") {
    const Plan plan = plan_of(selected({"rsp/gap-nak"}, {"ip=4,6", "psn=low,wrap", "migreq=1"}));
    CHECK(ids_of(plan) == std::vector<std::string>{"rsp/gap-nak[ip=4,psn=low,migreq=1]",
                                                   "rsp/gap-nak[ip=4,psn=wrap,migreq=1]",
                                                   "rsp/gap-nak[ip=6,psn=low,migreq=1]",
                                                   "rsp/gap-nak[ip=6,psn=wrap,migreq=1]"});
    CHECK(plan.runs.back().over() == std::vector<std::string>{"ip=6", "psn=wrap", "migreq=1"});
}

TEST_CASE("plan: a run is selected by its name, alone or beside others", "[plan]") {
    using Ids = std::vector<std::string>;
    CHECK(ids_of(plan_of(selected({"bth/truncated[ip=6,n=4]"}))) == Ids{"bth/truncated[ip=6,n=4]"});
    CHECK(ids_of(plan_of(selected({"bth/truncated[n=4]", "bth/truncated[n=8]"}, {"ip=4,6"}))) ==
          Ids{"bth/truncated[ip=4,n=4]", "bth/truncated[ip=6,n=4]", "bth/truncated[ip=4,n=8]",
              "bth/truncated[ip=6,n=8]"});
    // The axis of the one does not multiply the other; what both select is played once.
    CHECK(ids_of(plan_of(selected({"rsp/gap-nak", "rsp/gap-nak[ip=6]", "bth/truncated[n=4]"}))) ==
          Ids{"rsp/gap-nak", "rsp/gap-nak[ip=6]", "bth/truncated[n=4]"});
    CHECK(make_plan(selected({"bth/truncated[n=4,n=5]"}), {}).error().text ==
          "bth/truncated has no run with n=4 and n=5; 'veriroce test --list bth/truncated' shows "
          "them\n");
    const std::vector<ScriptFile> files{{"a/mine.roce", with_names}};
    const auto mine = make_plan(selected({"a/mine.roce[n=2]"}), files);
    REQUIRE(mine.has_value());
    CHECK(ids_of(*mine) == Ids{"a/mine[n=2,kind=SEND_ONLY]"});
    CHECK(mine->runs.front().file == "a/mine.roce");
}

TEST_CASE("plan: a glob leaves runs, cases and groups out", "[plan]") {
    const auto left = [](std::vector<std::string> globs) {
        Selection selection = selected({"bth/truncated", "rsp/gap-nak", "crc/noise"});
        selection.excluded = std::move(globs);
        return ids_of(plan_of(selection));
    };
    const std::size_t all = left({}).size();
    CHECK(left({"bth/truncated"}).size() == all - 8);
    CHECK(left({"bth/*"}).size() == all - 8);
    CHECK(left({"bth"}).size() == all - 8);
    CHECK(left({"bth/truncated[n=4]", "*nak"}).size() == all - 2);
    CHECK(left({"*[n=1?]"}).size() == all - 4);
    CHECK(left({"tmo"}).size() == all); // known, although not selected
    Selection selection = selected({"rsp/gap-nak", "crc/noise"});
    selection.excluded = {"rsp"};
    CHECK(plan_of(selection).left_out ==
          std::vector<std::string>{"rsp/gap-nak"}); // as a report tells it
    selection.excluded = {"bth/trunkated"};
    CHECK(make_plan(selection, {}).error().text ==
          "--exclude bth/trunkated: no run, case or group matches; did you mean "
          "'bth/truncated'?\n");
}

TEST_CASE("plan: a share of errors is allowed of a complete run alone", "[plan]") {
    RunResults results;
    results.cases.resize(100);
    for (CaseResult& one : results.cases)
        one.verdict = Verdict::Pass;
    results.cases[0].verdict = results.cases[1].verdict = Verdict::Error;
    CHECK(results.exit_code(false) == 3);
    CHECK(results.exit_code(false, 0.02) == 0);
    CHECK(results.exit_code(false, 0.019) == 3);
    results.run.complete = false;
    CHECK(results.exit_code(false, 0.02) == 3);
    results.run.complete = true;
    results.cases[2].verdict = Verdict::Fail;
    CHECK(results.exit_code(false, 0.02) == 1);
    for (CaseResult& one : results.cases)
        one.verdict = Verdict::Error;
    CHECK(results.exit_code(false, 1) == 3); // nothing was judged
}

TEST_CASE("plan: a case for one IP version is played over that one", "[plan]") {
    const auto versions = [](std::vector<std::string> axes) {
        std::vector<int> played;
        for (const PlannedRun& run : plan_of(selected({"enc/ip-options"}, std::move(axes))).runs)
            played.push_back(run.ip_version);
        return played;
    };
    CHECK(versions({}) == std::vector{4});
    CHECK(versions({"ip=4"}) == std::vector{4});
    CHECK(versions({"ip=4,6"}) == std::vector{4});
    const Selection six = selected({"enc/ip-options"}, {"ip=6"});
    const Plan plan = plan_of(six);
    VirtualTestbed testbed(right_engine());
    PlanRun run(testbed, plan, six, {});
    const auto result = run.next();
    REQUIRE(result.has_value());
    CHECK(result->verdict == Verdict::Skip);
    CHECK(result->reason() == "only for IPv4");
}

TEST_CASE("plan: a script for both IP versions is played over each", "[plan]") {
    const std::string script = "rule   RSP-01\ntitle  \"made up\"\nrole   responder\n"
                               "for    qp.ip in 4 6\n\n"
                               "dut    recv id=1\n> SEND_ONLY  psn=0 ackreq\n< ACK        psn=0\n"
                               "dut    done recv id=1\n";
    Selection selection;
    selection.names = {"made/up.roce"};
    const std::vector<ScriptFile> files{{"made/up.roce", script}};
    const auto plan = make_plan(selection, files);
    REQUIRE(plan.has_value());
    VirtualTestbed testbed(right_engine());
    PlanRun run(testbed, *plan, selection, {});
    std::vector<std::uint16_t> types;
    while (const auto result = run.next()) {
        INFO(text_of(*result));
        CHECK(result->verdict == Verdict::Pass);
        types.push_back(wire::load_u16(result->packets.front().frame, 12));
    }
    CHECK(types == std::vector<std::uint16_t>{0x0800, 0x86DD});
}

TEST_CASE("plan: cases are played in VLANs, those about VLANs in their own", "[plan]") {
    const auto networks = [](Selection selection) {
        selection.names = {"rsp/gap-nak", "n/vlan-both-ways"};
        std::string text;
        for (const PlannedRun& one : plan_of(selection).runs) {
            const interpreter::Network network = one.network();
            text += fmt::format("{}{}.{} ", one.case_index, network.ip_version, network.vlan_id());
        }
        return text;
    };
    Selection both;
    REQUIRE(add_axis(both, "vlan=none,5").has_value());
    CHECK(networks(both) == "04.77 14.0 14.5 ");
    Selection inside;
    REQUIRE(add_axis(inside, "vlan=5").has_value());
    CHECK(networks(inside) == "04.77 14.5 ");
    Selection thorough;
    REQUIRE(add_axis(thorough, "ip=4,6").has_value());
    REQUIRE(add_axis(thorough, "psn=low,wrap").has_value());
    thorough.also_in_vlan = 9;
    CHECK(networks(thorough) == "04.77 04.77 06.77 06.77 14.0 14.0 16.0 16.0 14.9 16.9 ");
    CHECK(plan_of(thorough).runs.back().over().size() == 3);
}

TEST_CASE("plan: what is no axis or no value of it is said", "[plan]") {
    Selection selection;
    for (const std::string_view none : {"size=256", "ip"}) {
        CHECK(add_axis(selection, none).error() ==
              "the axes are ip=4,6, psn=low,wrap, vlan=none,ID, migreq=0,1 and "
              "mtu=256,512,1024,2048,4096");
    }
    for (const std::string_view wrong : {"vlan=0", "vlan=4095", "vlan=7x", "vlan="})
        CHECK_FALSE(add_axis(selection, wrong).has_value());
    CHECK(add_axis(selection, "psn=low,").error() == "psn: expected low or wrap, got ''");
    CHECK(add_axis(selection, "migreq=2").error() == "migreq: expected 0 or 1, got '2'");
    CHECK(add_axis(selection, "mtu=1500").error() ==
          "mtu: expected 256, 512, 1024, 2048 or 4096, got '1500'");
}

TEST_CASE("plan: each path MTU has runs of its own, except where the case sets it", "[plan]") {
    const Plan plan = plan_of(selected({"len/only-good", "len/only"}, {"mtu=512,4096"}));
    CHECK(ids_of(plan) == std::vector<std::string>{
                              "len/only-good[mtu=512,n=0]", "len/only-good[mtu=512,n=1]",
                              "len/only-good[mtu=512,n=4]", "len/only-good[mtu=512,n=511]",
                              "len/only-good[mtu=512,n=512]", "len/only-good[mtu=4096,n=0]",
                              "len/only-good[mtu=4096,n=1]", "len/only-good[mtu=4096,n=4]",
                              "len/only-good[mtu=4096,n=4095]", "len/only-good[mtu=4096,n=4096]",
                              "len/only[mtu=256]", "len/only[mtu=512]"});
    CHECK(plan.runs[5].path_mtu == wire::Mtu::B4096);
    CHECK(plan.runs[5].over() == std::vector<std::string>{"mtu=4096"});
    const Plan one = plan_of(selected({"len/only-good[mtu=4096,n=4095]"}));
    CHECK(ids_of(one) == std::vector<std::string>{"len/only-good[mtu=4096,n=4095]"});
    Selection large = selected({"len/only-good"});
    large.usual_mtu = wire::Mtu::B4096;
    CHECK(ids_of(plan_of(large)).back() == "len/only-good[n=4096]");
}

TEST_CASE("plan: a run over a path MTU has it on the wire, and says how to play it again",
          "[plan]") {
    Selection selection = selected({"len/only-good[n=4096]"});
    selection.usual_mtu = wire::Mtu::B4096;
    const auto results = play_suite(selection, right_engine());
    REQUIRE(results.size() == 1);
    CHECK(results.front().verdict == Verdict::Pass);
    CHECK(results.front().packets.front().frame.size() > 4096);
    CHECK(results.front().command.find("--over mtu=4096") != std::string::npos);
}

TEST_CASE("plan: rounds are runs of their own, lethal cases still last", "[plan]") {
    Selection selection = selected({"rsp/gap-nak"});
    selection.repeat = 3;
    const Plan plan = plan_of(selection);
    CHECK(ids_of(plan) == std::vector<std::string>{"rsp/gap-nak[round=1]", "rsp/gap-nak[round=2]",
                                                   "rsp/gap-nak[round=3]"});
    VirtualTestbed testbed(right_engine());
    PlanRun run(testbed, plan, selection, {.seed = 7, .command = {}});
    std::set<std::string> commands;
    std::set<std::vector<std::byte>> first_frames;
    while (const auto result = run.next()) {
        INFO(text_of(*result));
        CHECK(result->verdict == Verdict::Pass);
        commands.insert(result->command);
        first_frames.insert(result->packets.front().frame);
    }
    CHECK(commands == std::set<std::string>{"veriroce test rsp/gap-nak --seed 7",
                                            "veriroce test rsp/gap-nak --seed 8",
                                            "veriroce test rsp/gap-nak --seed 9"});
    CHECK(first_frames.size() == 3); // other PSNs
}

TEST_CASE("plan: rounds share what they have in common, and are not without end", "[plan]") {
    Selection selection = selected({"rsp/gap-nak"});
    selection.repeat = 3;
    const Plan plan = plan_of(selection);
    CHECK(plan.runs.front().run == plan.runs.back().run);
    selection.repeat = kMostRuns + 1;
    const auto refused = make_plan(selection, {});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().text ==
          "the selection has more than 2000000 runs; select fewer cases, or --repeat them less "
          "often, with another --seed each time\n");
}

TEST_CASE("plan: lethal cases are last, in a case's order otherwise", "[plan]") {
    std::string lethal = with_names;
    lethal.insert(lethal.find("let "), "tags   lethal\n");
    const std::vector<ScriptFile> files{{"a/lethal.roce", lethal}, {"a/mild.roce", with_names}};
    Selection selection = selected({"a/lethal.roce", "a/mild.roce"}, {"ip=4,6"});
    selection.repeat = 2;
    const auto plan = make_plan(selection, files);
    REQUIRE(plan.has_value());
    REQUIRE(plan->runs.size() == 24);
    for (std::size_t i = 0; i < plan->runs.size(); ++i)
        CHECK(plan->cases[plan->runs[i].case_index].tagged("lethal") == (i >= 12));
}

TEST_CASE("plan: the shards cover every run exactly once, whatever their number", "[plan]") {
    const Selection all = over_both({"rsp", "key", "tmo", "ack"});
    const std::vector<std::string> whole = ids_of(plan_of(all));
    REQUIRE(whole.size() > 100);
    for (const std::size_t of : {1U, 2U, 3U, 7U}) {
        std::multiset<std::string> parts;
        for (std::size_t index = 1; index <= of; ++index) {
            Selection selection = all;
            selection.shard = {index, of};
            const auto ids = ids_of(plan_of(selection));
            CHECK(ids.size() >= whole.size() / of);
            CHECK(ids == ids_of(plan_of(selection)));
            parts.insert(ids.begin(), ids.end());
        }
        CHECK(parts == std::multiset<std::string>(whole.begin(), whole.end()));
    }
}

TEST_CASE("plan: an empty shard and a shard that is none are errors", "[plan]") {
    Selection selection = selected({"rsp/gap-nak"});
    selection.shard = {2, 2};
    CHECK(make_plan(selection, {}).error().text ==
          "--shard 2/2: nothing to run: the selection has only 1 runs\n");
    for (const std::string_view wrong : {"", "1", "1/", "/2", "0/2", "3/2", "1/2x", "-1/2"}) {
        INFO(wrong);
        CHECK_FALSE(parse_shard(wrong).has_value());
    }
    CHECK(parse_shard("2/5")->index == 2);
    CHECK(parse_shard("2/5")->of == 5);
}

TEST_CASE("plan: parameters stand in let and for lines of the selected cases", "[plan]") {
    const std::vector<ScriptFile> files{{"a/names.roce", with_names}};
    Selection selection = selected({"a/names.roce"});
    selection.parameters = {{"spare", "7"}, {"n", "5..6"}};
    const auto plan = make_plan(selection, files);
    REQUIRE(plan.has_value());
    CHECK(ids_of(*plan) ==
          std::vector<std::string>{"a/names[n=5,kind=SEND_ONLY]", "a/names[n=6,kind=SEND_ONLY]"});
    VirtualTestbed testbed(right_engine());
    const CaseResult result =
        testbed.play(plan->cases.front(), *plan->runs.front().run, testbed.environment({}));
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Pass);
    CHECK(result.packets.front().script.find("len=12") != std::string::npos);
}

TEST_CASE("plan: a parameter that no case has, or whose value is wrong, is an error", "[plan]") {
    const std::vector<ScriptFile> files{{"a/names.roce", with_names}};
    Selection selection = selected({"a/names.roce"});
    selection.parameters = {{"spar", "7"}};
    CHECK(make_plan(selection, files).error().text ==
          "-D spar=7: no selected case has a 'let' or 'for' line with that name; did you mean "
          "'spare'?\n");
    selection.parameters = {{"spare", "many"}};
    const auto wrong = make_plan(selection, files);
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().text.starts_with("a/names.roce:4:"));
}

TEST_CASE("plan: the suite passes from low PSNs, over the wrap, and with both MigReq",
          "[plan][BTH-15]") {
    Selection selection = swept(over_both(), 5);
    REQUIRE(add_axis(selection, "psn=low,wrap").has_value());
    REQUIRE(add_axis(selection, "migreq=0,1").has_value());
    selection.shard = {1, 5};
    std::size_t judged = 0;
    for (const CaseResult& result : play_suite(selection, right_engine())) {
        INFO(text_of(result));
        CHECK((result.verdict == Verdict::Pass || result.verdict == Verdict::Info ||
               result.verdict == Verdict::Skip));
        if (result.verdict == Verdict::Pass) ++judged;
    }
    CHECK(judged > (kSanitized ? 10 : 100));
}

TEST_CASE("plan: psn=wrap and migreq=1 are what stands on the wire", "[plan][BTH-15]") {
    const auto first_bth = [](std::vector<std::string> axes) {
        const Selection selection = selected({"rsp/gap-nak"}, std::move(axes));
        const auto results = play_suite(selection, right_engine());
        const auto& frame = results.front().packets.front().frame;
        std::array<unsigned, 12> bth{}; // after Ethernet, IPv4 and UDP
        for (std::size_t i = 0; i < bth.size(); ++i)
            bth[i] = std::to_integer<unsigned>(frame.at(14 + 20 + 8 + i));
        return bth;
    };
    const auto wrap = first_bth({"psn=wrap", "migreq=1"});
    CHECK((wrap[1] & 0x40U) != 0);
    CHECK((wrap[9] << 16 | wrap[10] << 8 | wrap[11]) >= 0xFFFFFCU);
    const auto low = first_bth({"psn=low", "migreq=0"});
    CHECK((low[1] & 0x40U) == 0);
    CHECK((low[9] << 16 | low[10] << 8 | low[11]) <= 3U);
}

namespace {

std::size_t compilations = 0;

std::expected<script::Script, std::vector<script::Diagnostic>>
counted(std::string_view path, std::string_view text, std::int64_t usual_mtu) {
    ++compilations;
    return script::compile(path, text, usual_mtu);
}

} // namespace

TEST_CASE("plan: a script is compiled once, and only if it is selected", "[plan]") {
    compilations = 0;
    Selection selection;
    selection.names = {"rsp/gap-nak"};
    REQUIRE(make_plan(selection, {}, counted).has_value());
    CHECK(compilations == 1);
    compilations = 0;
    const auto all = make_plan({}, {}, counted);
    REQUIRE(all.has_value());
    // Only then are the tags known that leave it out.
    CHECK(compilations == cases::embedded_files().size());
}

} // namespace veriroce::test
