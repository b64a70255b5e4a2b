// A packet against a line: every kind of field, what is missing, what is too much, ranges, PSNs
// that count from the first, kinds of packets, and what needs no line.
#include "conformance/interpreter/matching.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "conformance/interpreter/wire.hpp"
#include "conformance/script/script.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/decode/field.hpp"
#include "dissector/wire/packet_spec.hpp"

namespace veriroce::interpreter::test {
namespace {

using namespace std::chrono_literals;
using script::Acknowledgement;
using script::Comparison;
using script::Expr;
using script::SpecialField;
using wire::Field;
using wire::Operation;
using wire::Position;

constexpr std::uint32_t tester_start = 0xFFFFFE; // PSNs wrap after the second packet
constexpr std::uint32_t dut_start = 100;

const wire::IpAddress dut_ip = *wire::IpAddress::parse("192.0.2.1");
const wire::IpAddress tester_ip = *wire::IpAddress::parse("192.0.2.2");
const wire::MacAddress dut_mac = *wire::MacAddress::parse("02:00:00:00:00:01");
const wire::MacAddress tester_mac = *wire::MacAddress::parse("02:00:00:00:00:02");

wire::Instant at(wire::Duration time) {
    return wire::Instant{} + time;
}
Expr num(std::int64_t value) {
    return {.number = value};
}
script::FieldMatch is(script::FieldName field, script::Value value,
                      Comparison comparison = Comparison::Equal) {
    return {.field = field, .comparison = comparison, .value = std::move(value), .span = {}};
}
script::ExpectPacket line(script::PacketKind kind, std::vector<script::FieldMatch> matches = {}) {
    return {.qp = {}, .kind = std::move(kind), .matches = std::move(matches)};
}
script::Opcode opcode(Operation operation, Position position = Position::Only) {
    return {*wire::opcode_of(wire::Service::Rc, operation, position, false, false)};
}

QpBook new_book() {
    return QpBook({.name = {},
                   .dut_qpn = {0x12},
                   .tester_qpn = {0x800},
                   .dut_start = wire::Psn(dut_start),
                   .tester_start = wire::Psn(tester_start),
                   .mtu = wire::Mtu::B1024});
}

// What the two sides of one QP have said so far, and the packets that come.
struct Scene {
    Environment environment;
    QpBook book = new_book();
    std::optional<wire::Packet> named;
    std::uint8_t timeout = 14; // 67.1 ms
    std::optional<Interval> last_sent;

    Scene() {
        environment.dut_address = dut_ip;
        environment.dut_mac = dut_mac;
        environment.tester.address = tester_ip;
        environment.tester.mac = tester_mac;
    }

    [[nodiscard]] MatchContext context() const {
        return {.book = book,
                .environment = environment,
                .value_of_name = [](std::string_view name, std::optional<script::FieldName> field)
                    -> std::optional<std::int64_t> {
                    if (name != "a") return std::nullopt;
                    return field == script::FieldName(Field::Rkey) ? 0x1234 : 0x1000;
                },
                .packet_of_name = [this](std::string_view name) -> const wire::Packet* {
                    return name == "first" && named ? &*named : nullptr;
                },
                .timeout = timeout,
                .last_sent = last_sent};
    }
    // The tester sends this many SENDs.
    void send(std::uint32_t packets) {
        for (std::uint32_t i = 0; i < packets; ++i) {
            wire::Packet packet;
            packet.bth.opcode = opcode(Operation::Send).code;
            packet.bth.psn = wire::Psn(tester_start) + i;
            packet.headers = packet.info().headers;
            book.note(Side::Tester, packet, {});
        }
    }
    Match matched(const script::ExpectPacket& wanted, const Entry& entry) const {
        auto result = match(wanted, entry, context());
        REQUIRE(result.has_value());
        return std::move(*result);
    }
};

// A frame of the DUT: these headers, with these fields written over them.
Entry heard(const wire::PacketSpec& spec, std::optional<wire::VlanId> vlan = {}) {
    wire::Sender sender;
    sender.link = {dut_mac, tester_mac};
    sender.envelope = {.source = dut_ip, .destination = tester_ip, .dscp = 3, .vlan = vlan};
    sender.ip_id = 1;
    sender.packet.bth = {.opcode = spec.opcode, .dest_qp = {0x800}};
    auto frame = wire::encode(spec, sender);
    REQUIRE(frame.has_value());
    Entry entry = parsed(Side::Dut, std::move(*frame), {at(1ms), at(1ms)});
    if (entry.packet) entry.psn = new_book().relative_psn(Side::Dut, *entry.packet);
    return entry;
}
Entry heard(std::uint8_t code, std::vector<wire::PacketSpec::Written> fields = {},
            std::optional<std::vector<std::byte>> payload = std::nullopt,
            wire::IcrcKind icrc = wire::IcrcKind::Good, std::optional<wire::VlanId> vlan = {}) {
    wire::PacketSpec spec;
    spec.opcode = code;
    spec.fields = std::move(fields);
    spec.payload = std::move(payload);
    spec.icrc = icrc;
    return heard(spec, vlan);
}
Entry acknowledge(std::uint32_t psn, wire::Syndrome syndrome, std::uint32_t msn) {
    return heard(opcode(Operation::Acknowledge).code,
                 {{Field::Psn, std::uint64_t{psn}},
                  {Field::Syndrome, std::uint64_t{syndrome.value}},
                  {Field::Msn, std::uint64_t{msn}}});
}
const wire::Syndrome plain_ack = wire::Syndrome::ack(wire::kNoCredits);
const wire::Syndrome sequence_nak = wire::Syndrome::nak(wire::NakCode::PsnSequence);

std::string text_of(const Match& match) {
    std::string text = match.detail;
    for (const Difference& one : match.differences)
        text += (text.empty() ? "" : "; ") + interpreter::text_of(one);
    return text;
}

} // namespace

TEST_CASE("matching: PSNs count from the asking side's first, across the wrap", "[interpreter]") {
    Scene scene;
    scene.send(4);
    const Entry nak = acknowledge(0, sequence_nak, 1); // 0xFFFFFE, 0xFFFFFF, 0
    CHECK(scene.matched(line(Acknowledgement::Nak, {is(Field::Psn, num(2))}), nak).satisfied);
    const Match other = scene.matched(line(Acknowledgement::Nak, {is(Field::Psn, num(1))}), nak);
    CHECK_FALSE(other.satisfied);
    CHECK(text_of(other) == "psn: expected 1, got 2");
    // As on the wire.
    const auto absolute = line(Acknowledgement::Nak, {is(Field::Psn, script::Absolute{num(0)})});
    CHECK(scene.matched(absolute, nak).satisfied);
    const auto wrong = line(Acknowledgement::Nak, {is(Field::Psn, script::Absolute{num(2)})});
    CHECK(text_of(scene.matched(wrong, nak)) == "psn: expected abs:2, got abs:0");
    // The DUT's own requests count from its first.
    const Entry request = heard(opcode(Operation::Send).code, {{Field::Psn, std::uint64_t{103}}});
    CHECK(
        scene.matched(line(opcode(Operation::Send), {is(Field::Psn, num(3))}), request).satisfied);
}

TEST_CASE("matching: all fields that differ are told, not the first alone", "[interpreter]") {
    Scene scene;
    scene.send(4);
    const Match match = scene.matched(
        line(Acknowledgement::Nak,
             {is(Field::Psn, num(3)), is(Field::Msn, num(2)),
              is(SpecialField::Code, wire::NakCode::RemoteAccess), is(Field::DestQp, num(0x800))}),
        acknowledge(0, sequence_nak, 1));
    CHECK_FALSE(match.satisfied);
    CHECK(match.right_kind);
    REQUIRE(match.differences.size() == 3);
    CHECK(match.differences[0] == Difference{"psn", "3", "2"});
    CHECK(match.differences[1] == Difference{"msn", "2", "1"});
    CHECK(match.differences[2].field == "code");
    CHECK(match.differences[2].expected == wire::name_of(wire::NakCode::RemoteAccess));
    CHECK(match.differences[2].actual == wire::name_of(wire::NakCode::PsnSequence));
}

TEST_CASE("matching: each comparison holds, and says what it wanted", "[interpreter]") {
    const Scene scene;
    const Entry nak = acknowledge(tester_start, sequence_nak, 5);
    struct Row {
        Comparison comparison;
        std::int64_t good;
        std::int64_t bad;
        std::string said;
    };
    for (const Row& row : {Row{Comparison::Equal, 5, 6, "msn: expected 6, got 5"},
                           Row{Comparison::NotEqual, 6, 5, "msn: expected not 5, got 5"},
                           Row{Comparison::AtMost, 5, 4, "msn: expected at most 4, got 5"},
                           Row{Comparison::AtLeast, 5, 6, "msn: expected at least 6, got 5"}}) {
        const auto with = [&](std::int64_t value) {
            return line(Acknowledgement::Nak, {is(Field::Msn, num(value), row.comparison)});
        };
        CHECK(scene.matched(with(row.good), nak).satisfied);
        CHECK(text_of(scene.matched(with(row.bad), nak)) == row.said);
    }
}

TEST_CASE("matching: ranges include both ends, and either may be open", "[interpreter]") {
    const Scene scene;
    const Entry nak = acknowledge(tester_start, sequence_nak, 5);
    const auto with = [](std::optional<std::int64_t> low, std::optional<std::int64_t> high,
                         Comparison comparison = Comparison::Equal) {
        script::ValueRange range;
        if (low) range.low = num(*low);
        if (high) range.high = num(*high);
        return line(Acknowledgement::Nak, {is(Field::Msn, range, comparison)});
    };
    CHECK(scene.matched(with(5, 7), nak).satisfied);
    CHECK(scene.matched(with(3, 5), nak).satisfied);
    CHECK(scene.matched(with({}, 5), nak).satisfied);
    CHECK(scene.matched(with(5, {}), nak).satisfied);
    CHECK(text_of(scene.matched(with(6, 7), nak)) == "msn: expected 6..7, got 5");
    CHECK(text_of(scene.matched(with({}, 4), nak)) == "msn: expected ..4, got 5");
    CHECK(text_of(scene.matched(with(6, {}), nak)) == "msn: expected 6.., got 5");
    CHECK(scene.matched(with(6, 7, Comparison::NotEqual), nak).satisfied);
    CHECK(text_of(scene.matched(with(5, 7, Comparison::NotEqual), nak)) ==
          "msn: expected not 5..7, got 5");
}

TEST_CASE("matching: a field that the packet does not have is absent", "[interpreter]") {
    const Scene scene;
    const Entry send = heard(opcode(Operation::Send).code);
    for (const Comparison comparison :
         {Comparison::Equal, Comparison::NotEqual, Comparison::AtMost, Comparison::AtLeast}) {
        const Match match = scene.matched(
            line(opcode(Operation::Send), {is(Field::Msn, num(1), comparison)}), send);
        CHECK_FALSE(match.satisfied);
        REQUIRE(match.differences.size() == 1);
        CHECK(match.differences.front().actual == "absent");
    }
    const script::ValueRange any{.low = num(0), .high = {}};
    for (const Comparison comparison : {Comparison::Equal, Comparison::NotEqual}) {
        CHECK_FALSE(
            scene.matched(line(opcode(Operation::Send), {is(Field::Msn, any, comparison)}), send)
                .satisfied);
    }
    CHECK_FALSE(scene
                    .matched(line(opcode(Operation::Send),
                                  {is(SpecialField::Code, wire::NakCode::PsnSequence)}),
                             send)
                    .satisfied);
}

TEST_CASE("matching: every kind of value is compared", "[interpreter]") {
    const Scene scene;
    const auto send = opcode(Operation::Send);
    const Entry packet = heard(send.code, {}, std::vector(3, std::byte{7})); // and one pad byte
    const auto differs = [&](script::FieldMatch match) {
        return text_of(scene.matched(line(send, {std::move(match)}), packet));
    };
    // Special fields.
    CHECK(differs(is(SpecialField::Length, num(3))).empty());
    CHECK(differs(is(SpecialField::Length, num(4))) == "len: expected 4, got 3");
    CHECK(differs(is(SpecialField::Icrc, wire::IcrcKind::Good)).empty());
    CHECK(differs(is(SpecialField::Icrc, wire::IcrcKind::Bad)) == "icrc: expected bad, got good");
    const script::HexBytes zero{.bytes = {std::byte{0}}, .span = {}};
    const script::HexBytes one{.bytes = {std::byte{1}}, .span = {}};
    CHECK(differs(is(SpecialField::PadBytes, zero)).empty());
    CHECK(differs(is(SpecialField::PadBytes, one)) == "padbytes: expected 01, got 00");
    // Data is compared once the packet is claimed.
    CHECK(differs(is(SpecialField::Data, one)).empty());
    CHECK(differs(is(SpecialField::Data, script::RegionSlice{.region = "a", .span = {}})).empty());
    // Addresses.
    const auto address = [](std::string name, std::int64_t offset = 0) {
        return script::Address{.name = std::move(name), .offset = offset, .span = {}};
    };
    CHECK(differs(is(Field::IpSource, address("dut"))).empty());
    CHECK(differs(is(Field::IpSource, address("tester"))) ==
          "ip.src: expected 192.0.2.2, got 192.0.2.1");
    CHECK(differs(is(Field::IpSource, address("dut", 1), Comparison::NotEqual)).empty());
    CHECK(differs(is(Field::EthSource, address("dut"))).empty());
    CHECK(differs(is(Field::EthSource, address("tester"))) ==
          "eth.src: expected 02:00:00:00:00:02, got 02:00:00:00:00:01");
    // Names are worth something in the light of their field.
    const Expr name{.kind = Expr::Kind::Name, .name = "a"};
    const Entry write =
        heard(opcode(Operation::RdmaWrite).code,
              {{Field::Va, std::uint64_t{0x1000}}, {Field::Rkey, std::uint64_t{0x1234}}});
    CHECK(scene
              .matched(
                  line(opcode(Operation::RdmaWrite), {is(Field::Va, name), is(Field::Rkey, name)}),
                  write)
              .satisfied);
    // Another field of the packet at hand.
    const Expr length{.kind = Expr::Kind::Field, .field = SpecialField::Length};
    CHECK(differs(is(Field::Pad, Expr{.kind = Expr::Kind::Subtract, .operands = {num(4), length}}))
              .empty());
}

// --- every value and every comparison, as a script writes them --------------------------------

namespace {

// The line that this text compiles to, if it does.
std::optional<script::ExpectPacket> compiled(const std::string& text) {
    const auto script = script::compile(
        "made/up.roce", "rule RSP-01\ntitle \"made up\"\nrole both\n\n" + text + "\n");
    if (!script) return std::nullopt;
    return std::get<script::ExpectPacket>(script->runs.front().body.front().node);
}

enum class Order : std::uint8_t { None, Number, Range };
struct Written {
    std::shared_ptr<const Entry> entry; // has views of its own bytes
    std::string kind;
    std::string field;
    std::string has;     // what the packet has
    std::string another; // what it has not; of numbers, a larger one
    Order order = Order::None;
};

wire::PacketSpec send_with(wire::IcrcKind icrc, wire::UdpChecksumKind checksum = {}) {
    wire::PacketSpec spec;
    spec.opcode = opcode(Operation::Send).code;
    spec.payload = std::vector(5, std::byte{7});
    spec.icrc = icrc;
    spec.udp_checksum = checksum;
    return spec;
}

// Each kind of value that a `<` line can write, of a packet that has it.
std::vector<Written> every_kind_of_value() {
    const auto keep = [](Entry entry) { return std::make_shared<const Entry>(std::move(entry)); };
    const auto nak = keep(acknowledge(tester_start, sequence_nak, 5));
    const auto rnr = keep(acknowledge(tester_start, wire::Syndrome::rnr(2), 5));
    const auto send = keep(heard(send_with(wire::IcrcKind::Good)));
    wire::PacketSpec optional = send_with(wire::IcrcKind::Good);
    optional.ip_options = std::vector(4, std::byte{1});
    wire::PacketSpec numbered = send_with(wire::IcrcKind::Good);
    numbered.icrc = std::uint32_t{0x12345678};
    wire::PacketSpec summed = send_with(wire::IcrcKind::Good); // a wrong ICRC counts first
    summed.udp_checksum = std::uint16_t{0x1234};
    std::vector<Written> rows{
        {nak, "NAK", "msn", "5", "6", Order::Number},
        {nak, "NAK", "msn", "4..5", "6..7", Order::Range},
        {nak, "NAK", "psn", "0", "1", Order::Number},
        {nak, "NAK", "psn", "abs:0xFFFFFE", "abs:0xFFFFFF", Order::Number},
        {nak, "NAK", "code", "PSN_SEQUENCE", "REMOTE_ACCESS"},
        {nak, "NAK", "code", "0", "5", Order::Number},
        {rnr, "RNR_NAK", "timer", "2", "3", Order::Number},
        {send, "SEND_ONLY", "ackreq", "0", "1", Order::Number},
        {send, "SEND_ONLY", "destqp", "abs:0x800", "abs:0x801", Order::Number},
        {send, "SEND_ONLY", "ip.src", "dut", "tester"},
        {send, "SEND_ONLY", "ip.dst", "tester", "tester+1"},
        {send, "SEND_ONLY", "eth.src", "dut", "tester"},
        {send, "SEND_ONLY", "padbytes", "hex\"000000\"", "hex\"000001\""},
        {send, "SEND_ONLY", "padbytes", "hex\"000000\"", "hex\"\""},
        {send, "SEND_ONLY", "ip.options", "hex\"\"", "hex\"01010101\""},
        {keep(heard(optional)), "SEND_ONLY", "ip.options", "hex\"01010101\"", "hex\"01010102\""},
        {keep(heard(optional)), "SEND_ONLY", "ip.options", "hex\"01010101\"", "hex\"\""},
        {keep(heard(numbered)), "SEND_ONLY", "icrc", "0x12345678", "0x78563412"},
        {keep(heard(summed)), "SEND_ONLY", "udp.checksum", "0x1234", "0x3412"},
    };
    constexpr std::array icrcs{wire::IcrcKind::Good, wire::IcrcKind::Bad, wire::IcrcKind::Swapped,
                               wire::IcrcKind::Zero, wire::IcrcKind::Unmasked};
    for (const wire::IcrcKind sent : icrcs) {
        const auto entry = keep(heard(send_with(sent)));
        const std::string own(wire::name_of(sent));
        for (const wire::IcrcKind other : icrcs) {
            // Whatever is wrong in a way that has a name is bad as well.
            const bool also = other == wire::IcrcKind::Bad && sent != wire::IcrcKind::Good;
            if (sent == other || also) continue;
            rows.push_back({entry, "SEND_ONLY", "icrc", own, std::string(wire::name_of(other))});
        }
        if (sent == wire::IcrcKind::Good) continue;
        rows.push_back({entry, "SEND_ONLY", "icrc", "bad", "good"});
    }
    using enum wire::UdpChecksumKind;
    const std::array<std::pair<wire::UdpChecksumKind, std::string>, 3> checksums{
        {{Zero, "0"}, {Good, "good"}, {Bad, "bad"}}};
    for (const auto& [sent, own] : checksums) {
        for (const auto& [other, name] : checksums) {
            if (sent == other) continue;
            rows.push_back({keep(heard(send_with(wire::IcrcKind::Good, sent))), "SEND_ONLY",
                            "udp.checksum", own, name});
        }
    }
    return rows;
}

} // namespace

TEST_CASE("matching: each comparison that compiles holds or fails, for every kind of value",
          "[interpreter]") {
    const Scene scene;
    for (const Written& row : every_kind_of_value()) {
        const auto meets = [&](std::string_view comparison, const std::string& value) {
            const auto wanted =
                compiled(fmt::format("< {} {}{}{}", row.kind, row.field, comparison, value));
            INFO(row.field << comparison << value << " of a packet with " << row.has);
            REQUIRE(wanted);
            const Match match = scene.matched(*wanted, *row.entry);
            CHECK(match.satisfied == match.differences.empty());
            return match.satisfied;
        };
        INFO(row.kind << " " << row.field << " " << row.has << " " << row.another);
        CHECK(meets("=", row.has));
        CHECK_FALSE(meets("=", row.another));
        if (row.order == Order::Range) {
            CHECK_FALSE(compiled("< " + row.kind + " " + row.field + "!=" + row.has));
        } else {
            CHECK_FALSE(meets("!=", row.has));
            CHECK(meets("!=", row.another));
        }
        for (const std::string comparison : {"<=", ">="}) {
            const std::string text = "< " + row.kind + " " + row.field + comparison;
            if (row.order != Order::Number) {
                CHECK_FALSE(compiled(text + row.has)); // it has no order
                continue;
            }
            CHECK(meets(comparison, row.has));
            CHECK(meets(comparison, row.another) == (comparison == "<="));
        }
    }
}

TEST_CASE("matching: a packet without the field meets no comparison", "[interpreter]") {
    const Scene scene;
    const Entry send = heard(send_with(wire::IcrcKind::Good));
    const auto address = script::Address{.name = "dut", .offset = 0, .span = {}};
    Entry unread = send; // as if its addresses could not be read
    unread.frame.layers = {};
    for (const Comparison comparison : {Comparison::Equal, Comparison::NotEqual}) {
        const auto wanted =
            line(opcode(Operation::Send), {is(Field::IpSource, address, comparison)});
        CHECK_FALSE(scene.matched(wanted, unread).satisfied);
    }
}

TEST_CASE("matching: a difference names the ICRC and the UDP checksum that came", "[interpreter]") {
    const Scene scene;
    const auto differs = [&](const std::string& field, const wire::PacketSpec& spec) {
        const auto wanted = compiled("< SEND_ONLY " + field);
        REQUIRE(wanted);
        return text_of(scene.matched(*wanted, heard(spec)));
    };
    using wire::IcrcKind;
    using wire::UdpChecksumKind;
    CHECK(differs("icrc=bad", send_with(IcrcKind::Good)) == "icrc: expected bad, got good");
    CHECK(differs("icrc!=good", send_with(IcrcKind::Good)) == "icrc: expected not good, got good");
    CHECK(differs("icrc=good", send_with(IcrcKind::Zero)) == "icrc: expected good, got zero");
    wire::PacketSpec spec = send_with(IcrcKind::Good);
    spec.icrc = std::uint32_t{0x01020304};
    CHECK(differs("icrc=good", spec) == "icrc: expected good, got 0x01020304");
    CHECK(differs("icrc=5", spec) == "icrc: expected 0x00000005, got 0x01020304");
    spec = send_with(IcrcKind::Good); // a wrong ICRC counts first
    spec.udp_checksum = std::uint16_t{0xABC};
    CHECK(differs("udp.checksum=0", spec) == "udp.checksum: expected 0, got bad (0x0ABC)");
    CHECK(differs("udp.checksum=7", spec) == "udp.checksum: expected 0x0007, got 0x0ABC");
    CHECK(differs("udp.checksum=good", send_with(IcrcKind::Good)) ==
          "udp.checksum: expected good, got 0");
    // A wrong UDP checksum says nothing about the ICRC.
    CHECK(differs("icrc=good", send_with(IcrcKind::Good, UdpChecksumKind::Bad)).empty());
    // Nor does a checksum that a network card was to finish count as wrong.
    spec = send_with(IcrcKind::Good, UdpChecksumKind::Good);
    const Entry sound = heard(spec);
    spec.udp_checksum =
        wire::unfinished_udp_checksum(wire::ip_addresses(sound.frame.covered(), false),
                                      wire::Bytes(sound.bytes).subspan(sound.frame.outer.udp_at));
    CHECK(differs("udp.checksum=good", spec).empty());
}

TEST_CASE("matching: icrc=N is the number that the dissector shows", "[interpreter][CRC-01]") {
    wire::PacketSpec spec = send_with(wire::IcrcKind::Good);
    spec.icrc = std::uint32_t{0x12345678};
    const Entry entry = heard(spec);
    decode::Dissection dissection;
    const auto length = static_cast<std::uint32_t>(entry.bytes.size());
    decode::dissect_frame({.bytes = entry.bytes, .original_length = length}, {}, dissection);
    const auto shown = decode::Column::find("infiniband.invariant.crc")->first(dissection);
    REQUIRE(shown);
    CHECK(shown->number == 0x12345678);
    const Scene scene;
    const auto wanted = compiled("< SEND_ONLY icrc=0x12345678");
    REQUIRE(wanted);
    CHECK(scene.matched(*wanted, entry).satisfied);
}

TEST_CASE("matching: RNR timers compare by the time that they stand for", "[interpreter]") {
    const Scene scene;
    const Entry rnr = acknowledge(tester_start, wire::Syndrome::rnr(1), 0); // 0.01 ms
    const auto with = [](std::int64_t code, Comparison comparison) {
        return line(Acknowledgement::RnrNak, {is(SpecialField::Timer, num(code), comparison)});
    };
    CHECK(scene.matched(with(1, Comparison::Equal), rnr).satisfied);
    CHECK(scene.matched(with(0, Comparison::AtMost), rnr).satisfied); // 0 is the longest, 655.36 ms
    CHECK_FALSE(scene.matched(with(0, Comparison::AtLeast), rnr).satisfied);
    script::ValueRange range{.low = num(1), .high = num(0)};
    CHECK(scene.matched(line(Acknowledgement::RnrNak, {is(SpecialField::Timer, range)}), rnr)
              .satisfied);
}

TEST_CASE("matching: each kind of packet is told from the others", "[interpreter]") {
    Scene scene;
    scene.send(1);
    const Entry ack = acknowledge(tester_start, plain_ack, 1);
    const Entry nak = acknowledge(tester_start, sequence_nak, 1);
    const Entry rnr = acknowledge(tester_start, wire::Syndrome::rnr(1), 1);
    const std::pair<Acknowledgement, const Entry*> kinds[] = {{Acknowledgement::Ack, &ack},
                                                              {Acknowledgement::Nak, &nak},
                                                              {Acknowledgement::RnrNak, &rnr}};
    for (const auto& [wanted, own] : kinds) {
        for (const auto& [other, entry] : kinds)
            CHECK(scene.matched(line(wanted), *entry).satisfied == (own == entry));
    }
    const Match match = scene.matched(
        line(Acknowledgement::RnrNak, {is(Field::Psn, num(0)), is(Field::Msn, num(0))}), nak);
    CHECK_FALSE(match.right_kind);
    CHECK(text_of(match) == "expected RNR_NAK, got NAK; msn: expected 0, got 1");
    // A whole message: every packet of its operation.
    const auto message = line(script::Message::Send);
    for (const Position position :
         {Position::Only, Position::First, Position::Middle, Position::Last}) {
        CHECK(scene.matched(message, heard(opcode(Operation::Send, position).code)).satisfied);
    }
    const Entry write = heard(opcode(Operation::RdmaWrite).code);
    CHECK(text_of(scene.matched(message, write)) == "expected SEND, got RDMA_WRITE_ONLY");
    // The same packet again, whatever its AckReq.
    const script::PacketKind same = script::SameAs{"first"};
    CHECK_FALSE(scene.matched(line(same), write).satisfied);
    scene.named = write.packet;
    CHECK(scene.matched(line(same), write).satisfied);
    CHECK(scene
              .matched(line(same),
                       heard(write.packet->bth.opcode, {{Field::AckReq, std::uint64_t{1}}}))
              .satisfied);
    CHECK_FALSE(
        scene.matched(line(same), heard(write.packet->bth.opcode, {{Field::Psn, std::uint64_t{9}}}))
            .satisfied);
}

TEST_CASE("matching: the first ACK that covers a PSN satisfies its line", "[interpreter][ACK-02]") {
    Scene scene;
    scene.send(3); // PSN 0 to 2
    const auto wants = [](std::int64_t psn, std::int64_t msn) {
        return line(Acknowledgement::Ack, {is(Field::Psn, num(psn)), is(Field::Msn, num(msn))});
    };
    const Entry of_last = acknowledge(0, plain_ack, 3); // PSN 2
    CHECK(scene.matched(wants(2, 3), of_last).satisfied);
    CHECK(scene.matched(wants(0, 1), of_last).satisfied); // the MSN is that of its own PSN
    CHECK_FALSE(scene.matched(wants(2, 2), of_last).satisfied);
    const Entry of_first = acknowledge(tester_start, plain_ack, 1);
    CHECK(text_of(scene.matched(wants(2, 3), of_first)) ==
          "psn: expected 2, got 0; msn: expected 3, got 1");
    // An ACK of what was not sent covers nothing.
    CHECK_FALSE(scene.matched(wants(0, 1), acknowledge(5, plain_ack, 3)).satisfied);
    auto exact = wants(0, 1);
    exact.exact = true;
    CHECK_FALSE(scene.matched(exact, of_last).satisfied);
    // A READ response covers it, and stays for its own line.
    const Entry response =
        heard(opcode(Operation::RdmaReadResponse).code, {{Field::Psn, std::uint64_t{0}}});
    const Match covered = scene.matched(wants(1, 2), response);
    CHECK(covered.satisfied);
    CHECK_FALSE(covered.claims);
    CHECK_FALSE(scene.matched(wants(2, 3), response).satisfied);
}

TEST_CASE("matching: a packet in another VLAN is not for us", "[interpreter][N-05]") {
    Scene scene;
    const auto send = opcode(Operation::Send);
    const Entry tagged =
        heard(send.code, {}, std::nullopt, wire::IcrcKind::Good, wire::VlanId{.id = 7});
    CHECK(text_of(scene.matched(line(send), tagged)) == "vlan: expected none, got 7");
    CHECK(scene.matched(line(send), tagged).right_kind);
    scene.environment.vlan = wire::VlanId{.id = 7};
    CHECK(scene.matched(line(send), tagged).satisfied);
    CHECK_FALSE(scene.matched(line(send), heard(send.code)).satisfied);
}

TEST_CASE("matching: a packet too short for its headers is no packet of any kind",
          "[interpreter]") {
    const Scene scene;
    Entry entry = heard(opcode(Operation::Send).code);
    entry.packet.reset();
    const Match match = scene.matched(line(opcode(Operation::Send)), entry);
    CHECK_FALSE(match.satisfied);
    CHECK(text_of(match) == "expected SEND_ONLY, got too few bytes for its headers");
    CHECK_FALSE(needs_no_line(entry, scene.context()));
}

TEST_CASE("matching: an expression without a value is an error of the line", "[interpreter]") {
    const Scene scene;
    const Expr nothing{.kind = Expr::Kind::Name, .name = "nothing", .span = {.line = 4}};
    const auto result = match(line(opcode(Operation::Send), {is(Field::Va, nothing)}),
                              heard(opcode(Operation::Send).code), scene.context());
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().verdict == Verdict::Error);
    CHECK(result.error().finding.line == 4);
}

TEST_CASE("matching: a retransmission that may cross our last packet does not bound a time",
          "[interpreter]") {
    Scene scene;
    scene.environment.round_trip_p99 = 1ms;
    Entry again = heard(opcode(Operation::Send).code);
    again.at = {at(200ms), at(200ms)};
    again.sent_before = Interval{at(100ms), at(100ms)}; // longer ago than the timeout
    auto bounded = line(opcode(Operation::Send));
    bounded.after = script::ValueRange{.low = num(0), .high = {}};
    CHECK(scene.matched(bounded, again).satisfied); // we sent nothing
    scene.last_sent = Interval{at(199ms), at(199ms)};
    const Match crossing = scene.matched(bounded, again);
    CHECK_FALSE(crossing.satisfied);
    CHECK(crossing.right_kind);
    CHECK(crossing.detail == "it may have left before our last packet arrived");
    CHECK(scene.matched(line(opcode(Operation::Send)), again).satisfied); // no time to bound
    scene.last_sent = Interval{at(150ms), at(150ms)};
    CHECK(scene.matched(bounded, again).satisfied); // it had time to arrive
    scene.last_sent = Interval{at(199ms), at(199ms)};
    again.sent_before = Interval{at(150ms), at(150ms)}; // the timer cannot have run out
    CHECK(scene.matched(bounded, again).satisfied);
}

TEST_CASE("matching: a resend that was heard when our packet left was not caused by it",
          "[interpreter]") {
    Scene scene;
    Entry again = heard(opcode(Operation::Send).code);
    again.at = {at(199ms), at(200ms)};
    again.sent_before = Interval{at(195ms), at(195ms)};
    again.unprovoked = true;
    MatchContext context = scene.context();
    context.early_resends = true;
    const auto satisfied = [&](wire::Duration sent) {
        context.last_sent = Interval{at(sent), at(sent)};
        return match(line(opcode(Operation::Send)), again, context)->satisfied;
    };
    CHECK_FALSE(satisfied(201ms));
    CHECK(satisfied(200ms)); // at the moment when we heard it: a burst, which the line goes on with
    CHECK(satisfied(199ms)); // it may be what our packet asked for
    scene.environment.dut.traits = {"adaptive_retransmission"};
    CHECK_FALSE(satisfied(200ms));
    CHECK(satisfied(199ms));
    context.early_resends = false; // then it is no resend of the device's own accord
    CHECK(satisfied(201ms));
}

TEST_CASE("matching: what the DUT may send without a line", "[interpreter][ACK-03][ACK-07]") {
    Scene scene;
    scene.send(2);
    const auto passes = [&](const Entry& entry) { return needs_no_line(entry, scene.context()); };
    CHECK(passes(heard(*wire::opcode_by_name("CNP"))));
    CHECK(passes(acknowledge(tester_start, plain_ack, 1)));
    CHECK_FALSE(passes(acknowledge(1, plain_ack, 2)));            // never sent
    CHECK_FALSE(passes(acknowledge(tester_start, plain_ack, 3))); // more than was sent
    CHECK_FALSE(passes(acknowledge(tester_start, sequence_nak, 1)));
    CHECK_FALSE(passes(acknowledge(tester_start, wire::Syndrome::rnr(1), 1)));
    Entry bad = acknowledge(tester_start, plain_ack, 1);
    bad.refusal = wire::FrameError::BadUdpChecksum;
    CHECK_FALSE(passes(bad));
    bad.refusal = wire::FrameError::BadIcrc; // it was lost; CRC-01 blames it
    CHECK(passes(bad));
    const auto ack = line(Acknowledgement::Ack, {});
    CHECK_FALSE(scene.matched(ack, bad).satisfied);
    CHECK(scene.matched(ack, acknowledge(tester_start, plain_ack, 1)).satisfied);
    // In another VLAN.
    scene.environment.vlan = wire::VlanId{.id = 7};
    CHECK_FALSE(passes(acknowledge(tester_start, plain_ack, 1)));
}

TEST_CASE("matching: a request again needs no line once the DUT's timer may have run out",
          "[interpreter]") {
    Scene scene;
    Entry again = heard(opcode(Operation::Send).code);
    again.at = {at(100ms), at(100ms)};
    CHECK_FALSE(needs_no_line(again, scene.context())); // the first of its kind
    again.sent_before = Interval{at(30ms), at(30ms)};
    CHECK(needs_no_line(again, scene.context()));
    again.sent_before = Interval{at(50ms), at(50ms)};
    CHECK_FALSE(needs_no_line(again, scene.context()));
    again.sent_before = Interval{at(30ms), at(30ms)};
    scene.timeout = 0; // never
    CHECK_FALSE(needs_no_line(again, scene.context()));
}

TEST_CASE("matching: a response again needs no line once the tester asked again", "[interpreter]") {
    Scene scene;
    scene.send(2);
    Entry response = heard(opcode(Operation::RdmaReadResponse).code,
                           {{Field::Psn, std::uint64_t{tester_start + 1}}});
    scene.book.note(Side::Dut, *response.packet, response.at);
    CHECK_FALSE(needs_no_line(response, scene.context()));
    scene.book.note(Side::Dut, *response.packet, response.at);
    CHECK_FALSE(needs_no_line(response, scene.context())); // no request was repeated
    scene.send(1);                                         // PSN 0 once more
    CHECK(needs_no_line(response, scene.context()));
}

} // namespace veriroce::interpreter::test
