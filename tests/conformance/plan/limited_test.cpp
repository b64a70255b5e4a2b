// Devices that lack something: what they cannot do is skipped, and everything else passes.
#include <catch2/catch.hpp>

#include <algorithm>

#include "conformance/plan/needs.hpp"
#include "dissector/wire/opcode.hpp"
#include "dissector/wire/parsed_frame.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "tests/part_of.hpp"

namespace veriroce::test {
namespace {

VirtualTestbedOptions device_without(std::string_view lacking, dut::Told told) {
    VirtualTestbedOptions options = right_engine();
    auto lacks = dut::Lacks::parse(lacking);
    if (!lacks) FAIL(lacks.error());
    options.lacks = std::move(*lacks);
    options.told = told;
    return options;
}

// The word that an opcode of the tester asks for.
std::string_view word_of(const wire::OpcodeInfo& info) {
    if (!info.request() || info.service != wire::Service::Rc) return "rc";
    if (info.immediate()) return "imm";
    if (info.invalidates()) return "send_inv";
    if (info.operation == wire::Operation::RdmaReadRequest) return "read";
    if (info.operation == wire::Operation::Flush) return "flush";
    if (info.operation == wire::Operation::AtomicWrite) return "atomic_write";
    const bool atomic = info.operation == wire::Operation::CompareSwap ||
                        info.operation == wire::Operation::FetchAdd;
    return atomic ? "atomics" : "rc";
}

bool asks_for(const CaseResult& result, std::string_view lacking) {
    if (result.id.starts_with("bth/opcodes-of-other-services")) return false; // no QP takes them
    return std::ranges::any_of(result.packets, [&](const RecordedPacket& packet) {
        if (packet.from != Side::Tester) return false;
        const auto frame = wire::parse_frame(packet.frame);
        return frame && frame->packet &&
               word_of(wire::opcode_info(frame->packet->bth.opcode)) == lacking;
    });
}

// A device that claims more of these than it has refuses plain QPs, too, or the look for events
// that ends every case: that is no lawful device.
bool is_asked_for_by_every_case(std::string_view lacking) {
    return lacking == "events" || lacking == "reset_reuse" || lacking.starts_with("mtu>=") ||
           lacking.starts_with("rd_atomic") || lacking.starts_with("dest_rd_atomic");
}

// The suite without the slow cases, which would take most of the time. A device that says what it
// lacks meets it over IPv4, one that does not over IPv6; without IPv6 over both.
std::vector<CaseResult> play_quick_suite(std::string_view lacking, dut::Told told) {
    Selection selection = swept(over_both(), lacking.size());
    if (lacking != "ipv6") selection.ip_versions = {told == dut::Told::Yes ? 4 : 6};
    selection.slow = false;
    auto results = play_suite(selection, device_without(lacking, told));
    std::erase_if(results,
                  [](const CaseResult& one) { return one.reason().starts_with("slow: "); });
    return results;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("limited: a device that says what it lacks passes or skips every run",
                       "[suite]", ((std::size_t part), part), 0, 1, 2, 3) {
    const auto each = dut::Lacks::each();
    for (const std::string_view lacking : shared_sweep_of(each, part, 4)) {
        std::size_t skipped = 0;
        std::size_t passed = 0;
        for (const CaseResult& result : play_quick_suite(lacking, dut::Told::Yes)) {
            INFO("without " << lacking << "\n" << text_of(result));
            const bool skip = result.verdict == Verdict::Skip;
            CHECK((skip || result.verdict == Verdict::Pass));
            CHECK_FALSE(asks_for(result, lacking));
            ++(skip ? skipped : passed);
        }
        INFO("without " << lacking << ": " << skipped << " skipped, " << passed << " passed");
        CHECK((skipped > 0 || kSanitized || lacking == "query_qp" || lacking == "flush" ||
               lacking.starts_with("mtu>=")));
        CHECK(2 * passed > skipped); // without IPv6 half of the runs are gone
    }
}

// An agent that does not probe claims what its device then refuses.
TEMPLATE_TEST_CASE_SIG("limited: a verb that the device refuses makes the run a SKIP", "[suite]",
                       ((std::size_t part), part), 0, 1, 2, 3) {
    const auto all = dut::Lacks::each();
    std::vector<std::string_view> each(all.begin(), all.end());
    std::erase_if(each, is_asked_for_by_every_case);
    for (const std::string_view lacking : shared_sweep_of(each, part, 4)) {
        for (const CaseResult& result : play_quick_suite(lacking, dut::Told::No)) {
            INFO("without " << lacking << ", which it claims\n" << text_of(result));
            CHECK((result.verdict == Verdict::Skip || result.verdict == Verdict::Pass));
        }
    }
}

TEST_CASE("limited: a SKIP names what is needed, or the verb that was refused", "[plan]") {
    const auto reason_of = [](std::string name, std::string_view lacking, dut::Told told) {
        const auto results =
            play_suite({.names = {std::move(name)}}, device_without(lacking, told));
        REQUIRE(results.size() == 1);
        CHECK(results.front().verdict == Verdict::Skip);
        return results.front().reason();
    };
    using enum dut::Told;
    CHECK(reason_of("key/scattered", "sge>=2", Yes) == "needs sge>=3, has 1");
    CHECK(reason_of("key/scattered", "sge>=3", Yes) == "needs sge>=3, has 2");
    CHECK(reason_of("ext/unreliable-gap", "uc", Yes) == "needs uc");
    CHECK(reason_of("req/no-credit-needed", "e2e_credits", Yes) == "needs e2e_credits");
    CHECK(reason_of("req/no-credit-needed", "e2e_credits", No).find("flow control") !=
          std::string::npos);
    CHECK(reason_of("ext/unreliable-gap", "uc", No).find("qp_create") != std::string::npos);
    CHECK(reason_of("sta/drained", "sqd", No).find("EINVAL") != std::string::npos);
}

TEST_CASE("limited: the axis of the smallest path MTU asks for it", "[plan]") {
    const Selection small{.names = {"rsp/gap-nak"}, .mtus = {wire::Mtu::B256}};
    const auto results = play_suite(small, device_without("mtu256", dut::Told::Yes));
    REQUIRE(results.size() == 1);
    CHECK(results.front().verdict == Verdict::Skip);
    CHECK(results.front().reason() == "needs mtu256");
}

TEST_CASE("limited: a case loses only the runs that need what is lacking", "[plan]") {
    for (const CaseResult& result :
         play_suite({.names = {"opc/inside-a-send"}}, device_without("atomics", dut::Told::Yes))) {
        const bool atomic = result.id.find("FETCH_ADD") != std::string::npos;
        CHECK(result.verdict == (atomic ? Verdict::Skip : Verdict::Pass));
    }
}

// Some devices have no completion queue of depth 1: the case fills the real one.
TEST_CASE("limited: a device with large completion queues overflows them, too", "[plan]") {
    for (const std::uint32_t least : {1U, 2U, 128U, 512U}) {
        VirtualTestbedOptions device = right_engine();
        device.least_cqe = least;
        for (const CaseResult& result : play_suite({.names = {"key/cq-overflow"}}, device)) {
            INFO(least << "\n" << text_of(result));
            CHECK(result.verdict == Verdict::Pass);
        }
    }
}

TEST_CASE("limited: a basic verb that is refused stays an ERROR", "[plan]") {
    // A device that refuses path MTUs which no case asks for is broken, not limited.
    VirtualTestbedOptions device = device_without("mtu>=512", dut::Told::No);
    const CaseResult result = play_script(R"(rule   RSP-01
title  "A SEND"
role   responder

dut    recv id=1
> SEND_ONLY  psn=0 ackreq
< ACK        psn=0
dut    done recv id=1
)",
                                          std::move(device));
    CHECK(result.verdict == Verdict::Error);
    CHECK(result.reason().find("qp_modify") != std::string::npos);
}

} // namespace veriroce::test
