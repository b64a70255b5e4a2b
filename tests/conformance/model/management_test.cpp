// Answers of connection management belong to what the tester asked.
#include <catch2/catch.hpp>

#include "dissector/wire/management.hpp"
#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

constexpr std::uint16_t kRequest = 0x10;
constexpr std::uint16_t kReject = 0x12;
constexpr std::uint16_t kReply = 0x13;
constexpr std::uint16_t kServiceRequest = 0x17;
constexpr std::uint16_t kServiceReply = 0x18;

struct Message {
    std::uint16_t attribute = kRequest;
    std::uint64_t transaction = 0x1122'3344'5566'7788;
    std::uint32_t first = 7; // local communication id, or request id
    std::uint32_t second = 0;
};

std::vector<std::byte> datagram(const Message& message) {
    std::vector<std::byte> bytes(wire::kMadBytes);
    const wire::MutableBytes all(bytes);
    wire::store_be<1>(all, 0, 1);
    wire::store_be<1>(all, 1, wire::kCmClass);
    wire::store_be<1>(all, 2, 2);
    wire::store_be<1>(all, 3, 3);
    wire::store_be<8>(all, 8, message.transaction);
    wire::store_be<2>(all, 16, message.attribute);
    wire::store_be<4>(all, 24, message.first);
    wire::store_be<4>(all, 28, message.second);
    return bytes;
}

const Edits kBetweenQps1{.packet = [](wire::Packet& packet) {
    packet.bth.dest_qp = wire::kGsiQpn;
    packet.deth = {.qkey = wire::kGsiQkey, .source_qp = wire::kGsiQpn};
}};

std::string found(const Message& question, const Message& answer) {
    Scene scene(wire::QpType::Ud);
    scene.sent("SEND_ONLY", 0, datagram(question), kBetweenQps1);
    scene.heard("SEND_ONLY", 0, datagram(answer), kBetweenQps1);
    return scene.found();
}

} // namespace

TEST_CASE("model: an answer of management has the numbers of its question", "[model][N-30]") {
    const Message right{.attribute = kReject, .first = 99, .second = 7};
    CHECK(found({}, right) == "");
    Message wrong = right;
    wrong.transaction = 0x5566'7788; // half of it
    CHECK(found({}, wrong) == "N-30 transactionid");
    wrong = right;
    wrong.second = 8;
    CHECK(found({}, wrong) == "N-30 remotecommid");
    // Of service id resolution it stands elsewhere.
    const Message service{.attribute = kServiceRequest, .first = 5};
    CHECK(found(service, {.attribute = kServiceReply, .first = 5, .second = 1}) == "");
    CHECK(found(service, {.attribute = kServiceReply, .first = 6}) == "N-30 requestid");
    // What asks has numbers of its own.
    CHECK(found({}, {.attribute = kRequest, .transaction = 1, .first = 2}) == "");
}

TEST_CASE("model: a REP that comes again is the same", "[model][CM-05]") {
    const auto again = [](std::uint32_t second_id) {
        Scene scene(wire::QpType::Ud);
        scene.sent("SEND_ONLY", 0, datagram({}), kBetweenQps1);
        scene.heard("SEND_ONLY", 0, datagram({.attribute = kReply, .first = 99, .second = 7}),
                    kBetweenQps1);
        scene.heard("SEND_ONLY", 1,
                    datagram({.attribute = kReply, .first = second_id, .second = 7}), kBetweenQps1);
        return scene.found();
    };
    CHECK(again(99) == "");
    CHECK(again(98) == "CM-05 cm.private");
}

} // namespace veriroce::model::test
