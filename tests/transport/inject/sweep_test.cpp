// Goodput over loss in virtual time: what is delivered counts once, however often it was sent.
#include <catch2/catch.hpp>

#include "dissector/wire/packet.hpp"
#include "transport/inject/delivery.hpp"
#include "transport/inject/report.hpp"
#include "transport/inject/sweep.hpp"

namespace veriroce::inject::tests {
namespace {

using namespace std::chrono_literals;

// A frame of the requester 10.0.0.1 or the responder 10.0.0.2.
std::vector<std::byte> sized_frame(std::string_view opcode, std::uint32_t psn, std::size_t bytes) {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name(opcode);
    const bool response = wire::opcode_info(packet.bth.opcode).response();
    packet.bth.dest_qp = wire::Qpn{response ? 0x21U : 0x11U};
    packet.bth.psn = wire::Psn(psn);
    packet.headers = wire::opcode_info(packet.bth.opcode).headers;
    packet.aeth.syndrome = wire::Syndrome::ack(31);
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const std::vector<std::byte> payload(bytes, std::byte{7});
    wire::Envelope envelope{.source = wire::IpAddress::from_v4(0x0A000001),
                            .destination = wire::IpAddress::from_v4(0x0A000002)};
    if (response) std::swap(envelope.source, envelope.destination);
    std::vector<std::byte> whole(wire::kMaxFrameOverhead + headers.size() + bytes);
    whole.resize(wire::write_frame({}, envelope, 7, headers, payload, whole));
    return whole;
}

} // namespace

TEST_CASE("delivery: a PSN counts once, when it is acknowledged or answered", "[inject]") {
    Delivery delivery;
    delivery.sent(0, 100, false);
    delivery.sent(1, 50, true);
    delivery.sent(0, 100, false); // again
    delivery.sent(2, 10, true);
    CHECK(delivery.acknowledged(-1).bytes == 0);
    const Delivered two = delivery.acknowledged(1);
    CHECK(two.bytes == 150);
    CHECK(two.messages == 1);
    CHECK(delivery.acknowledged(1).bytes == 0);
    CHECK(delivery.acknowledged(2).messages == 1);
    // READ responses: one that was lost comes later, one comes twice.
    CHECK(delivery.answered(10, 64, false).bytes == 64);
    CHECK(delivery.answered(12, 64, true).messages == 1);
    CHECK(delivery.answered(12, 64, true).bytes == 0);
    CHECK(delivery.answered(11, 64, false).bytes == 64);
    // Much later the same places of the ring are free again; what is too old does not count.
    CHECK(delivery.answered(12 + Delivery::kAnswers, 64, false).bytes == 64);
    CHECK(delivery.answered(12, 64, false).bytes == 0);
    CHECK(delivery.answered(11 + Delivery::kAnswers, 64, false).bytes == 64);
}

TEST_CASE("sweep: the range is written in percent", "[inject]") {
    const auto range = parse_sweep("loss=0.01%..5%");
    REQUIRE(range);
    CHECK(range->low == Approx(0.0001));
    CHECK(range->high == Approx(0.05));
    for (const auto* wrong :
         {"", "loss", "loss=1%", "loss=5%..1%", "loss=0%..1%", "loss=1..5", "loss=1%..101%",
          "delay=1%..5%", "loss=1%..5%x", "loss=1e%..5%", "loss=nan%..5%", "loss=-1%..5%"}) {
        INFO(wrong);
        REQUIRE_FALSE(parse_sweep(wrong));
    }
    CHECK(loss_text(0.0001) == "0.01 %");
    CHECK(loss_text(0) == "none");
}

TEST_CASE("sweep: each step counts what was delivered in it", "[inject]") {
    Sweep sweep({.range = {0.25, 0.5}, .steps = 2, .step_time = 100ms});
    REQUIRE(sweep.steps().size() == 3);
    Bump bump(7, sweep.rules());
    CHECK(sweep.begun() == 0);
    // A requester that sends one packet of 1,000 bytes a millisecond, until it is acknowledged.
    std::vector<Leaving> out;
    std::uint32_t psn = 0;
    std::uint64_t steps_delivered[3] = {};
    wire::Instant now(5s);
    const wire::Instant began = now;
    while (!sweep.ended()) {
        const auto pass = [&](End from, const std::vector<std::byte>& bytes) {
            out.clear();
            bump.handle(from, bytes, now, out);
            const bool passed = !out.empty();
            bump.sent();
            return passed;
        };
        if (pass(End::A, sized_frame("SEND_ONLY", psn, 1'000)) &&
            pass(End::B, sized_frame("ACKNOWLEDGE", psn, 0))) {
            const auto step = static_cast<std::size_t>((now - began) / 100ms);
            if ((now - began) % 100ms >= 20ms) ++steps_delivered[step];
            ++psn;
        }
        now += 1ms;
        sweep.observe(bump, now);
        REQUIRE(now - began < 1s);
    }
    CHECK(now - began == 300ms);
    REQUIRE(sweep.begun() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const SweepStep& step = sweep.steps()[i];
        INFO(i);
        CHECK(step.measured == 80ms);
        CHECK(step.samples.size() == 8);
        CHECK(step.messages == steps_delivered[i]);
        CHECK(step.bytes == 1'000 * steps_delivered[i]);
        CHECK(step.goodput() == Approx(8.0 * 1'000 * static_cast<double>(step.messages) / 0.08));
        CHECK((step.dropped > 0) == (i > 0));
    }
    CHECK(sweep.steps()[0].messages == 80);
    CHECK(sweep.steps()[0].retransmissions == 0);
    CHECK(sweep.steps()[1].loss == 0.25);
    CHECK(sweep.steps()[2].loss == 0.5);
    CHECK(sweep.steps()[2].messages < sweep.steps()[1].messages);
    CHECK(sweep.steps()[2].retransmissions > sweep.steps()[1].retransmissions);
    const std::string table = sweep_table(sweep.steps());
    CHECK(table.find("none       8.000     1.000       1000.0") != std::string::npos);
}

} // namespace veriroce::inject::tests
