#include "conformance/sheet/measure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "conformance/sheet/choices.hpp"
#include "conformance/sheet/congestion.hpp"
#include "conformance/sheet/seen.hpp"
#include "dissector/wire/frame.hpp"
#include "dissector/wire/syndrome.hpp"

namespace veriroce::sheet {
namespace {

// In the order of time.
Packets packets_of(const CaseResult& result) {
    Packets all;
    for (const interpreter::RecordedPacket& one : result.packets) {
        const auto frame = wire::decode_frame(one.frame);
        if (!frame) continue;
        const auto packet = wire::decode_packet(frame->transport);
        if (!packet) continue;
        all.push_back({one.from, one.at.latest, *packet, 0, frame->envelope().ecn,
                       frame->udp.checksum, frame->ipv6.has_value(), one.on_wire});
    }
    std::ranges::stable_sort(all, {}, &Seen::at);
    const auto first =
        std::ranges::find_if(all, [](const Seen& one) { return one.packet.info().request(); });
    for (Seen& one : all) {
        if (first != all.end()) one.psn = distance(first->packet.bth.psn, one.packet.bth.psn);
    }
    return all;
}

// The run's value `name`, as its id has it: "sheet/read-latency[ip=4,size=16KiB]".
std::string_view word_of(std::string_view id, std::string_view name) {
    for (std::size_t at = id.find('['); at != std::string_view::npos; at = id.find(',', at + 1)) {
        std::string_view rest = id.substr(at + 1);
        if (!rest.starts_with(name) || rest.substr(name.size(), 1) != "=") continue;
        rest.remove_prefix(name.size() + 1);
        return rest.substr(0, rest.find_first_of(",]"));
    }
    return {};
}

std::int64_t value_of(std::string_view id, std::string_view name) {
    const std::string_view word = word_of(id, name);
    std::int64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

// --- the device answers ------------------------------------------------------------------------

// A packet that is missing, and what the device says until the next packet after it came.
struct Gap {
    std::int64_t missing = 0;
    wire::Instant ahead; // when the first packet after it was sent
    bool closed = false; // the missing one came
    std::int64_t acknowledged = -1;
    std::int64_t naks = 0;
};

void nak_latency(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    std::vector<Gap> gaps;
    std::int64_t expected = 0;
    for (const Seen& one : packets) {
        Gap* gap = gaps.empty() ? nullptr : &gaps.back();
        if (one.asks(Side::Tester)) {
            if (one.psn > expected && (gap == nullptr || gap->missing != expected)) {
                gaps.push_back({.missing = expected, .ahead = one.at});
            } else if (one.psn == expected) {
                if (gap != nullptr && gap->missing == expected) gap->closed = true;
                ++expected;
            }
        } else if (gap != nullptr && one.acknowledges(AckKind::Nak) && one.psn == gap->missing) {
            if (gap->naks++ == 0) {
                sheet.add("nak_latency", "NAK after a packet that is ahead", Unit::Nanoseconds, "",
                          (one.at - gap->ahead).count());
            }
        } else if (gap != nullptr && gap->closed && expected == gap->missing + 1 &&
                   one.acknowledges(AckKind::Ack)) {
            gap->acknowledged = std::max(gap->acknowledged, one.psn);
        }
    }
    if (gaps.empty()) return;
    const auto with_nak = std::ranges::count_if(gaps, [](const Gap& one) { return one.naks > 0; });
    for (const Gap& one : gaps) {
        if (one.naks > 0)
            sheet.add("naks_per_gap", "NAKs for a gap of two packets ahead", Unit::Packets, "",
                      one.naks);
    }
    sheet.add({"gap_nak", "A packet after a gap", with_nak > 0 ? "gets a NAK" : "gets no NAK",
               fmt::format("{} of {} gaps had one", with_nak, gaps.size())});
    const auto kept =
        std::ranges::count_if(gaps, [](const Gap& one) { return one.acknowledged > one.missing; });
    sheet.add({"gap_packets", "Packets that came ahead",
               kept == 0 ? "are discarded (go-back-N)" : "are kept (selective repeat)",
               fmt::format("ACKs covered them when {} of {} gaps were closed", kept, gaps.size())});
}

void ack_latency(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    const Seen* asked = nullptr;
    for (const Seen& one : packets) {
        if (one.asks(Side::Tester)) asked = &one;
        if (!one.dut() || asked == nullptr || !one.acknowledges(AckKind::Ack)) continue;
        sheet.add("ack_latency", "ACK of a SEND", Unit::Nanoseconds, "", between(*asked, one));
        asked = nullptr;
    }
}

void coalescing(DataSheet& sheet, const Packets& packets, std::string_view label) {
    std::int64_t acknowledged = -1;
    const Seen* before = nullptr; // the ACK before
    std::map<std::int64_t, const Seen*> sent;
    for (const Seen& one : packets) {
        if (one.asks(Side::Tester)) sent.try_emplace(one.psn, &one);
        if (!one.dut() || !one.acknowledges(AckKind::Ack) || one.psn <= acknowledged) continue;
        sheet.add("packets_per_ack", "Packets that one ACK acknowledges", Unit::Packets, label,
                  one.psn - acknowledged);
        if (const auto last = sent.find(one.psn); last != sent.end()) {
            sheet.add("ack_delay", "ACK after the packet that it names", Unit::Nanoseconds, label,
                      between(*last->second, one));
        }
        if (before != nullptr) {
            sheet.add("time_per_ack", "From one ACK to the next", Unit::Nanoseconds, label,
                      between(*before, one));
        }
        acknowledged = one.psn;
        before = &one;
    }
}

void ack_messages(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    coalescing(sheet, packets, "64 WRITEs");
}
void ack_packets(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    coalescing(sheet, packets, "a WRITE of 64 packets");
}

void read_latency(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const std::string_view size = word_of(result.id, "size");
    const std::string label = fmt::format("{}{}", size, size.ends_with("B") ? "" : "B");
    const Seen* asked = nullptr;
    const Seen* before = nullptr; // the last response
    std::vector<std::uint32_t> counts;
    for (const Seen& one : packets) {
        if (one.asks(Side::Tester)) {
            asked = &one;
            before = nullptr;
        }
        if (!one.dut() || one.operation() != Operation::RdmaReadResponse || asked == nullptr)
            continue;
        if (before == nullptr) {
            sheet.add("read_latency", "First response of a READ", Unit::Nanoseconds, label,
                      between(*asked, one));
        } else {
            sheet.add("read_gap", "From one READ response to the next", Unit::Nanoseconds, label,
                      between(*before, one));
        }
        if (one.packet.info().ends_message()) {
            sheet.add("read_whole", "Whole READ", Unit::Nanoseconds, label, between(*asked, one));
        }
        // The first READ is the first message: does the MSN of its first response count it?
        if (asked->psn == 0 && one.packet.headers.has(wire::Header::Aeth))
            counts.push_back(one.packet.aeth.msn.value);
        before = &one;
    }
    if (counts.size() > 1) {
        sheet.add({"read_msn", "The MSN counts a READ",
                   counts.front() == counts.back() ? "from its first response on"
                                                   : "with its last response",
                   fmt::format("MSN {} in the first response, {} in the last one", counts.front(),
                               counts.back())});
    }
}

void duplicates(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    struct Answer {
        std::vector<const Seen*> packets;
    };
    std::vector<std::pair<const Seen*, Answer>> asked;
    for (const Seen& one : packets) {
        if (one.asks(Side::Tester)) {
            asked.push_back({&one, {}});
        } else if (one.dut() && !asked.empty()) {
            asked.back().second.packets.push_back(&one);
        }
    }
    const auto responses = [](const Answer& answer) {
        std::vector<std::byte> bytes;
        for (const Seen* one : answer.packets) {
            if (one->operation() != Operation::RdmaReadResponse) continue;
            const wire::Bytes payload = one->packet.payload();
            bytes.insert(bytes.end(), payload.begin(), payload.end());
        }
        return bytes;
    };
    const auto otherwise = [](const Answer& answer) -> std::string {
        if (answer.packets.empty()) return "gets no answer";
        return answer.packets.front()->acknowledges(AckKind::Nak) ? "gets a NAK"
                                                                  : "gets another answer";
    };
    if (asked.size() < 3) return;
    const std::vector<std::byte> first = responses(asked[0].second);
    const std::vector<std::byte> again = responses(asked[1].second);
    sheet.add({"duplicate_read", "A duplicate READ",
               again.empty()    ? otherwise(asked[1].second)
               : again == first ? "gets the bytes of the first time"
                                : "is executed again",
               fmt::format("{} bytes, after the memory had changed", again.size())});
    if (asked.size() < 6) return;
    const Answer& write = asked[5].second;
    const auto ack = std::ranges::find_if(
        write.packets, [](const Seen* one) { return one->acknowledges(AckKind::Ack); });
    if (ack == write.packets.end()) {
        sheet.add({"duplicate_write", "A duplicate WRITE", otherwise(write), ""});
        return;
    }
    sheet.add(
        {"duplicate_write", "A duplicate WRITE",
         (*ack)->psn > asked[5].first->psn ? "gets the latest ACK again" : "gets an ACK of its own",
         fmt::format("PSN {} is answered with PSN {} and MSN {}", asked[5].first->psn, (*ack)->psn,
                     (*ack)->packet.aeth.msn.value)});
}

// --- the device asks ---------------------------------------------------------------------------

// Packets that it sent from `from` until the tester's next answer, and whether that answer is why
// it went on after the first of them.
void after_nak(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    std::set<std::int64_t> sent;
    std::size_t all_again = 0;
    std::size_t one_alone = 0;
    std::size_t one_first = 0;
    std::string evidence;
    for (std::size_t i = 0; i < packets.size(); ++i) {
        const Seen& nak = packets[i];
        if (nak.asks(Side::Dut)) sent.insert(nak.psn);
        if (nak.from != Side::Tester || !nak.acknowledges(AckKind::Nak)) continue;
        std::int64_t newest = sent.empty() ? nak.psn : *sent.rbegin();
        std::size_t resent_at = i + 1;
        std::int64_t between_them = 0;
        while (resent_at < packets.size() &&
               !(packets[resent_at].asks(Side::Dut) && packets[resent_at].psn <= nak.psn)) {
            if (packets[resent_at].asks(Side::Dut)) {
                ++between_them;
                newest = std::max(newest, packets[resent_at].psn);
            }
            ++resent_at;
        }
        if (resent_at == packets.size()) break;
        const Seen& resent = packets[resent_at];
        sheet.add("nak_reaction", "First packet again after a NAK", Unit::Nanoseconds, "",
                  between(nak, resent));
        sheet.add("sent_after_nak", "Packets that still come before the first one again",
                  Unit::Packets, "", between_them);
        std::int64_t burst = 1;
        std::int64_t again = 1; // packets of before the NAK that it sends again, in all
        bool answered = false;
        for (std::size_t j = resent_at + 1; j < packets.size(); ++j) {
            const Seen& one = packets[j];
            if (one.from == Side::Tester && one.packet.info().response() && one.psn >= nak.psn) {
                answered = true;
                if (one.acknowledges(AckKind::Nak)) break; // the next loss
            }
            if (!one.asks(Side::Dut)) continue;
            burst += answered ? 0 : 1;
            again += one.psn > nak.psn && one.psn <= newest ? 1 : 0;
        }
        sheet.add("window_after_nak", "Packets after a NAK until the next answer", Unit::Packets,
                  "", burst);
        for (std::size_t j = i + 1; j <= resent_at; ++j)
            if (packets[j].asks(Side::Dut)) sent.insert(packets[j].psn);
        if (newest == nak.psn) continue; // nothing else was under way
        const std::int64_t under_way = newest - nak.psn + 1;
        if (again == 1) {
            ++one_alone;
        } else if (burst == 1) {
            ++one_first;
        } else {
            ++all_again;
        }
        evidence =
            fmt::format("of {} packets under way it sent {} again, {} before the next answer",
                        under_way, again, burst);
    }
    if (all_again + one_alone + one_first == 0) return;
    sheet.add({"loss_recovery", "After a NAK the requester",
               one_alone >= all_again + one_first ? "sends the lost packet alone (selective repeat)"
               : one_first > all_again            ? "sends one packet and waits for its answer"
                                       : "sends all again from the lost packet (go-back-N)",
               evidence});
}

void after_timeout(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    std::vector<std::int64_t> bursts; // each begins with the oldest packet
    for (const Seen& one : packets) {
        if (!one.asks(Side::Dut)) continue;
        if (one.psn == 0) bursts.push_back(0);
        if (!bursts.empty()) ++bursts.back();
    }
    if (bursts.empty()) return;
    sheet.add("window", "Packets under way without an answer, of 64", Unit::Packets, "at first",
              bursts.front());
    for (std::size_t i = 1; i < bursts.size(); ++i) {
        sheet.add("window", "Packets under way without an answer, of 64", Unit::Packets,
                  "after a timeout", bursts[i]);
    }
    if (bursts.size() < 2) return;
    sheet.add({"timeout_recovery", "After a timeout the requester",
               bursts.back() == 1 && bursts.front() > 1 ? "sends the oldest packet alone"
               : bursts.back() < bursts.front()         ? "begins with fewer packets"
                                                        : "sends all again (go-back-N)",
               fmt::format("{} packets at first, {} after the last timeout", bursts.front(),
                           bursts.back())});
}

void ack_timer(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const std::int64_t code = value_of(result.id, "timeout");
    const auto asked = wire::ack_timeout(static_cast<std::uint8_t>(code));
    const Seen* before = nullptr;
    for (const Seen& one : packets) {
        if (!one.asks(Side::Dut)) continue;
        if (before != nullptr && asked) {
            sheet.add("ack_timer", "From a packet without an answer to the next try",
                      Unit::Nanoseconds, fmt::format("code {}", code), between(*before, one),
                      asked->count());
        }
        before = &one;
    }
}

// How often it sent the first packet again.
std::int64_t tries_again(const Packets& packets) {
    return std::ranges::count_if(
               packets, [](const Seen& one) { return one.asks(Side::Dut) && one.psn == 0; }) -
           1;
}

void retry_count(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const std::int64_t asked = value_of(result.id, "retry_cnt");
    sheet.add("retries", "Tries after the first one, without an answer", Unit::Packets,
              fmt::format("retry_cnt {}", asked), tries_again(packets), asked);
}

void rnr_retries(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const std::int64_t asked = value_of(result.id, "rnr_retry");
    sheet.add("rnr_retries", "Tries after the first one, with RNR NAKs", Unit::Packets,
              fmt::format("rnr_retry {}", asked), tries_again(packets), asked);
}

void rnr_forever(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    const auto answers = [&](AckKind kind) {
        return std::ranges::count_if(packets, [kind](const Seen& one) {
            return one.from == Side::Tester && one.acknowledges(kind);
        });
    };
    if (answers(AckKind::RnrNak) == 0) return;
    const bool taken = answers(AckKind::Ack) != 0;
    sheet.add({"rnr_forever", "With rnr_retry 7 a request",
               taken ? "is sent until it is taken" : "is given up",
               fmt::format("after {} RNR NAKs in 100 ms", answers(AckKind::RnrNak))});
}

void rnr_timer(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const std::int64_t code = value_of(result.id, "code");
    const Seen* nak = nullptr;
    for (const Seen& one : packets) {
        if (one.from == Side::Tester && one.acknowledges(AckKind::RnrNak)) nak = &one;
        if (nak == nullptr || !one.asks(Side::Dut)) continue;
        sheet.add("rnr_timer", "From an RNR NAK to the next try", Unit::Nanoseconds,
                  fmt::format("code {}", code), between(*nak, one),
                  wire::rnr_time(static_cast<std::uint8_t>(code)).count());
        nak = nullptr;
    }
}

void implied_nak(DataSheet& sheet, const CaseResult& /*result*/, const Packets& packets) {
    const auto timer = wire::ack_timeout(16);
    const Seen* implied = nullptr; // the response of the second READ
    for (const Seen& one : packets) {
        if (implied == nullptr && one.from == Side::Tester && one.on_wire && one.psn == 1 &&
            one.operation() == Operation::RdmaReadResponse) {
            implied = &one;
        }
        if (implied == nullptr || !one.asks(Side::Dut) || one.psn != 0) continue;
        const std::int64_t wait = between(*implied, one);
        sheet.add("implied_nak", "From the next READ's response to the lost one's request",
                  Unit::Nanoseconds, "", wait);
        sheet.add({"implied_nak", "A READ whose response was lost, when the next one's comes",
                   wait < timer->count() / 2 ? "is asked for again at once (implied NAK)"
                                             : "is asked for again after the timer",
                   fmt::format("after {} us, with a timer of {} us", wait / 1000,
                               timer->count() / 1000)});
        return;
    }
}

// --- goodput -----------------------------------------------------------------------------------

// The bytes that arrived, by the time from the first packet to the last. The case's value `loss` is
// in packets of a thousand.
void goodput(DataSheet& sheet, const CaseResult& result, const Packets& packets) {
    const bool unfinished = std::ranges::any_of(
        result.findings, [](const interpreter::Finding& one) { return one.line != 0; });
    if (unfinished) return;
    constexpr std::int64_t atomic = 8;          // bytes
    std::map<std::int64_t, std::int64_t> bytes; // by PSN: what is sent again counts once
    for (const Seen& one : packets) {
        const auto payload = std::ssize(one.packet.payload());
        if (payload > 0) bytes[one.psn] = payload;
        if (one.operation() == Operation::AtomicAcknowledge) bytes[one.psn] = atomic;
    }
    if (bytes.empty() || packets.back().at == packets.front().at) return;
    const std::int64_t arrived =
        std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0},
                        [](std::int64_t sum, const auto& one) { return sum + one.second; });
    const std::chrono::duration<double> time = packets.back().at - packets.front().at;
    std::string_view op = word_of(result.id, "op");
    if (op.empty()) op = "READ";
    const bool is_atomic = op.starts_with("ATOMIC_");
    if (is_atomic || op.starts_with("RDMA_")) op.remove_prefix(op.find('_') + 1);
    sheet.add(
        fmt::format("goodput_{}", op),
        fmt::format("Goodput of {}{} against loss", op, is_atomic ? "" : ", 16 packets each,"),
        Unit::BitsPerSecond,
        fmt::format("{:g} %", static_cast<double>(value_of(result.id, "loss")) / 10.0),
        static_cast<std::int64_t>(8.0 * static_cast<double>(arrived) / time.count()));
}

struct Measuring {
    std::string_view of; // the case
    void (*add)(DataSheet&, const CaseResult&, const Packets&);
};

constexpr std::array kMeasurings{
    Measuring{"sheet/ack-latency", ack_latency},
    Measuring{"sheet/ack-messages", ack_messages},
    Measuring{"sheet/ack-packets", ack_packets},
    Measuring{"sheet/ack-timer", ack_timer},
    Measuring{"sheet/after-nak", after_nak},
    Measuring{"sheet/after-timeout", after_timeout},
    Measuring{"sheet/cnp", cnp},
    Measuring{"sheet/cnp-addresses", cnp_addresses},
    Measuring{"sheet/cnp-causes", cnp_causes},
    Measuring{"sheet/cnp-reaction", cnp_reaction},
    Measuring{"sheet/duplicates", duplicates},
    Measuring{"sheet/goodput-atomics", goodput},
    Measuring{"sheet/goodput-reads", goodput},
    Measuring{"sheet/goodput-sends", goodput},
    Measuring{"sheet/goodput-writes", goodput},
    Measuring{"sheet/implied-nak", implied_nak},
    Measuring{"sheet/long-ack-timer", ack_timer},
    Measuring{"sheet/nak-latency", nak_latency},
    Measuring{"sheet/read-latency", read_latency},
    Measuring{"sheet/retry-count", retry_count},
    Measuring{"sheet/rnr-forever", rnr_forever},
    Measuring{"sheet/rnr-retries", rnr_retries},
    Measuring{"sheet/rnr-timer", rnr_timer},
};

} // namespace

void measure(DataSheet& sheet, const CaseResult& result) {
    const std::string_view id = result.id;
    const std::string_view of = id.substr(0, id.find('['));
    // Cases of the suite may be played beside it: their packets are not decoded for nothing.
    if (!of.starts_with("sheet/") || result.packets.empty()) return;
    const Packets packets = packets_of(result);
    const auto found = std::ranges::find(kMeasurings, of, &Measuring::of);
    if (found != kMeasurings.end()) found->add(sheet, result, packets);
    add_choices(sheet, of, packets);
}

} // namespace veriroce::sheet
