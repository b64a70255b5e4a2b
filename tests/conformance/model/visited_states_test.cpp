// What a story went through.
#include <algorithm>

#include <catch2/catch.hpp>

#include "conformance/model/visited_states.hpp"
#include "tests/conformance/model/owner_scene.hpp"

namespace veriroce::model::test {
namespace {

OwnerScene written() {
    OwnerScene scene;
    scene.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
    scene.acknowledged(0);
    return scene;
}

// Whether the one went through something that the other did not.
bool adds(const OwnerScene& one, const OwnerScene& other) {
    return !std::ranges::includes(visited_states(other.story), visited_states(one.story));
}

} // namespace

TEST_CASE("visited states: they are sorted, and the same each time", "[model]") {
    const auto states = visited_states(written().story);
    CHECK(std::ranges::is_sorted(states));
    CHECK(std::ranges::adjacent_find(states) == states.end());
    CHECK(states == visited_states(written().story));
}

TEST_CASE("visited states: a duplicate, a refusal and another opcode are new", "[model]") {
    OwnerScene duplicate = written();
    duplicate.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(8), OwnerScene::to(0, 8));
    CHECK(adds(duplicate, written()));
    OwnerScene refused = written();
    refused.sent("RDMA_WRITE_ONLY", 1, OwnerScene::data(8), OwnerScene::to(0, 8));
    refused.refused(1, wire::NakCode::RemoteAccess);
    CHECK(adds(refused, written()));
    CHECK(adds(refused, duplicate));
    OwnerScene other;
    other.sent("SEND_ONLY", 0, OwnerScene::data(8));
    other.acknowledged(0);
    CHECK(adds(other, written()));
}

TEST_CASE("visited states: bytes and places are nothing new", "[model]") {
    OwnerScene elsewhere;
    elsewhere.sent("RDMA_WRITE_ONLY", 0, OwnerScene::data(16, 0x11), OwnerScene::to(64, 16));
    elsewhere.acknowledged(0);
    CHECK_FALSE(adds(elsewhere, written()));
}

} // namespace veriroce::model::test
