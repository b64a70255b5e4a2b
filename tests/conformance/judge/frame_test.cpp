// The headers before the transport headers, the ICRC, and CM: real frames with one field changed.
#include <catch2/catch.hpp>

#include "dissector/wire/frame.hpp"
#include "tests/conformance/judge/history.hpp"

namespace veriroce::judge::test {
namespace {

using flow::test::Frame;
using flow::test::frames_of;
using flow::test::pcap;

// Where things stand in the IPv4 captures, counted from the frame's first byte.
constexpr std::size_t kIpFlags = 14 + 6;
constexpr std::size_t kUdpLength = 14 + 20 + 4;
constexpr std::size_t kBth = 14 + 20 + 8;
constexpr std::size_t kQkey = kBth + 12;
constexpr std::size_t kCmData = kBth + 12 + 8 + 24;
constexpr std::size_t kReplyDepth = kCmData + 25;
constexpr std::size_t kReplyQpn = kCmData + 12;
constexpr std::size_t kRejectReason = kCmData + 11;
constexpr std::size_t kRequestGid = kCmData + 56;
constexpr std::size_t kRequestPsn = kCmData + 44;
constexpr std::size_t kRequestTimeout =
    kCmData + 43;                                   // for the answer to a REQ; in its highest bits
constexpr std::size_t kReplyTimeout = kCmData + 47; // for the answer to a REP
constexpr std::size_t kRequestPkey = kCmData + 48;
constexpr std::size_t kRequestRepeats = kCmData + 51; // in its highest bits
constexpr std::size_t kReplyPsn = kCmData + 20;

enum class Icrc : std::uint8_t { Good, Stale };

std::vector<Found> changed(const char* capture, std::size_t packet, std::size_t at,
                           unsigned char value, Icrc icrc = Icrc::Good,
                           Assumptions assumptions = {}) {
    auto frames = frames_of(pcap(capture));
    frames.at(packet - 1).bytes.at(at) = std::byte{value};
    if (icrc == Icrc::Good) wire::seal(frames[packet - 1].bytes);
    return found_by(judge_of(frames, std::move(assumptions)));
}

} // namespace

TEST_CASE("judge CRC-01: a wrong ICRC is its sender's doing where it was recorded",
          "[judge][CRC-01]") {
    const auto sure = [](Assumptions assumptions) {
        auto found =
            changed("rxe-send-imm", 3, kBth + 20, 0x55, Icrc::Stale, std::move(assumptions));
        std::erase_if(found, [](const Found& one) { return one.certainty != Certainty::Certain; });
        return found;
    };
    CHECK(sure({}) == kNothing);
    Assumptions there;
    there.recorded_at = {kA, kB};
    CHECK(sure(there) == certain("CRC-01"));
}

TEST_CASE("judge CA17-7: IPv4 flags", "[judge][CA17-7]") {
    CHECK(changed("rxe-send-imm", 1, kIpFlags, 0x00) == certain("CA17-7"));
    CHECK(changed("rxe-send-imm", 1, kIpFlags, 0x40) == kNothing);
}

TEST_CASE("judge BTH-16: reserved bits that a switch may have set are a possible violation",
          "[judge][BTH-16]") {
    constexpr std::size_t kFecnByte = kBth + 4; // outside the ICRC
    constexpr std::size_t kAckByte = kBth + 8;
    CHECK(changed("rxe-send-imm", 1, kFecnByte, 0x10) == possible("BTH-16"));
    CHECK(changed("rxe-send-imm", 1, kFecnByte, 0x40) == kNothing); // BECN
    Assumptions there;
    there.recorded_at = {kA, kB};
    CHECK(changed("rxe-send-imm", 1, kFecnByte, 0x10, Icrc::Good, there) == certain("BTH-16"));
    CHECK(changed("rxe-send-imm", 1, kAckByte, 0x01) == certain("BTH-16")); // the ICRC covers it
}

TEST_CASE("judge CRC-07: a request that came with a wrong ICRC is named as that",
          "[judge][CRC-07]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    auto damaged = wire.from_a(kSendOnly, 101);
    damaged.integrity = flow::Integrity::Bad;
    const auto three = wire.from_a(kSendOnly, 102);
    const auto answered = wire.ack(100, 1);
    const auto all = wire.ack(102, 3);
    Judge judge;
    std::uint64_t number = 0;
    for (auto packet : {one, answered, damaged, three, all}) {
        packet.number = ++number;
        judge.observe(packet);
    }
    judge.finish();
    REQUIRE(found_by(judge) == possible("CRC-07"));
    CHECK(judge.violations()[0].measured.find("101, which arrived only with a wrong ICRC") !=
          std::string::npos);
    CHECK(judge.summary().lost_by_capture == 0); // it is in the capture
}

TEST_CASE("judge CRC-07: so is the newest one, behind which none has come", "[judge][CRC-07]") {
    Wire wire;
    const auto one = wire.from_a(kSendOnly, 100);
    auto damaged = wire.from_a(kSendOnly, 101);
    damaged.integrity = flow::Integrity::Bad;
    const auto answered = wire.ack(100, 1);
    const auto too_far = wire.ack(101, 2);
    Judge judge;
    std::uint64_t number = 0;
    for (auto packet : {one, answered, damaged, too_far}) {
        packet.number = ++number;
        judge.observe(packet);
    }
    judge.finish();
    REQUIRE(found_by(judge) == possible("CRC-07"));
    CHECK(judge.violations()[0].measured == "it answers PSN 101, which arrived only with a wrong "
                                            "ICRC");
}

TEST_CASE("judge CA17-21: the UDP length ends with the ICRC", "[judge][CA17-21]") {
    const auto frames = frames_of(pcap("rxe-send-imm"));
    const auto low = std::to_integer<unsigned>(frames[2].bytes.at(kUdpLength + 1));
    const auto shorter = static_cast<unsigned char>(low - 4);
    const auto found = changed("rxe-send-imm", 3, kUdpLength + 1, shorter);
    CHECK(std::ranges::find(found, certain("CA17-21").front()) != found.end());
}

TEST_CASE("judge CM-03: the initiator depth of a REP", "[judge][CM-03]") {
    CHECK(changed("rxe-rping-cm", 2, kReplyDepth, 1) == kNothing);
    CHECK(changed("rxe-rping-cm", 2, kReplyDepth, 0) == kNothing);
    CHECK(changed("rxe-rping-cm", 2, kReplyDepth, 4) == certain("CM-03"));
}

TEST_CASE("judge CM-02: PSNs and P_Key are those that CM agreed on", "[judge][CM-02]") {
    const auto psn_of = [](std::size_t packet, std::size_t at) {
        const auto frames = frames_of(pcap("rxe-rping-cm"));
        return std::to_integer<unsigned>(frames.at(packet - 1).bytes.at(at + 2));
    };
    for (const auto& [packet, at] : {std::pair{1UL, kRequestPsn}, std::pair{2UL, kReplyPsn}}) {
        const unsigned low = psn_of(packet, at);
        REQUIRE((low > 0 && low < 255));
        // What came before the first one may be missing; a PSN before it belongs to nothing.
        const auto with = [&](unsigned value) {
            auto found = changed("rxe-rping-cm", packet, at + 2, static_cast<unsigned char>(value));
            std::erase_if(found, [](const Found& one) { return one.rule != "CM-02"; });
            return found;
        };
        CHECK(with(low - 1) == possible("CM-02"));
        CHECK(with(low) == kNothing);
        CHECK(with(low + 1) == certain("CM-02"));
    }
    const auto keys = changed("rxe-rping-cm", 1, kRequestPkey + 1, 0xFE);
    REQUIRE_FALSE(keys.empty());
    CHECK(std::ranges::all_of(keys,
                              [](const Found& one) { return one == certain("CM-02").front(); }));
    CHECK(changed("rxe-rping-cm", 1, kRequestPkey, 0x7F) == kNothing); // a limited member
}

TEST_CASE("judge CM-01: how often and when a CM message comes again", "[judge][CM-01]") {
    // The message is there `times` times, `apart` from each other.
    const auto again = [](std::size_t packet, int times, std::chrono::nanoseconds apart,
                          unsigned char repeats = 0x30) {
        auto frames = frames_of(pcap("rxe-rping-cm"));
        frames.at(0).bytes.at(kRequestRepeats) = std::byte{repeats};
        frames[0].bytes.at(kRequestTimeout) = std::byte{(20 << 3) | 0};
        frames[0].bytes.at(kReplyTimeout) = std::byte{(20 << 3) | 7};
        wire::seal(frames[0].bytes);
        std::vector<Frame> all;
        wire::Duration later{0};
        for (std::size_t i = 0; i < frames.size(); ++i) {
            for (int time = 0; time < (i + 1 == packet ? times : 1); ++time) {
                if (time > 0) later += apart;
                all.push_back(frames[i]);
                all.back().time_ns = frames[i].time_ns + later.count();
            }
        }
        return found_by(judge_of(all));
    };
    using std::chrono::seconds;
    for (const std::size_t packet : {1UL, 2UL}) {
        CHECK(again(packet, 4, seconds(5)) == kNothing);
        CHECK(again(packet, 5, seconds(5)) == possible("CM-01"));
        CHECK(again(packet, 2, seconds(4)) == possible("CM-01")); // of 4.3 s
        CHECK(again(packet, 2, seconds(5), 0x00) == possible("CM-01"));
    }
}

TEST_CASE("judge CA17-35: reasons of a REJ", "[judge][CA17-35]") {
    CHECK(changed("rxe-cm-reject", 2, kRejectReason, 13) == certain("CA17-35"));
    CHECK(changed("rxe-cm-reject", 2, kRejectReason, 19) == certain("CA17-35"));
    CHECK(changed("rxe-cm-reject", 2, kRejectReason, 28) == kNothing);
}

TEST_CASE("judge CA17-37: the status of an APR", "[judge][CA17-37]") {
    constexpr std::size_t kAttribute = kCmData - 24 + 17;
    constexpr std::size_t kStatus = kCmData + 9;
    const auto with_status = [](unsigned char status) {
        auto frames = frames_of(pcap("rxe-cm-reject"));
        std::vector<std::byte>& answer = frames.at(1).bytes;
        answer.at(kAttribute) = std::byte{0x1A};
        answer.at(kStatus) = std::byte{status};
        wire::seal(answer);
        return found_by(judge_of(frames));
    };
    CHECK(with_status(7) == certain("CA17-37"));
    CHECK(with_status(2) == kNothing);
}

TEST_CASE("judge N-30: the form of CM messages", "[judge][N-30]") {
    CHECK(changed("rxe-cm-reject", 2, kQkey + 3, 1) == certain("N-30"));
}

TEST_CASE("judge CM-09: a DREQ names the QP of its receiver", "[judge][CM-09]") {
    constexpr std::size_t kDisconnectQpn = kCmData + 8;
    CHECK(changed("rxe-rping-cm", 64, kDisconnectQpn + 1, 0x77) == certain("CM-09"));
    CHECK(changed("rxe-rping-cm", 64, kDisconnectQpn + 3, 0x77) == kNothing); // not of the QPN
    CHECK(changed("rxe-rping-cm", 64, kDisconnectQpn - 1, 0x77) == kNothing); // another connection
    // The peer has restarted: another REQ has the same ID, and the DREQ ends the older connection.
    auto frames = frames_of(pcap("rxe-rping-cm"));
    Frame again = frames.at(1); // the receiver of the DREQ sent the REP
    again.time_ns = frames.at(62).time_ns;
    again.bytes.at(kReplyQpn + 1) ^= std::byte{0x40};
    wire::seal(again.bytes);
    frames.insert(frames.begin() + 63, again);
    const auto found = found_by(judge_of(frames));
    CHECK(std::ranges::none_of(found, [](const Found& one) { return one.rule == "CM-09"; }));
}

TEST_CASE("judge CM-13: IPv4 peers are named by mapped GIDs", "[judge][CM-13]") {
    CHECK(changed("rxe-rping-cm", 1, kRequestGid, 0xFE) == certain("CM-13"));
}

TEST_CASE("judge: BTH-10 and LEN-05, requests that must be refused", "[judge][BTH-10][LEN-05]") {
    Wire wire;
    auto assumptions = connected();
    assumptions.not_judged = {kA};
    std::vector<std::byte> bytes(1028);
    auto padded = wire.from_a(kSendFirst, 100, 1024);
    padded.transport.bth.pad = 3;
    padded.body_bytes = 1024 + 4;
    padded.transport.body = bytes;
    const auto found = judged(assumptions, {padded, wire.ack(100, 0)});
    REQUIRE_FALSE(found.empty());
    CHECK((found.front().rule == "LEN-01" || found.front().rule == "BTH-10"));
    const auto huge = wire.read(100, 0x80000001);
    const auto first = wire.answer(100, 1, wire::Syndrome::ack(31), kReadFirst, 1024);
    CHECK(judged(assumptions, {huge, first}) == certain("LEN-05"));
}

} // namespace veriroce::judge::test
