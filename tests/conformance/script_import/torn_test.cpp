// Captures from which packets are missing, doubled or out of place still give scripts that pass, or
// say why there is none: whatever is concluded from them, the script asks no more than a duty.
#include <catch2/catch.hpp>

#include <random>

#include "tests/conformance/script_import/imported.hpp"

namespace veriroce::script_import::test {
namespace {

std::vector<flow::test::Frame> torn(const std::vector<flow::test::Frame>& frames,
                                    std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto one_in = 4 + random() % 40;
    std::vector<flow::test::Frame> left;
    for (const flow::test::Frame& frame : frames) {
        const auto draw = random() % (3 * one_in);
        if (draw == 0) continue;
        left.push_back(frame);
        if (draw == 1) left.push_back(frame);
        if (draw == 2 && left.size() > 1) std::swap(left.back(), left[left.size() - 2]);
    }
    if (random() % 4 == 0 && !left.empty()) left.erase(left.begin(), left.begin() + 1);
    return left;
}

} // namespace

TEST_CASE("script import: scripts of torn captures pass", "[script_import]") {
    constexpr std::uint32_t seeds = 12;
    std::size_t scripts = 0;
    for (const char* capture :
         {"rxe-lengths", "rxe-atomic", "rxe-psn-wrap", "rxe-rc-pingpong", "rxe-rnr-nak",
          "rxe-rping-cm", "rxe-send-imm", "rxe-write-corrupt", "rxe-write-loss", "rxe-vlan",
          "rxe-mtu4096-read-send", "rxe-nak-access-write", "userspace-peer-rc"}) {
        const auto whole = flow::test::frames_of(flow::test::pcap(capture));
        for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
            const auto frames = torn(whole, seed);
            for (const Found& found : connections_in(frames)) {
                if (found.service != wire::Service::Rc) continue;
                const Conversation conversation = conversation_in(frames, found);
                for (const Part part : {Part::Requester, Part::Responder}) {
                    const auto script = script_of(conversation, {.tester = part});
                    if (!script) continue;
                    INFO(capture << ", seed " << seed << "\n" << *script);
                    check_passes(*script);
                    ++scripts;
                }
            }
        }
    }
    CHECK(scripts > 200);
}

} // namespace veriroce::script_import::test
