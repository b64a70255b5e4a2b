// CNPs against the congestion management that the device reports.
#include <catch2/catch.hpp>

#include "dissector/wire/line.hpp"
#include "tests/conformance/model/scene.hpp"

namespace veriroce::model::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

const std::vector<std::byte> kBody(16);
constexpr dut::CongestionSettings kOn{
    .np = true, .rp = false, .cnp_interval_us = 1000, .cnp_dscp = 20};

Scene managed(const dut::CongestionSettings& settings = kOn) {
    Scene scene;
    scene.story.setting.dut.congestion = settings;
    return scene;
}

void at(Scene& scene, wire::Duration time) {
    const wire::Instant now = wire::Instant{} + time;
    scene.story.packets.back().at = {now, now};
}

void cnp(Scene& scene, wire::Duration time, std::uint8_t dscp = 20) {
    scene.heard("CNP", 0, kBody, {.envelope = [&](auto& e) { e.dscp = dscp; }});
    at(scene, time);
}

void send(Scene& scene, std::int64_t psn, std::uint8_t ecn, wire::Duration time = {}) {
    scene.sent("SEND_ONLY", psn, filled(0, 4), {.envelope = [&](auto& e) { e.ecn = ecn; }});
    at(scene, time);
}

void set(Scene& scene, const dut::CongestionSettings& settings, wire::Duration time) {
    scene.call(dut::CongestionSet{}, dut::Result{settings});
    scene.story.calls.back().asked = scene.story.calls.back().answered = wire::Instant{} + time;
}

} // namespace

TEST_CASE("congestion: CNPs are as far apart as is configured", "[model][CNP-04]") {
    const auto found = [](wire::Duration gap, const dut::CongestionSettings& settings, bool exact) {
        Scene scene = managed(settings);
        scene.story.setting.exact = exact;
        cnp(scene, milliseconds(1));
        cnp(scene, milliseconds(1) + gap);
        return scene.found();
    };
    CHECK(found(microseconds(1000), kOn, true) == "");
    CHECK(found(microseconds(999), kOn, true) == "CNP-04 the time between CNPs");
    CHECK(found(microseconds(999), {.np = true, .cnp_dscp = 20}, true) == "");
    // At another port stamps are inexact.
    CHECK(found(microseconds(500), kOn, false) == "");
    CHECK(found(microseconds(400), kOn, false) == "CNP-04 the time between CNPs");
    CHECK(found(microseconds(0), {.np = true, .cnp_interval_us = 50}, false) == "");
}

TEST_CASE("congestion: the interval that counts is the one of now", "[model][CNP-04]") {
    Scene scene = managed();
    cnp(scene, milliseconds(1));
    dut::CongestionSettings shorter = kOn;
    shorter.cnp_interval_us = 10;
    set(scene, shorter, milliseconds(1));
    cnp(scene, microseconds(1100));
    cnp(scene, microseconds(1110));
    CHECK(scene.found() == "");
    cnp(scene, microseconds(1119));
    CHECK(scene.found() == "CNP-04 the time between CNPs");
}

TEST_CASE("congestion: a CNP has the DSCP that is configured", "[model][CNP-06]") {
    Scene scene = managed();
    cnp(scene, milliseconds(1));
    CHECK(scene.found() == "");
    dut::CongestionSettings other = kOn;
    other.cnp_dscp = 30;
    set(scene, other, milliseconds(5));
    cnp(scene, milliseconds(6)); // on its way when it was changed
    cnp(scene, milliseconds(8), 30);
    CHECK(scene.found() == "");
    cnp(scene, milliseconds(30));
    CHECK(scene.found() == "CNP-06 ip.dscp");
    scene.story.setting.dut.traits = {"dscp_overridden"};
    CHECK(scene.found() == "");
}

TEST_CASE("congestion: a mark on what the device takes draws a CNP", "[model][CNP-01]") {
    const auto found = [](auto after_mark, const dut::CongestionSettings& settings = kOn) {
        Scene scene = managed(settings);
        scene.post_receives(2);
        send(scene, 0, wire::kCongestionExperienced);
        after_mark(scene);
        scene.story.end = wire::Instant{} + std::chrono::seconds(1);
        return scene.found();
    };
    const auto acknowledged = [](Scene& scene) { scene.acknowledged(0, 1); };
    CHECK(found(acknowledged) == "CNP-01 CNP");
    CHECK(found([](Scene& scene) {
              scene.acknowledged(0, 1);
              cnp(scene, milliseconds(1));
          }) == "");
    // Its QP is reset, or ends by a NAK, before the CNP is due.
    CHECK(found([](Scene& scene) {
              scene.acknowledged(0, 1);
              scene.call(dut::QpModify{.qp = kQp, .attributes = {.state = wire::QpState::Reset}});
          }) == "");
    // A later mark counts where an earlier one was never accepted.
    CHECK(found([](Scene& scene) {
              send(scene, 1, wire::kCongestionExperienced);
              scene.acknowledged(1, 2);
          }) == "CNP-01 CNP");
    // Not known to have arrived; sent again without a mark; the notification point is off.
    CHECK(found([](Scene&) {}) == "");
    CHECK(found([](Scene& scene) {
              send(scene, 0, 0);
              scene.acknowledged(0, 1);
          }) == "");
    CHECK(found(acknowledged, {.np = false, .cnp_interval_us = 1000}) == "");
    // The wire may have lost it.
    Scene scene = managed();
    scene.story.setting.exact = false;
    scene.post_receives(1);
    send(scene, 0, wire::kCongestionExperienced);
    scene.acknowledged(0, 1);
    scene.story.end = wire::Instant{} + std::chrono::seconds(1);
    CHECK(scene.found() == "");
}

TEST_CASE("congestion: one CNP stands for the marks within its interval", "[model][CNP-01]") {
    const auto found = [](wire::Duration later) {
        Scene scene = managed();
        scene.post_receives(2);
        send(scene, 0, wire::kCongestionExperienced);
        cnp(scene, {});
        send(scene, 1, wire::kCongestionExperienced, later);
        scene.acknowledged(1, 2);
        scene.story.end = wire::Instant{} + std::chrono::seconds(1);
        return scene.found();
    };
    CHECK(found(microseconds(1900)) == "");
    CHECK(found(microseconds(2100)) == "CNP-01 CNP");
}

TEST_CASE("congestion: CNPs end a run of packets at the rate of the line", "[model][CA17-45]") {
    constexpr std::uint64_t line_rate = 10'000'000'000;
    struct Sender {
        bool reacts = true; // it is a reaction point
        int cnps = 96;
        wire::Duration idle{}; // once, after the CNPs
        bool early = false;    // the CNPs come before its packets
    };
    const auto found = [](const Sender& sender) {
        Scene scene = managed({.np = true, .rp = sender.reacts});
        scene.story.setting.exact = true;
        scene.story.setting.line_rate = line_rate;
        wire::Duration now = milliseconds(1);
        const auto cnps = [&] {
            for (int i = 0; i < sender.cnps; ++i) {
                scene.sent("CNP", 0, kBody, {.packet = [](auto& p) { p.bth.becn = true; }});
                scene.story.packets.back().packet->bth.psn = wire::Psn(0);
                at(scene, now);
            }
        };
        if (sender.early) cnps();
        for (std::int64_t psn = 0; psn < 8000; ++psn) {
            scene.heard("RDMA_WRITE_MIDDLE", psn, filled(0, 256));
            at(scene, now);
            const std::size_t bytes = scene.story.packets.back().bytes.size();
            now += wire::time_on_line(bytes, line_rate);
            if (psn == 100) {
                if (!sender.early) cnps();
                now += sender.idle;
            }
        }
        return scene.found().contains("CA17-45");
    };
    CHECK(found({}));
    CHECK_FALSE(found({.reacts = false}));
    CHECK_FALSE(found({.cnps = 95}));
    CHECK_FALSE(found({.idle = microseconds(1)}));
    CHECK_FALSE(found({.early = true}));
}

TEST_CASE("congestion: CNPs of strangers do not slow a QP", "[model][CNP-10]") {
    struct Sender {
        wire::Duration gap; // between packets while CNPs come
        bool reacts = true; // it is a reaction point
        int cnps = 400;     // 50 us apart
        std::uint8_t host = 99;
        bool before = true;      // it sent before them
        bool one_message = true; // or each packet is one of its own
        bool exact = true;
    };
    const auto found = [](const Sender& sender) {
        Scene scene = managed({.np = true, .rp = sender.reacts});
        scene.story.setting.exact = sender.exact;
        wire::Duration now = milliseconds(1);
        std::int64_t psn = 0;
        const auto data_until = [&](wire::Duration end, wire::Duration gap) {
            for (; now < end; now += gap) {
                scene.heard(sender.one_message ? "RDMA_WRITE_MIDDLE" : "SEND_ONLY", psn++,
                            filled(0, 256));
                at(scene, now);
            }
        };
        if (sender.before) data_until(now + microseconds(20), microseconds(1));
        for (int i = 0; i < sender.cnps; ++i) {
            const wire::Duration came = milliseconds(2) + i * microseconds(50);
            scene.sent("CNP", 0, kBody,
                       {.packet = [](auto& p) { p.bth.becn = true; },
                        .envelope =
                            [&](auto& e) {
                                if (sender.host != 0)
                                    e.source.bytes.back() = std::byte{sender.host};
                            }});
            scene.story.packets.back().packet->bth.psn = wire::Psn(0);
            at(scene, came);
            now = std::max(now, came);
            data_until(came + microseconds(50), sender.gap);
        }
        return scene.found().contains("CNP-10");
    };
    CHECK(found({.gap = milliseconds(1)}));
    CHECK(found({.gap = microseconds(33)}));
    CHECK_FALSE(found({.gap = microseconds(31)}));
    CHECK_FALSE(found({.gap = milliseconds(1), .one_message = false}));
    // A real link tells less of short times.
    CHECK(found({.gap = milliseconds(1), .exact = false}));
    CHECK_FALSE(found({.gap = microseconds(300), .exact = false}));
    CHECK_FALSE(found({.gap = milliseconds(1), .reacts = false}));
    CHECK_FALSE(found({.gap = milliseconds(1), .cnps = 95}));
    CHECK_FALSE(found({.gap = milliseconds(1), .host = 0}));
    CHECK_FALSE(found({.gap = milliseconds(1), .before = false}));
}

} // namespace veriroce::model::test
