// Every action as a plan writes it, and what then is on the wire, byte for byte. An action that has
// no row here fails the test. What is expected is written by hand from the frame that went in:
// offsets into it (Ethernet 14, IPv4 20, UDP 8, so that the BTH begins at 42), sums by the RFC, and
// whole packets by the encoder that the fault room does not use for them.
#include "tests/transport/fault/packets.hpp"

#include <functional>
#include <set>
#include <string>

#include "conformance/script/fault_line.hpp"
#include "conformance/script/script.hpp"

namespace veriroce::fault::tests {
namespace {

using std::chrono::microseconds;

constexpr std::size_t udp = 34;

// RFC 1071, of the 20 bytes of an IPv4 header.
void put_ip_checksum(Frame& frame) {
    frame[ip + 10] = frame[ip + 11] = std::byte{0};
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < 20; i += 2) {
        sum += std::to_integer<std::uint32_t>(frame[ip + i]) << 8 |
               std::to_integer<std::uint32_t>(frame[ip + i + 1]);
    }
    while (sum > 0xFFFF)
        sum = (sum & 0xFFFF) + (sum >> 16);
    frame[ip + 10] = static_cast<std::byte>(~sum >> 8 & 0xFF);
    frame[ip + 11] = static_cast<std::byte>(~sum & 0xFF);
}

Frame send(std::int64_t psn) {
    return packet("SEND_ONLY", psn);
}

Frame with_byte(Frame frame, std::size_t at, unsigned value) {
    frame[at] = static_cast<std::byte>(value);
    return frame;
}

Frame corrupted_id() {
    Frame frame = send(0);
    frame[ip + 5] = ~frame[ip + 5];
    put_ip_checksum(frame);
    return frame;
}

Frame truncated() {
    Frame frame = send(0);
    frame.resize(bth4 + 20);
    frame[udp + 4] = std::byte{0};
    frame[udp + 5] = std::byte{8 + 20};
    frame[ip + 2] = std::byte{0};
    frame[ip + 3] = std::byte{20 + 8 + 20};
    put_ip_checksum(frame);
    return frame;
}

Frame marked() {
    Frame frame = send(0);
    frame[ip + 1] = std::byte{3};
    put_ip_checksum(frame);
    return frame;
}

// An ACK that goes the same way as the packet: its addresses, its QP, no credits, MSN 0.
Frame acknowledge() {
    wire::Packet packet;
    packet.bth.opcode = *wire::opcode_by_name("ACKNOWLEDGE");
    packet.bth.dest_qp = wire::Qpn{qpn};
    packet.bth.psn = wire::Psn(first_psn) + 3;
    packet.headers = wire::opcode_info(packet.bth.opcode).headers;
    packet.aeth.syndrome = wire::Syndrome{0x1F};
    std::vector<std::byte> headers(wire::kMaxTransportHeaderBytes);
    headers.resize(wire::encode_headers(packet, headers));
    const wire::Envelope envelope{.source = *wire::IpAddress::parse("10.0.0.1"),
                                  .destination = *wire::IpAddress::parse("10.0.0.2"),
                                  .ecn = 2};
    Frame frame(wire::kMaxFrameOverhead + headers.size());
    frame.resize(wire::write_frame({}, envelope, 7, headers, {}, frame));
    return frame;
}

// IEEE 802.1Qbb: class 3 stops for 0x1234 quanta.
Frame pause() {
    Frame frame(60);
    const std::array<unsigned, 6> group{0x01, 0x80, 0xC2, 0x00, 0x00, 0x01};
    for (std::size_t i = 0; i < group.size(); ++i)
        frame[i] = static_cast<std::byte>(group[i]);
    frame = with_byte(with_byte(frame, 12, 0x88), 13, 0x08);
    frame = with_byte(with_byte(frame, 14, 0x01), 15, 0x01);
    frame = with_byte(frame, 17, 1U << 3);
    return with_byte(with_byte(frame, 24, 0x12), 25, 0x34);
}

struct Leaves {
    Frame frame;
    microseconds delay{0};
    End from = End::B;
};

// SEND_ONLYs with PSN 0, 1, … go in, a microsecond apart; returns the packets that leave after
// each.
struct Row {
    std::string_view plan;
    std::size_t packets = 1;
    std::vector<std::vector<Leaves>> leaves;
};

// What leaves where nothing is done.
std::vector<Leaves> untouched(std::int64_t psn) {
    return {{send(psn)}};
}

std::vector<Row> rows() {
    const microseconds five(5);
    const microseconds ten(10);
    return {
        {"drop when psn=0", 2, {{}, untouched(1)}},
        {"duplicate when psn=0", 2, {{{send(0)}, {send(0)}}, untouched(1)}},
        {"duplicate n=2 after=5us when psn=0", 1, {{{send(0)}, {send(0), five}, {send(0), five}}}},
        {"delay 10us when psn=0", 1, {{{send(0), ten}}}},
        {"reorder by=2 when psn=0", 3, {{}, untouched(1), {{send(2)}, {send(0)}}}},
        {"hold until psn=2 when psn=0", 3, {{}, untouched(1), {{send(2)}, {send(0)}}}},
        // Bit 7 of a byte is the first; PSN 0 of these packets is 0xFFFFFE.
        {"corrupt bit=319 when psn=0", 1, {{{with_byte(send(0), bth4 + 11, 0xFF)}}}},
        {"corrupt byte=38 when psn=0", 1, {{{with_byte(send(0), bth4 + 10, 0x00)}}}},
        {"corrupt byte=5 when psn=0", 1, {{{corrupted_id()}}}},
        {"corrupt field=tver when psn=0", 1, {{{with_byte(send(0), bth4 + 1, 0x0F)}}}},
        {"corrupt bit=319 icrc=good when psn=0", 1, {{{send(1)}}}}, // the last bit of the PSN
        {"rewrite psn=1 when psn=0", 1, {{{send(1)}}}},
        {"rewrite psn=abs:0xFFFFFF when psn=0", 1, {{{send(1)}}}},
        {"rewrite invert=psn:0 when psn=0", 1, {{{send(1)}}}},
        {"truncate=20 when psn=0", 1, {{{truncated()}}}},
        {"mark ce when psn=0", 1, {{{marked()}}}},
        {"replay age=2 when psn=2", 3, {untouched(0), untouched(1), {{send(2)}, {send(0)}}}},
        {"forge ACK psn=3 when psn=0", 1, {{{send(0)}, {acknowledge()}}}},
        {"forge ACK psn=abs:1 when psn=0", 1, {{{send(0)}, {acknowledge()}}}},
        {"pause class=3 quanta=0x1234 when psn=0",
         1,
         {{{send(0)}, {pause(), microseconds(0), End::A}}}},
    };
}

Rule rule_of(std::string_view plan) {
    const auto rules = script::load_plan("made-up.faults", plan);
    if (!rules) FAIL(rules.error().front().text("made-up.faults"));
    REQUIRE(rules->size() == 1);
    return rules->front();
}

} // namespace

TEST_CASE("fault: every action of a plan does to the bytes what it promises", "[fault]") {
    for (const Row& row : rows()) {
        Wire wire({rule_of(row.plan)});
        for (std::size_t i = 0; i < row.packets; ++i) {
            INFO(row.plan << ", packet " << i);
            const auto psn = static_cast<std::int64_t>(i);
            const Decision decision = wire.pass(send(psn), psn);
            const std::vector<Leaves>& wanted = row.leaves[i];
            if (decision.untouched) {
                CHECK(decision.emissions.empty());
                CHECK(wanted.size() == 1);
                CHECK(wanted.front().frame == send(psn));
                continue;
            }
            REQUIRE(decision.emissions.size() == wanted.size());
            for (std::size_t j = 0; j < wanted.size(); ++j) {
                INFO("frame " << j);
                CHECK(decision.emissions[j].frame == wanted[j].frame);
                CHECK(decision.emissions[j].delay == wanted[j].delay);
                CHECK(decision.emissions[j].from == wanted[j].from);
            }
        }
        INFO(row.plan);
        CHECK(wire.injector.fired(0).fired == 1);
        CHECK(wire.injector.unmet().empty());
        CHECK_FALSE(wire.injector.next_release().has_value()); // nothing is left behind
    }
}

TEST_CASE("fault: every kind of action has a row, and every word of the language", "[fault]") {
    std::set<std::size_t> kinds;
    std::set<std::string, std::less<>> words;
    for (const Row& row : rows()) {
        kinds.insert(rule_of(row.plan).action.index());
        words.emplace(row.plan.substr(0, row.plan.find_first_of(" =")));
    }
    for (std::size_t kind = 0; kind < std::variant_size_v<Action::variant>; ++kind) {
        INFO("alternative " << kind << " of fault::Action");
        CHECK(kinds.contains(kind));
    }
    for (const std::string_view name : script::fault_action_names()) {
        INFO(name);
        CHECK(words.contains(name));
    }
    CHECK(words.size() == script::fault_action_names().size());
}

} // namespace veriroce::fault::tests
