#include "conformance/interpreter/honest_peer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/send.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::uint32_t kMostRefusals = 8; // of one request
constexpr std::ptrdiff_t kMostCopies = 3;  // of a duplicate
// A DUT that is busy at equal intervals may meet tries that come at equal intervals each time.
constexpr wire::Duration kLaterEachTry = std::chrono::microseconds(317);

// A DUT that has sent nothing for so long has no more to send.
wire::Duration idle_time(const Environment& environment) {
    constexpr wire::Duration kLeast = std::chrono::milliseconds(10);
    constexpr int kRoundTrips = 20;
    return std::min(environment.settle, std::max(kLeast, kRoundTrips * environment.round_trip_p99));
}

bool is_request(const Entry& entry) {
    return entry.packet && entry.packet->info().service == wire::Service::Rc &&
           entry.packet->info().request();
}

bool is_rnr_nak(const Entry& entry) {
    return entry.packet && entry.packet->info().operation == wire::Operation::Acknowledge &&
           entry.packet->aeth.syndrome.kind() == wire::AckKind::RnrNak;
}

bool is_answer(const Entry& entry) {
    if (!entry.packet || entry.refusal || !entry.packet->info().response()) return false;
    return entry.packet->info().operation != wire::Operation::Acknowledge ||
           entry.packet->aeth.syndrome.kind() == wire::AckKind::Ack;
}

// Those of the QP's packets that came since the case last brought the DUT's to RESET: before it,
// the same PSNs stood for other requests.
std::span<const std::size_t> since_reset(const CaseQp& qp, const std::vector<std::size_t>& places) {
    return {std::ranges::lower_bound(places, qp.reset_at), places.end()};
}

// The highest PSN that the DUT answered before this place in the record.
std::int64_t answered_before(const Record& record, const CaseQp& qp, std::size_t index) {
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    for (const std::size_t one : since_reset(qp, qp.heard)) {
        if (one >= index) break;
        if (is_answer(record[one])) highest = std::max(highest, record[one].psn);
    }
    return highest;
}

// A READ, an atomic, a FLUSH: one of what a responder has a limited number of places for.
bool answered_by_itself(const wire::OpcodeInfo& info) {
    return info.operation != wire::Operation::Send && info.operation != wire::Operation::RdmaWrite;
}

// A WRITE without immediate data, a READ or an atomic.
bool needs_no_receive(const wire::OpcodeInfo& info) {
    return info.operation != wire::Operation::Send && !info.consumes_receive();
}

// The tester's latest request with this PSN before `end` that a receiver may take, by its place
// among the QP's packets.
std::optional<std::size_t> latest_request(const Record& record, const CaseQp& qp, std::int64_t psn,
                                          std::size_t end) {
    for (std::size_t i = qp.entries.size(); i-- > 0;) {
        const Entry& entry = record[qp.entries[i]];
        if (qp.entries[i] < qp.reset_at) break;
        if (qp.entries[i] >= end || entry.from != Side::Tester) continue;
        if (is_request(entry) && !entry.refusal && entry.psn == psn) return i;
    }
    return std::nullopt;
}

// What a script sent from this place on, damaged packets too: it knows what the device has not got.
std::vector<std::vector<std::byte>> requests_since(const Record& record, const CaseQp& qp,
                                                   std::size_t first) {
    std::vector<std::vector<std::byte>> frames;
    for (std::size_t i = first; i < qp.entries.size(); ++i) {
        const Entry& entry = record[qp.entries[i]];
        if (entry.from == Side::Tester && is_request(entry)) frames.push_back(entry.bytes);
    }
    return frames;
}

// The requests from this PSN on that were sent since its first one, each once, in the order of
// their PSNs: a copy of one among them is no reason to leave out what came before the copy.
std::map<std::int64_t, std::size_t> requests_from(const Record& record, const CaseQp& qp,
                                                  std::int64_t psn) {
    std::map<std::int64_t, std::size_t> newest;
    for (const std::size_t one : since_reset(qp, qp.entries)) {
        const Entry& entry = record[one];
        if (entry.from != Side::Tester || !is_request(entry)) continue;
        const bool since_first = entry.psn == psn || (entry.psn > psn && !newest.empty());
        const bool dropped = entry.refusal && newest.contains(entry.psn);
        if (since_first && !dropped) newest[entry.psn] = one;
    }
    return newest;
}

void transmit_all(Interpreter& interpreter, CaseQp& qp,
                  std::vector<std::vector<std::byte>> frames) {
    std::optional<std::size_t> last;
    for (auto& frame : frames)
        last = interpreter.wire().transmit(&qp, std::move(frame));
    interpreter.clock().line_sent(last);
}

// A dialogue's requests again, in which no line paces READs and atomics any more (REQ-27): when the
// DUT may have no place for another one, it gets time to answer them.
Task<Met<>> send_paced(Interpreter& interpreter, CaseQp& qp, std::int64_t psn) {
    const Record& record = interpreter.record();
    const std::int64_t places = dut_resources(qp, interpreter.environment());
    std::int64_t open = 0;
    std::vector<std::vector<std::byte>> frames;
    for (const std::size_t one : std::views::values(requests_from(record, qp, psn))) {
        if (answered_by_itself(record[one].packet->info())) ++open;
        if (open > places) {
            transmit_all(interpreter, qp, std::exchange(frames, {}));
            co_await interpreter.events().sleep(interpreter.clock().now() +
                                                idle_time(interpreter.environment()));
            open = 1;
        }
        frames.push_back(record[one].bytes);
    }
    transmit_all(interpreter, qp, std::move(frames));
    co_return Met<>{};
}

// The last PSN that this request takes.
std::int64_t last_psn_of(const Entry& entry, wire::Mtu mtu) {
    if (entry.packet->info().operation != wire::Operation::RdmaReadRequest) return entry.psn;
    return entry.psn + wire::packets_of(entry.packet->reth.dma_length, mtu) - 1;
}

// The highest PSN that the tester answered. An answer beyond what the DUT has sent answers nothing
// (REQ-07).
std::int64_t answered_by_tester(const Record& record, const CaseQp& qp) {
    std::int64_t asked = -1;
    std::int64_t highest = -1;
    for (const std::size_t one : since_reset(qp, qp.entries)) {
        const Entry& entry = record[one];
        if (!entry.packet) continue;
        if (entry.from == Side::Dut && is_request(entry))
            asked = std::max(asked, last_psn_of(entry, qp.book.identity().mtu));
        if (entry.from != Side::Tester || !entry.packet->info().response()) continue;
        const std::int64_t answered = is_answer(entry) ? entry.psn : entry.psn - 1;
        if (answered <= asked) highest = std::max(highest, answered);
    }
    return highest;
}

// The DUT's requests after this PSN, the latest copy of each, in their order.
std::map<std::int64_t, std::size_t> open_requests(const Record& record, const CaseQp& qp,
                                                  std::int64_t after) {
    std::map<std::int64_t, std::size_t> open;
    for (const std::size_t one : since_reset(qp, qp.heard)) {
        const Entry& entry = record[one];
        if (!entry.lost() && is_request(entry) && entry.psn > after) open[entry.psn] = one;
    }
    return open;
}

const Memory* region_of(const Objects& objects, const wire::Reth& reth) {
    for (const Memory& region : objects.regions) {
        if (region.side != Side::Tester || region.rkey != reth.rkey) continue;
        const std::uint64_t offset = reth.virtual_address - region.address;
        if (offset <= region.bytes.size() && reth.dma_length <= region.bytes.size() - offset)
            return &region;
    }
    return nullptr;
}

script::Expr expr_of(std::int64_t number) {
    return {.number = number};
}

// The answer of a correct peer to a request of the DUT; nothing if the tester cannot make it.
std::optional<script::SendPacket> answer_to(const Objects& objects, const QpIdentity& qp,
                                            const Entry& entry, Span span) {
    const wire::OpcodeInfo& info = entry.packet->info();
    script::SendPacket answer{.qp = {.name = qp.name}, .kind = script::Acknowledgement::Ack};
    answer.fields.push_back({wire::Field::Psn, expr_of(entry.psn), span});
    if (info.operation == wire::Operation::RdmaReadRequest) {
        const wire::Reth& reth = entry.packet->reth;
        const Memory* region = region_of(objects, reth);
        if (region == nullptr) return std::nullopt;
        const auto offset = static_cast<std::int64_t>(reth.virtual_address - region->address);
        answer.kind = script::Message::RdmaReadResponse;
        answer.fields.push_back({script::SpecialField::Data,
                                 script::RegionSlice{.region = region->name,
                                                     .offset = expr_of(offset),
                                                     .length = expr_of(reth.dma_length),
                                                     .span = span},
                                 span});
    } else if (info.operation == wire::Operation::Flush ||
               info.operation == wire::Operation::AtomicWrite) {
        answer.kind = script::Message::RdmaReadResponse;
        answer.fields.push_back({script::SpecialField::Length, expr_of(0), span});
    } else if (info.operation == wire::Operation::CompareSwap ||
               info.operation == wire::Operation::FetchAdd) {
        answer.kind = script::Opcode{*wire::opcode_of(
            wire::Service::Rc, wire::Operation::AtomicAcknowledge, wire::Position::Only)};
        answer.fields.push_back({wire::Field::Original, expr_of(0), span});
    } else if (info.operation != wire::Operation::Send &&
               info.operation != wire::Operation::RdmaWrite) {
        return std::nullopt;
    }
    return answer;
}

} // namespace

bool lacks_resource(Interpreter& interpreter, const CaseQp& qp, std::size_t index) {
    const Record& record = interpreter.record();
    const Entry& entry = record[index];
    if (qp.answering || entry.refusal || !is_rnr_nak(entry)) return false;
    const auto refused = latest_request(record, qp, entry.psn, index);
    // Lines that wait for an RNR NAK have taken theirs already.
    return refused && answered_before(record, qp, index) < entry.psn;
}

Task<Met<>> send_again_later(Interpreter& interpreter, CaseQp& qp, std::size_t refusal, Span span) {
    Record& record = interpreter.record();
    Entry& entry = record[refusal];
    const auto first = latest_request(record, qp, entry.psn, refusal);
    if (!first) co_return Met<>{};
    entry.tolerated = true;
    qp.refusals = qp.refused_psn == entry.psn ? qp.refusals + 1 : 1;
    qp.refused_psn = entry.psn;
    if (qp.refusals > kMostRefusals) {
        entry.remarks.emplace_back("refuses the same request for good");
        Finding finding = unexpected_packet(qp, record, refusal, span);
        finding.detail = fmt::format("the DUT refused the request {} times", qp.refusals);
        finding.rules = {"RNR-03"};
        co_return failed(std::move(finding));
    }
    entry.remarks.emplace_back("the tester obeys it (RNR-03)");
    const wire::Duration wait = wire::rnr_time(entry.packet->aeth.syndrome.code());
    const wire::Instant earliest = std::max(entry.at.latest + wait, interpreter.clock().now());
    co_await interpreter.events().sleep(earliest + (qp.refusals - 1) * kLaterEachTry);
    if (is_unscripted(interpreter)) {
        co_await send_paced(interpreter, qp, entry.psn);
    } else {
        transmit_all(interpreter, qp, requests_since(record, qp, *first));
    }
    co_return Met<>{};
}

Task<Met<bool>> obey_refusal(Interpreter& interpreter, CaseQp& qp, Span span, Obeys obeys) {
    if (const auto refusal = std::exchange(qp.refusal, std::nullopt)) {
        co_await send_again_later(interpreter, qp, *refusal, span);
        co_return true;
    }
    if (qp.answering) co_return false; // the tester's engine obeys
    for (std::size_t i = qp.next; i < qp.heard.size(); ++i) {
        const std::size_t index = qp.heard[i];
        const Record& record = interpreter.record();
        if (record[index].tolerated || !lacks_resource(interpreter, qp, index)) continue;
        const auto refused = latest_request(record, qp, record[index].psn, index);
        if (obeys == Obeys::NeedingNoReceive &&
            !needs_no_receive(record[qp.entries[*refused]].packet->info())) {
            continue;
        }
        co_await send_again_later(interpreter, qp, index, span);
        co_return true;
    }
    co_return false;
}

bool repeat_duplicates(Interpreter& interpreter, CaseQp& qp) {
    const Record& record = interpreter.record();
    if (qp.answering) return false;
    std::size_t first = qp.entries.size();
    const auto of_tester_or_none = [&](std::size_t place) {
        const Entry& entry = record[qp.entries[place]];
        return entry.from == Side::Tester || entry.tolerated;
    };
    while (first > 0 && qp.entries[first - 1] >= qp.reset_at && of_tester_or_none(first - 1))
        --first;
    std::vector<std::vector<std::byte>> frames;
    for (std::size_t i = first; i < qp.entries.size(); ++i) {
        const std::size_t index = qp.entries[i];
        const Entry& entry = record[index];
        if (entry.from != Side::Tester || entry.refusal || !is_request(entry)) continue;
        const bool duplicate =
            last_psn_of(entry, qp.book.identity().mtu) <= answered_before(record, qp, index);
        if (!duplicate || std::ranges::find(frames, entry.bytes) != frames.end()) continue;
        const auto copies = std::ranges::count_if(
            qp.entries.begin() + static_cast<std::ptrdiff_t>(first), qp.entries.end(),
            [&](std::size_t one) { return record[one].bytes == entry.bytes; });
        if (copies < kMostCopies) frames.push_back(entry.bytes);
    }
    if (frames.empty()) return false;
    transmit_all(interpreter, qp, std::move(frames));
    return true;
}

std::optional<wire::Instant> window_opens_at(Interpreter& interpreter, const CaseQp& qp,
                                             std::int64_t psn) {
    const Record& record = interpreter.record();
    if (qp.answering || qp.type != engine::QpType::Rc) return std::nullopt;
    if (psn <= qp.book.last_dut_request()) return std::nullopt; // was sent before
    if (open_requests(record, qp, answered_by_tester(record, qp)).empty()) return std::nullopt;
    // Since the line before: it may have waited, and posted what is to come now. Without the
    // device's ACK delay, which is about its answers: its own timer may be shorter.
    const wire::Instant since =
        std::max(record[qp.entries.back()].at.latest, interpreter.clock().line_end().at);
    return since + idle_time(interpreter.environment());
}

Task<Met<>> open_window(Interpreter& interpreter, CaseQp& qp, Span span) {
    const Record& record = interpreter.record();
    const std::int64_t before = answered_by_tester(record, qp);
    std::size_t held = 0;
    for (const auto& [psn, index] : open_requests(record, qp, before)) {
        const auto answer =
            answer_to(interpreter.objects(), qp.book.identity(), record[index], span);
        if (!answer) break;
        co_await play(interpreter, *answer, span);
        ++held;
    }
    qp.window = {.answered = held, .helped = qp.window.helped};
    co_return Met<>{};
}

} // namespace veriroce::interpreter
