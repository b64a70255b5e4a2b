// What the figures are taken of: work that is really done.
#include "transport/bench/connected_engines.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "transport/bench/measure.hpp"

namespace veriroce::bench::test {

TEST_CASE("bench: a write arrives, in as many packets as it takes", "[bench]") {
    constexpr std::size_t size = 10'000;
    ConnectedEngines engines(1, size, wire::Mtu::B4096);
    for (std::size_t i = 0; i < size; ++i)
        engines.a.memory[i] = static_cast<std::byte>(i * 31);
    const engine::Sge sge{.length = size, .lkey = engines.a.region.lkey};
    const engine::SendRequest request{
        .opcode = engine::WrOpcode::RdmaWrite, .sges = {&sge, 1}, .rkey = engines.b.region.rkey};
    engines.a.engine->post_send(engines.a.qps[0], {&request, 1}, engines.now);
    engines.carry();
    CHECK(std::ranges::equal(engines.a.memory, engines.b.memory));
    CHECK(engines.packets() == 3 + 1); // and the acknowledgement
    const auto completion = engines.a.engine->poll_completion(engines.a.cq);
    REQUIRE(completion);
    CHECK(completion->status == engine::WcStatus::Success);
}

TEST_CASE("bench: every QP reaches its peer", "[bench]") {
    ConnectedEngines engines(100, 4096, wire::Mtu::B1024, 2);
    const engine::Sge to{.length = 64, .lkey = engines.b.region.lkey};
    const engine::Sge from{.length = 64, .lkey = engines.a.region.lkey};
    const engine::ReceiveRequest receive{.sges = {&to, 1}};
    const engine::SendRequest send{.sges = {&from, 1}};
    for (std::size_t i = 0; i < 100; ++i) {
        engines.b.engine->post_receive(engines.b.qps[i], {&receive, 1});
        engines.a.engine->post_send(engines.a.qps[i], {&send, 1}, engines.now);
    }
    engines.carry();
    std::size_t received = 0;
    while (const auto completion = engines.b.engine->poll_completion(engines.b.cq)) {
        CHECK(completion->status == engine::WcStatus::Success);
        ++received;
    }
    CHECK(received == 100);
}

TEST_CASE("bench: the spread of samples", "[bench]") {
    const Spread spread = spread_of({3, 1, 2});
    CHECK(spread.least == 1);
    CHECK(spread.median == 2);
    CHECK(spread.most == 3);
}

} // namespace veriroce::bench::test
