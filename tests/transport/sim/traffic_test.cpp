// Two engines over sealed frames: every operation at every length class and MTU, with every single
// frame lost, doubled, late or damaged in turn. Both ends and the data are checked.
#include "tests/transport/sim/pair.hpp"

#include <algorithm>
#include <cstring>

#include "tests/part_of.hpp"

using namespace veriroce;
using namespace veriroce::sim;
using namespace veriroce::sim::test;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;
using veriroce::test::kSweepStep;

namespace {

// Offsets in both regions, far enough apart for the longest message here.
constexpr std::uint64_t source_at = 0x1000;
constexpr std::uint64_t send_at = 0x8000;
constexpr std::uint64_t write_at = 0x10000;
constexpr std::uint64_t read_at = 0x18000;
constexpr std::uint64_t atomic_at = 0x20000;
constexpr std::uint64_t result_at = 0x20100;

bool equal(wire::Bytes a, wire::Bytes b) {
    return std::ranges::equal(a, b);
}

std::uint64_t number(wire::Bytes bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

void set(wire::MutableBytes bytes, std::uint64_t value) {
    std::memcpy(bytes.data(), &value, sizeof value);
}

// One of each operation, `length` bytes where they have a length.
void post_one_of_each(Pair& pair, std::uint32_t length) {
    Side& a = pair[0];
    Side& b = pair[1];
    set(b.at(atomic_at, 8), 40);
    b.post_receive(101, length, send_at);
    b.post_receive(102, 0, 0);
    b.post_receive(103, length, send_at + 0x4000);
    const std::array out{a.sge(source_at, length)};
    const std::array in{a.sge(read_at, length)};
    const std::array result{a.sge(result_at, 8)};
    const std::array result2{a.sge(result_at + 8, 8)};
    pair.post({.id = 1, .opcode = WrOpcode::Send}, out);
    pair.post({.id = 2, .opcode = WrOpcode::RdmaWrite}, out, write_at);
    pair.post({.id = 3, .opcode = WrOpcode::RdmaRead}, in, read_at);
    pair.post({.id = 4, .opcode = WrOpcode::AtomicFetchAndAdd, .compare_or_add = 2}, result,
              atomic_at);
    pair.post({.id = 5, .opcode = WrOpcode::RdmaWriteWithImm, .imm = 0xABCD}, out,
              write_at + 0x4000);
    pair.post({.id = 6, .opcode = WrOpcode::AtomicCmpAndSwp, .compare_or_add = 42, .swap = 7},
              result2, atomic_at);
    pair.post({.id = 7, .opcode = WrOpcode::SendWithImm, .imm = 0x1234}, out);
}

void check_one_of_each(Pair& pair, std::uint32_t length) {
    Side& a = pair[0];
    Side& b = pair[1];
    const auto sent = a.completions();
    REQUIRE(sent.size() == 7);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        CHECK(sent[i].id == i + 1); // N-20: in the order of posting
        CHECK(sent[i].status == WcStatus::Success);
    }
    CHECK(sent[2].byte_len == length);
    const auto received = b.completions();
    REQUIRE(received.size() == 3);
    CHECK(received[0].id == 101);
    CHECK(received[0].byte_len == length);
    CHECK(received[1].opcode == WcOpcode::RecvRdmaWithImm);
    CHECK(received[1].imm == 0xABCD);
    CHECK(received[1].byte_len == length);
    CHECK(received[2].imm == 0x1234);
    const auto source = a.at(source_at, length);
    CHECK(equal(b.at(send_at, length), source));
    CHECK(equal(b.at(send_at + 0x4000, length), source));
    CHECK(equal(b.at(write_at, length), source));
    CHECK(equal(b.at(write_at + 0x4000, length), source));
    CHECK(equal(a.at(read_at, length), b.at(read_at, length)));
    CHECK(number(a.at(result_at, 8)) == 40);
    CHECK(number(a.at(result_at + 8, 8)) == 42);
    CHECK(number(b.at(atomic_at, 8)) == 7);
    // No byte beyond: the bytes after each target are unchanged.
    const auto untouched = pattern(region_bytes, 2);
    for (const std::uint64_t at : {send_at, write_at, write_at + 0x4000, send_at + 0x4000}) {
        CHECK(equal(b.at(at + length, 16), wire::Bytes(untouched).subspan(at + length, 16)));
    }
    CHECK(a.engine.query_qp(a.qp).value().state == engine::QpState::Rts);
    CHECK(b.engine.query_qp(b.qp).value().state == engine::QpState::Rts);
    CHECK_FALSE(a.nic.next_deadline());
    CHECK_FALSE(b.nic.next_deadline());
}

std::vector<std::uint32_t> length_classes(wire::Mtu mtu) {
    const std::uint32_t m = wire::bytes_of(mtu);
    return {0, 1, 2, 3, 4, m - 1, m, m + 1, 2 * m - 1, 2 * m, 3 * m - 1, 3 * m, 3 * m + 1};
}

struct Choice {
    std::string_view what;
    engine::Behaviour behaviour;
};

// One row for each lawful behaviour that retransmission meets.
std::vector<Choice> choices() {
    using namespace engine;
    return {
        {"standard", {}},
        {"coalesced acknowledges", {.ack_policy = AckPolicy::Coalesced}},
        {"whole READs again", {.read_restart = ReadRestart::WholeRead}},
        {"tails go on", {.partial_read_reply = PartialReadReply::MiddleOrLast}},
        {"duplicates by READ response", {.duplicate_answer = DuplicateAnswer::ResendReadResponse}},
        {"duplicates by latest PSN", {.duplicate_answer = DuplicateAnswer::LatestPsn}},
        {"implied NAK on timeout", {.implied_nak = ImpliedNak::OnTimeout}},
        {"small window", {.ack_request_every = 3, .max_unacked_packets = 5}},
    };
}

} // namespace

TEST_CASE("traffic: every operation at every length class and MTU over IPv4 and IPv6",
          "[sim][LEN-10][RDR-01][LEN-07][LEN-08][LEN-09]") {
    for (const wire::Mtu mtu :
         {wire::Mtu::B256, wire::Mtu::B512, wire::Mtu::B1024, wire::Mtu::B2048, wire::Mtu::B4096}) {
        for (const std::uint32_t length : length_classes(mtu)) {
            for (const bool ipv6 : {false, true}) {
                INFO("MTU " << wire::bytes_of(mtu) << ", " << length << " bytes, v6 " << ipv6);
                Pair pair({.mtu = mtu, .ipv6 = ipv6});
                post_one_of_each(pair, length);
                pair.run();
                check_one_of_each(pair, length);
                CHECK(pair[0].engine.counters().local_ack_timeout == 0);
                CHECK(pair[1].engine.counters().duplicate_request == 0);
                CHECK(pair[1].engine.counters().out_of_sequence == 0);
            }
        }
    }
}

TEST_CASE("traffic: every length from nothing to three packets and a byte", "[sim][LEN-10]") {
    for (std::uint32_t length = 0; length <= 3 * 256 + 1; length += kSweepStep) {
        Pair pair({.mtu = wire::Mtu::B256});
        post_one_of_each(pair, length);
        pair.run();
        INFO(length);
        check_one_of_each(pair, length);
    }
}

TEST_CASE("traffic: PSNs go round in every message and response", "[sim][RSP-09]") {
    for (std::uint32_t before = 0; before < 24; ++before) {
        INFO(before);
        Pair pair({.mtu = wire::Mtu::B256, .psn = wire::Psn(0) - before});
        post_one_of_each(pair, 3 * 256 + 1);
        pair.run();
        check_one_of_each(pair, 3 * 256 + 1);
    }
}

TEST_CASE("traffic: each frame lost, doubled, late or damaged in turn, and all completes",
          "[sim][REQ-11][REQ-09][RSP-10][ATM-04][CRC-08][CRC-09]") {
    struct WireFault {
        std::string_view what;
        Fate fate;
    };
    const std::array faults{
        WireFault{"lost", {.drop = true}}, WireFault{"doubled", {.duplicate = true}},
        WireFault{"late", {.later = 7us}}, WireFault{"very late", {.later = 50ms}},
        WireFault{"damaged", {.damage = true}}};
    for (const Choice& choice : choices()) {
        for (const WireFault& fault : faults) {
            std::uint64_t frames = 1;
            for (std::uint64_t k = 0; k < frames; k += kSweepStep) {
                INFO(choice.what << ", frame " << k << " " << fault.what);
                Pair pair({.behaviour = choice.behaviour, .mtu = wire::Mtu::B256});
                pair.fate = [&](std::uint64_t n) { return n == k ? fault.fate : Fate{}; };
                post_one_of_each(pair, 3 * 256 + 1);
                pair.run();
                check_one_of_each(pair, 3 * 256 + 1);
                if (k == 0) frames = pair.wire_log.size();
            }
            CHECK(frames > 20);
        }
    }
}

TEST_CASE("traffic: two frames lost, every pair of them", "[sim][REQ-11][REQ-09][RSP-07]") {
    for (std::uint64_t first = 0; first < 36; ++first) {
        for (std::uint64_t second = first + 1; second < 40; second += kSweepStep) {
            INFO("frames " << first << " and " << second);
            Pair pair({.mtu = wire::Mtu::B256});
            pair.fate = [&](std::uint64_t n) { return Fate{.drop = n == first || n == second}; };
            post_one_of_each(pair, 3 * 256 + 1);
            pair.run();
            check_one_of_each(pair, 3 * 256 + 1);
        }
    }
}

TEST_CASE("traffic: one frame in three is lost, and all completes", "[sim][REQ-14]") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        INFO("seed " << seed);
        Pair pair({.mtu = wire::Mtu::B256});
        std::uint64_t x = seed;
        pair.fate = [&](std::uint64_t) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            return Fate{.drop = (x >> 33U) % 3 == 0 && (x >> 60U) < 12};
        };
        post_one_of_each(pair, 3 * 256 + 1);
        pair.run();
        const auto state = pair[0].engine.query_qp(pair[0].qp).value().state;
        if (state == engine::QpState::Err) continue; // eight losses in a row are an honest end
        check_one_of_each(pair, 3 * 256 + 1);
    }
}

TEST_CASE("traffic: a receive that is posted late", "[sim][RNR-06][RNR-09]") {
    Pair pair;
    const std::array out{pair[0].sge(source_at, 2000)};
    pair.post({.id = 1, .opcode = WrOpcode::Send}, out);
    pair.run(1ms);
    CHECK(pair[0].completions().empty());
    CHECK(pair[1].engine.counters().rnr_nak_sent > 1);
    pair[1].post_receive(9, 4096, send_at);
    pair.run();
    CHECK(pair[0].completions().size() == 1);
    const auto received = pair[1].completions();
    REQUIRE(received.size() == 1);
    CHECK(received[0].byte_len == 2000);
    CHECK(equal(pair[1].at(send_at, 2000), pair[0].at(source_at, 2000)));
}

TEST_CASE("traffic: a peer that is silent is given up after retry_count and one transmissions",
          "[sim][TMO-03][REQ-13]") {
    for (const std::uint8_t retries : {std::uint8_t{0}, std::uint8_t{1}, std::uint8_t{7}}) {
        Pair pair({.retry_count = retries});
        pair.fate = [](std::uint64_t) { return Fate{.drop = true}; };
        const std::array out{pair[0].sge(source_at, 10)};
        pair.post({.id = 1, .opcode = WrOpcode::RdmaWrite}, out, write_at);
        pair.run();
        CHECK(pair.wire_log.size() == retries + 1U);
        const auto done = pair[0].completions();
        REQUIRE(done.size() == 1);
        CHECK(done[0].status == WcStatus::RetryExcErr);
        CHECK(pair[0].engine.query_qp(pair[0].qp).value().state == engine::QpState::Err);
        CHECK(pair[1].engine.query_qp(pair[1].qp).value().state == engine::QpState::Rts);
        CHECK_FALSE(pair[0].nic.next_deadline());
    }
}

TEST_CASE("traffic: a fatal NAK has its status at both ends", "[sim][REQ-16][KEY-02][LEN-06]") {
    Pair pair;
    pair[1].post_receive(5, 10, send_at);
    const std::array out{pair[0].sge(source_at, 11)};
    pair.post({.id = 1, .opcode = WrOpcode::Send}, out);
    pair.post({.id = 2, .opcode = WrOpcode::RdmaWrite}, out, write_at);
    pair.run();
    const auto sent = pair[0].completions();
    REQUIRE(sent.size() == 2);
    CHECK(sent[0].status == WcStatus::RemInvReqErr);
    CHECK(sent[1].status == WcStatus::WrFlushErr);
    const auto received = pair[1].completions();
    REQUIRE(received.size() == 1);
    CHECK(received[0].status == WcStatus::LocLenErr);
    const auto untouched = pattern(region_bytes, 2);
    CHECK(equal(pair[1].at(write_at, 11), wire::Bytes(untouched).subspan(write_at, 11)));
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(pair[i].engine.query_qp(pair[i].qp).value().state == engine::QpState::Err);
    }
}

TEST_CASE("traffic: two runs are equal to the byte", "[sim]") {
    const auto once = [] {
        Pair pair({.mtu = wire::Mtu::B256});
        pair.fate = [](std::uint64_t n) { return Fate{.drop = n % 7 == 3}; };
        post_one_of_each(pair, 1000);
        pair.run();
        return std::pair{pair.wire_log, pair.now};
    };
    const auto first = once();
    CHECK(first.first.size() > 20);
    CHECK(first == once());
}

TEST_CASE("traffic: both sides ask at the same time", "[sim][REQ-35]") {
    Pair pair;
    Side& b = pair[1];
    const std::array out{pair[0].sge(source_at, 5000)};
    const std::array back{b.sge(source_at, 5000)};
    pair.post({.id = 1, .opcode = WrOpcode::RdmaWrite}, out, write_at);
    const engine::SendRequest request{.id = 2,
                                      .opcode = WrOpcode::RdmaWrite,
                                      .sges = back,
                                      .remote_address = pair[0].base + write_at,
                                      .rkey = pair[0].region.rkey};
    REQUIRE_FALSE(b.engine.post_send(b.qp, std::span(&request, 1), pair.now).refused);
    pair.run();
    CHECK(pair[0].completions().size() == 1);
    CHECK(b.completions().size() == 1);
    CHECK(equal(pair[0].at(write_at, 5000), b.at(source_at, 5000)));
    CHECK(equal(b.at(write_at, 5000), pair[0].at(source_at, 5000)));
}
