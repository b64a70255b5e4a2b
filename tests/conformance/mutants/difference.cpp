#include "tests/conformance/mutants/difference.hpp"

#include <set>

#include <catch2/catch.hpp>

namespace veriroce::mutants::test {

namespace {

std::string run(const Difference& difference, const Mutant& device) {
    Stage stage(device, difference.scene);
    difference.act(stage);
    return stage.text();
}

// The first line of a text that is not the other's, from each; "" at the end.
std::pair<std::string_view, std::string_view> first_difference(std::string_view right,
                                                               std::string_view wrong) {
    while (!right.empty() || !wrong.empty()) {
        const auto a = right.substr(0, right.find('\n'));
        const auto b = wrong.substr(0, wrong.find('\n'));
        if (a != b) return {a, b};
        right.remove_prefix(a.size() + 1);
        wrong.remove_prefix(b.size() + 1);
    }
    return {};
}

} // namespace

void check_differences(std::initializer_list<Differences> groups, std::span<const Mutant> sample) {
    std::vector<Difference> list;
    for (const Differences some : groups) {
        const auto group = some();
        list.insert(list.end(), group.begin(), group.end());
    }
    const Mutant right{};
    std::set<std::string_view> shown;
    for (const Difference& one : list) {
        CAPTURE(one.name);
        shown.insert(one.name);
        const auto mutant = find(one.name);
        REQUIRE(mutant);
        const std::string lawful = run(one, right);
        const std::string defect = run(one, mutant->get());
        CAPTURE(lawful, defect);
        const auto [here, there] = first_difference(lawful, defect);
        CHECK(one.right != one.wrong);
        CHECK(here == one.right);
        CHECK(there == one.wrong);
        CHECK(run(one, mutant->get()) == defect); // the same packets give the same behaviour
    }
    for (const Mutant& mutant : sample) {
        CAPTURE(mutant.name);
        CHECK(shown.contains(mutant.name));
    }
}

// --- what the plays of several samples do

void plain_send(Stage& stage) {
    stage.arrive(stage.send(100));
}

void post_receive(Stage& stage) {
    const std::array<engine::Sge, 1> sges{{stage.piece(8192, 512)}};
    stage.receive(0, sges);
}

wire::Packet cnp_of(Stage& stage) {
    auto cnp = stage.packet(wire::Operation::Send, wire::Position::Only, 0, 16);
    cnp.bth.opcode = wire::kCnpOpcode;
    cnp.bth.ack_request = false;
    cnp.bth.becn = true;
    cnp.headers = cnp.info().headers;
    return cnp;
}

wire::Packet revoking(Stage& stage, std::uint8_t opcode, std::uint32_t psn, wire::Rkey key) {
    auto send = stage.packet(wire::Operation::Send, wire::Position::Only, psn, 4);
    send.bth.opcode = opcode;
    send.headers = send.info().headers;
    send.ieth.rkey = key;
    return send;
}

wire::Packet flush_of_eight(Stage& stage) {
    constexpr engine::Access rights{.local_write = true, .flush_global = true};
    stage.modify({.access = engine::Access{.remote_write = true, .flush_global = true}});
    auto flush = stage.packet(wire::Operation::Flush, wire::Position::Only, 100, 0);
    flush.feth.placement = 1;
    flush.reth = {.virtual_address = Stage::base,
                  .rkey = stage.register_at(Stage::base, 0, 512, rights),
                  .dma_length = 8};
    return flush;
}

} // namespace veriroce::mutants::test
