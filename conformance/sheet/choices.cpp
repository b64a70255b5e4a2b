#include "conformance/sheet/choices.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

namespace veriroce::sheet {
namespace {

// What the device sends between two packets of the tester, without CNPs.
using Reply = std::vector<const Seen*>;

// One for each packet of the tester.
std::vector<Reply> replies_in(const Packets& packets) {
    std::vector<Reply> all;
    for (const Seen& one : packets) {
        if (!one.dut()) {
            all.emplace_back();
        } else if (!all.empty() && one.operation() != Operation::Cnp) {
            all.back().push_back(&one);
        }
    }
    return all;
}

std::string text_of(const Reply& reply) {
    if (reply.empty()) return "gets no answer";
    const wire::Packet& first = reply.front()->packet;
    if (!first.headers.has(wire::Header::Aeth) || first.info().operation != Operation::Acknowledge)
        return first.info().operation == Operation::RdmaReadResponse
                   ? fmt::format("is answered from {} on", first.info().name)
                   : fmt::format("is answered by {}", first.info().name);
    const AckKind kind = first.aeth.syndrome.kind();
    if (kind == AckKind::Ack) return "is acknowledged";
    if (kind == AckKind::RnrNak) return "gets an RNR NAK";
    const auto code = first.aeth.syndrome.nak_code();
    return fmt::format("gets NAK {}", code ? wire::name_of(*code) : "of a reserved code");
}

// The answer to the packet that is the tester's n-th in its case, from 0 on.
struct Choice {
    std::string_view of;
    std::size_t packet = 0;
    std::string_view name;
    std::string_view title;
};

constexpr std::array kChoices{
    Choice{"sheet/choice-checksums", 0, "udp_checksum_zero", "A packet with UDP checksum 0"},
    Choice{"sheet/choice-checksums", 2, "udp_checksum_good", "A packet with a right UDP checksum"},
    Choice{"sheet/choice-checksums", 4, "udp_checksum_wrong", "A packet with a wrong UDP checksum"},
    Choice{"sheet/choice-duplicate", 1, "duplicate_without_ackreq", "A duplicate without AckReq"},
    Choice{"sheet/choice-larger-mtu", 0, "packet_above_mtu", "A packet above the path MTU"},
    Choice{"sheet/choice-key-alignment", 0, "fault_key_alignment", "A misaligned atomic, bad key"},
    Choice{"sheet/choice-two-faults", 0, "fault_key_length", "A WRITE of wrong length, bad key"},
    Choice{"sheet/choice-two-faults", 1, "fault_key_psn", "A WRITE after a gap, bad key"},
    Choice{"sheet/choice-two-faults", 2, "fault_opcode_receive", "A MIDDLE alone, no receive"},
    Choice{"sheet/choice-two-faults", 3, "fault_opcode_imm", "A LAST alone, no receive"},
    Choice{"sheet/choice-early-retry", 1, "retry_in_rnr_time", "A request in its RNR time"},
    Choice{"sheet/choice-atomic-payload", 0, "atomic_with_payload", "An atomic with a payload"},
    Choice{"sheet/choice-forged-address", 0, "forged_address", "A request from another IP address"},
    Choice{"sheet/choice-forged", 0, "forged_port", "A request from another UDP port"},
    Choice{"sheet/choice-forged", 2, "forged_hop_limit", "A request with another hop limit"},
    Choice{"sheet/duplicates", 2, "duplicate_read_part", "A duplicate of a READ's second half"},
};

// The payload of a READ's answer holds nothing but zeros, as the region did before.
bool all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte one) { return one == std::byte{0}; });
}

const Seen* last_response(const Packets& packets) {
    const auto found = std::ranges::find_if(packets.rbegin(), packets.rend(), [](const Seen& one) {
        return one.dut() && one.operation() == Operation::RdmaReadResponse;
    });
    return found == packets.rend() ? nullptr : &*found;
}

// RDR-12, KEY-06: whether the WRITE of ones shows in the last bytes that a READ brings.
void add_written(DataSheet& sheet, const Packets& packets, std::string_view name,
                 std::string_view title, std::string_view written, std::string_view not_written) {
    const Seen* response = last_response(packets);
    if (response == nullptr) return;
    const bool zero = all_zero(response->packet.payload());
    sheet.add({std::string(name), std::string(title), std::string(zero ? not_written : written),
               fmt::format("the last {} bytes of the READ", response->packet.payload().size())});
}

void add_sent_checksum(DataSheet& sheet, const Packets& packets) {
    const auto filled = std::ranges::count_if(
        packets, [](const Seen& one) { return one.dut() && one.udp_checksum != 0; });
    const auto all = std::ranges::count_if(packets, &Seen::dut);
    sheet.add({"udp_checksum_sent", "The UDP checksum of its packets",
               filled == 0 ? "is 0" : "is filled in", fmt::format("in {} of {}", filled, all)});
}

// ACK-11: the script waits for one ACK and then posts receives. A copy of the ACK has the same
// credit code, an update another one.
void add_credits(DataSheet& sheet, const Packets& packets) {
    std::vector<std::uint8_t> credits;
    for (const Seen& one : packets) {
        if (one.dut() && one.acknowledges(AckKind::Ack))
            credits.push_back(one.packet.aeth.syndrome.code());
    }
    if (credits.empty()) return;
    const bool none =
        std::ranges::all_of(credits, [](std::uint8_t code) { return code == wire::kNoCredits; });
    const bool told = credits.back() != credits.front();
    sheet.add({"credit_update", "Receives that are posted",
               none   ? "are not told: its ACKs grant no credits"
               : told ? "are told by another ACK"
                      : "are not told by an ACK of their own",
               fmt::format("credit codes of the ACKs of one SEND: {}", fmt::join(credits, ", "))});
}

// REQ-15: what each of two NAKs for one PSN makes the requester send. REQ-33: how much of a resend
// is left when the ACK for all of it comes.
void add_second_nak(DataSheet& sheet, const Packets& packets) {
    std::int64_t first = 0; // transmissions of the PSN that is NAKed twice
    std::int64_t after_ack = 0;
    bool acknowledged = false;
    constexpr std::int64_t twice = 2;
    constexpr std::int64_t second_message = 8;
    for (const Seen& one : packets) {
        if (one.asks(Side::Dut)) {
            first += one.psn == twice ? 1 : 0;
            after_ack += acknowledged ? 1 : 0;
        } else if (!one.dut() && one.acknowledges(AckKind::Ack)) {
            acknowledged = one.psn >= second_message;
        }
    }
    if (first < 2) return;
    sheet.add({"second_nak", "A second NAK for the same PSN",
               first == 2 ? "changes nothing" : "makes it resend once more",
               fmt::format("the packet left {} times", first)});
    sheet.add("sent_after_late_ack", "Packets of a resend that still come after their ACK",
              Unit::Packets, "", after_ack);
}

} // namespace

void add_choices(DataSheet& sheet, std::string_view of, const Packets& packets) {
    const std::vector<Reply> replies = replies_in(packets);
    for (const Choice& one : kChoices) {
        if (one.of != of || one.packet >= replies.size()) continue;
        const bool v6 = one.name.starts_with("udp_checksum") && packets.front().v6;
        sheet.add({fmt::format("{}{}", one.name, v6 ? "_v6" : ""),
                   fmt::format("{}{}", one.title, v6 ? ", over IPv6" : ""),
                   text_of(replies[one.packet]),
                   fmt::format("packets in answer: {}", replies[one.packet].size())});
    }
    if (of == "sheet/choice-checksums") add_sent_checksum(sheet, packets);
    if (of == "sheet/choice-credits") add_credits(sheet, packets);
    if (of == "sheet/choice-second-nak") add_second_nak(sheet, packets);
    if (of == "sheet/choice-half-a-write") {
        add_written(sheet, packets, "half_a_write", "A WRITE that leaves its region half way",
                    "is written as far as it is inside", "is not written at all");
    }
    if (of == "sheet/choice-read-and-write") {
        add_written(sheet, packets, "write_after_read", "A WRITE after a READ",
                    "shows in the READ's answer", "does not show in the READ's answer");
    }
}

} // namespace veriroce::sheet
