#include "conformance/agent/posted_requests.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace veriroce;
using namespace veriroce::agent;

PostedRequests::Entry send(std::uint64_t id, std::uint64_t qp) {
    return {.id = id, .qp = {qp}, .queue = engine::Queue::Send, .opcode = engine::WcOpcode::Send};
}
PostedRequests::Entry receive(std::uint64_t id, std::uint64_t qp) {
    return {
        .id = id, .qp = {qp}, .queue = engine::Queue::Receive, .opcode = engine::WcOpcode::Recv};
}

} // namespace

TEST_CASE("posted requests: a number leads to what was posted, once", "[agent]") {
    PostedRequests posted;
    const auto one = posted.add(send(~std::uint64_t{0}, 1));
    const auto other = posted.add(receive(~std::uint64_t{0}, 1)); // ids need not differ
    CHECK(one != other);
    CHECK(posted.take(other)->queue == engine::Queue::Receive);
    CHECK(posted.take(one)->queue == engine::Queue::Send);
    CHECK_FALSE(posted.take(one));
    CHECK_FALSE(posted.take(12345));
}

TEST_CASE("posted requests: a completion removes the unsignaled sends before it", "[agent]") {
    PostedRequests posted;
    posted.add(send(1, 1));
    posted.add(send(2, 1));
    const auto other_qp = posted.add(send(3, 2));
    const auto recv = posted.add(receive(4, 1));
    const auto signaled = posted.add(send(5, 1));
    const auto later = posted.add(send(6, 1));
    CHECK(posted.take(signaled)->id == 5);
    CHECK(posted.open() == 3); // the other QP's, the receive, and the later one
    CHECK(posted.take(other_qp));
    CHECK(posted.take(recv));
    CHECK(posted.take(later)->id == 6);
}

TEST_CASE("posted requests: destroying a QP removes its requests", "[agent]") {
    PostedRequests posted;
    const auto gone = posted.add(send(1, 1));
    const auto stays = posted.add(receive(2, 2));
    posted.forget({1});
    CHECK_FALSE(posted.take(gone));
    CHECK(posted.take(stays));
}

TEST_CASE("posted requests: requests that the device did not accept are dropped", "[agent]") {
    PostedRequests posted;
    const auto first = posted.add(send(1, 1));
    const auto refused = posted.add(send(2, 1));
    posted.drop(refused);
    CHECK_FALSE(posted.take(refused));
    CHECK(posted.take(first)->id == 1);
    CHECK(posted.open() == 0);
}
