// The tester asks: every request of the capture as a `>` line, and `<` lines for what a device that
// keeps the rules must answer, where the capture shows that answers came.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "conformance/transcribe/draft.hpp"
#include "conformance/transcribe/regions.hpp"
#include "conformance/transcribe/scripts.hpp"

namespace veriroce::transcribe {
namespace {

using wire::Operation;

constexpr std::uint64_t kReceives = 64; // posted at a time
constexpr std::uint32_t kUsualPayload = 64;
constexpr std::uint32_t kWrongKey = 0x5A5A00;

bool remote_access(const Step& step) {
    return step.fate == Fate::Refused && step.answer.nak_code() == wire::NakCode::RemoteAccess;
}

// What is accessed: that is also accesses that are refused, but for those whose memory is the
// reason. They need memory of any kind beside them.
std::vector<Access> accesses_of(const Exchange& exchange) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < exchange.steps.size(); ++i) {
        const Step& step = exchange.steps[i];
        const Event& event = exchange.event(i);
        if (step.fate == Fate::Answer || event.damaged || !event.asks()) continue;
        auto access = access_of(event);
        if (!access || !unspeakable(event).empty()) continue;
        if (remote_access(step)) access->bytes = 0;
        accesses.push_back(*access);
    }
    return accesses;
}

class Asker {
  public:
    Asker(const Exchange& exchange, std::string_view title, std::string_view remark)
        : exchange_(exchange), title_(title), regions_(accesses_of(exchange)) {
        if (!remark.empty()) draft_.remark(remark);
    }

    std::expected<std::string, std::string> write() {
        draft_.rule("RSP-01");
        make_regions();
        begin_receives();
        draft_.blank_line();
        std::string stop;
        for (std::size_t i = 0; i < exchange_.steps.size() && stop.empty(); ++i) {
            stop = step(exchange_.steps[i], exchange_.event(i));
        }
        if (stop.empty()) stop = exchange_.stop;
        if (requests_ == 0) {
            return std::unexpected("no request of it can be written as a script" +
                                   (stop.empty() ? std::string() : ": " + stop));
        }
        flush();
        draft_.blank_line();
        end_receives();
        if (dead_ && send_open_) {
            draft_.line(fmt::format("dut done recv id={} status=FAILED", last_receive_));
        }
        if (dead_) draft_.line("dut state ERR");
        expect_writes();
        if (!stop.empty()) draft_.comment("left out from here on: " + stop);
        write_header();
        return draft_.text(title_, "responder");
    }

  private:
    // --- what stands before the first packet --------------------------------------------------

    void make_regions() {
        for (const Region& region : regions_.all()) {
            draft_.line(fmt::format("dut mr {} len={}KiB access={} fill={}", region.name,
                                    region.bytes >> 10, region.rights(),
                                    region.atomic ? "zero" : "offsets"));
            if (region.written) tester_memory_[&region] = draft_.room();
        }
        if (regions_.any_atomic()) draft_.need("atomics");
    }

    void write_header() {
        describe(exchange_, draft_);
        const bool answered = std::ranges::any_of(
            exchange_.steps, [](const Step& step) { return step.fate == Fate::Answer; });
        if (!answered) {
            draft_.remark("the capture shows no answer; here stands what must be answered");
        }
        if (exchange_.lost > 0) {
            draft_.remark(fmt::format("left out: {} requests that were lost behind the capture, as "
                                      "sequence NAKs and RNR NAKs show",
                                      exchange_.lost));
        }
        draft_.dut_qp(fmt::format("mtu={}", wire::bytes_of(exchange_.mtu)));
        if (rnr_timer_) draft_.dut_qp(fmt::format("min_rnr_timer={}", *rnr_timer_));
        if (most_reads_ > kUsualReads) {
            draft_.dut_qp(fmt::format("max_dest_rd_atomic={}", most_reads_));
        }
        if (no_right_) draft_.dut_qp("access=" + qp_rights());
        draft_.tester_qp(fmt::format("psn=0x{:06X}", exchange_.first.value()));
        const std::uint8_t dscp = exchange_.conversation->dscp[exchange_.asking];
        if (dscp != 0) draft_.tester_qp(fmt::format("dscp={}", dscp));
        if (ahead_) draft_.unless("out_of_order");
    }

    // Rights of a QP that lacks the one for which a request was refused.
    [[nodiscard]] std::string qp_rights() const {
        std::string text = "local_write";
        if (wrote_) text += ",remote_write";
        if (read_) text += ",remote_read";
        if (atomics_) text += ",remote_atomic";
        return text;
    }

    // --- receives -----------------------------------------------------------------------------

    struct Receives {
        std::size_t room = 0; // of the draft
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
    };
    struct Received {
        std::uint64_t bytes = 0;
        std::optional<std::uint32_t> imm;
        friend bool operator==(const Received&, const Received&) = default;
    };

    void begin_receives() {
        receives_ = {.room = draft_.room()};
        first_receive_ = last_receive_ + 1;
    }

    void end_receives() {
        if (receives_.count > 0) {
            const std::string bytes =
                receives_.bytes == 0 ? "" : fmt::format(" len={}", receives_.bytes);
            draft_.fill(receives_.room, "dut recv " + ids(first_receive_, last_receive_) + bytes);
        }
        std::uint64_t id = first_done_;
        for (std::size_t i = 0; i < received_.size();) {
            std::size_t same = i + 1;
            while (same < received_.size() && received_[same] == received_[i])
                ++same;
            const std::string imm =
                received_[i].imm ? fmt::format(" imm=0x{:08X}", *received_[i].imm) : std::string();
            draft_.line(fmt::format("dut done recv {} len={}{}", ids(id, id + (same - i) - 1),
                                    received_[i].bytes, imm));
            id += same - i;
            i = same;
        }
        first_done_ = id;
        received_.clear();
    }

    // A receive is there from the first packet of a SEND, or the last of a WRITE with immediate.
    void use_receive(const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        const bool send = info.operation == Operation::Send;
        if (send ? info.starts_message() : info.immediate()) {
            if (receives_.count == kReceives) {
                flush();
                end_receives();
                begin_receives();
            }
            ++receives_.count;
            ++last_receive_;
        }
        if (info.starts_message()) message_bytes_ = 0;
        message_bytes_ += event.payload_bytes;
        if (send) send_open_ = !info.ends_message();
        if (send) receives_.bytes = std::max(receives_.bytes, message_bytes_);
        if (!info.ends_message() || !info.consumes_receive()) return;
        received_.push_back(
            {.bytes = message_bytes_,
             .imm = info.immediate() ? std::optional(event.packet.imm.value) : std::nullopt});
    }

    // --- answers that must come ---------------------------------------------------------------

    struct Duty {
        enum class Kind : std::uint8_t { Ack, Nak, RnrNak, Read, Atomic };
        Kind kind = Kind::Ack;
        std::int64_t psn = 0;
        std::string match;
        std::string data; // of a READ; not compared if memory changed since it was asked for
    };

    void expect(Duty duty) {
        // ACK-03: one ACK may cover several requests.
        const bool covers = !duties_.empty() && duty.kind == Duty::Kind::Ack &&
                            duties_.back().kind == Duty::Kind::Ack;
        if (covers) {
            duties_.back().psn = std::max(duties_.back().psn, duty.psn);
        } else {
            duties_.push_back(std::move(duty));
        }
    }

    [[nodiscard]] std::size_t reads_asked() const {
        return static_cast<std::size_t>(std::ranges::count_if(duties_, [](const Duty& duty) {
            return duty.kind == Duty::Kind::Read || duty.kind == Duty::Kind::Atomic;
        }));
    }

    void flush(std::int64_t up_to = std::numeric_limits<std::int64_t>::max()) {
        while (!duties_.empty() && duties_.front().psn <= up_to) {
            write_duty(duties_.front());
            duties_.pop_front();
        }
    }

    void write_duty(const Duty& duty) {
        const auto line = [&](std::string_view name) {
            draft_.line(fmt::format("< {} psn={}{}{}", name, duty.psn, duty.match, duty.data));
        };
        switch (duty.kind) {
        case Duty::Kind::Ack:
            draft_.rule("ACK-01");
            line("ACK");
            break;
        case Duty::Kind::Nak: line("NAK"); break;
        case Duty::Kind::RnrNak: line("RNR_NAK"); break;
        case Duty::Kind::Read:
            draft_.rule("RDR-01");
            draft_.rule("RDR-02");
            line("RDMA_READ_RESPONSE");
            break;
        case Duty::Kind::Atomic:
            draft_.rule("ATM-01");
            line("ATOMIC_ACKNOWLEDGE");
            break;
        }
        if (duty.kind != Duty::Kind::Nak && duty.kind != Duty::Kind::RnrNak) {
            covered_ = std::max(covered_, duty.psn);
        }
    }

    // --- steps --------------------------------------------------------------------------------

    // Why the script ends before this step; empty if it goes on.
    std::string step(const Step& step, const Event& event) {
        switch (step.fate) {
        case Fate::Answer: flush(step.psn); return {};
        case Fate::Lost:
        case Fate::Unusable: return {};
        case Fate::Damaged: damaged(step, event); return {};
        case Fate::Taken:
        case Fate::Again:
        case Fate::Ahead:
        case Fate::Waiting:
        case Fate::NoRecv:
        case Fate::Refused: break;
        }
        if (dead_) return "the NAK ends the connection";
        if (std::string why = unspeakable(event); !why.empty()) return why;
        if (step.fate == Fate::Refused) return refuse(step, event);
        if (access_of(event) && !place_of(event)) {
            return fmt::format("frame {} accesses memory that no region of {} MiB can hold",
                               event.number, kLargestRegion >> 20);
        }
        if (step.fate == Fate::Taken) take(step, event);
        if (step.fate == Fate::Again) repeat(step, event);
        if (step.fate == Fate::Ahead) ahead(step, event);
        if (step.fate == Fate::Waiting) ask(step, event);
        if (step.fate == Fate::NoRecv) no_receive(step, event);
        return {};
    }

    void take(const Step& step, const Event& event) {
        if (waits_) { // RNR-06: the receive is there now
            end_receives();
            begin_receives();
        }
        if (reads_asked() == kMostReads) flush();
        use_receive(event);
        const Operation operation = event.info().operation;
        wrote_ = wrote_ || operation == Operation::RdmaWrite;
        read_ = read_ || operation == Operation::RdmaReadRequest;
        const bool atomic = event.info().headers.has(wire::Header::AtomicEth);
        atomics_ = atomics_ || atomic;
        remember_write(step, event);
        if (atomic) exchange_value(step, event);
        ask(step, event);
        nak_sent_ = waits_ = false;
        answers_to(step, event);
        if (atomic || operation == Operation::RdmaReadRequest) {
            answered_.push_back(step.psn);
            if (answered_.size() > kUsualReads) answered_.pop_front();
        }
        if (step.psn + exchange_.first.value() > wire::kMask24) draft_.rule("RSP-09");
    }

    // RSP-10, RDR-08, ATM-04: of READs and atomics only the latest are remembered for sure.
    void repeat(const Step& step, const Event& event) {
        flush();
        ask(step, event);
        draft_.rule("RSP-10");
        const Operation operation = event.info().operation;
        const bool data = operation == Operation::RdmaReadRequest ||
                          event.info().headers.has(wire::Header::AtomicEth);
        if (data && std::ranges::find(answered_, step.psn) == answered_.end()) return;
        answers_to(step, event);
    }

    void ahead(const Step& step, const Event& event) {
        if (!nak_sent_) flush();
        ask(step, event);
        if (nak_sent_) return; // RSP-03
        ahead_ = nak_sent_ = true;
        draft_.rule("RSP-02");
        expect({.kind = Duty::Kind::Nak, .psn = expected_, .match = " code=PSN_SEQUENCE"});
    }

    void no_receive(const Step& step, const Event& event) {
        flush();
        ask(step, event);
        draft_.rule("RNR-01");
        const std::uint8_t timer = step.answer.code();
        if (!rnr_timer_) rnr_timer_ = timer;
        expect({.kind = Duty::Kind::RnrNak,
                .psn = step.psn,
                .match = *rnr_timer_ == timer ? fmt::format(" timer={}", timer) : ""});
        flush();
        waits_ = true;
    }

    std::string refuse(const Step& step, const Event& event) {
        const auto code = *step.answer.nak_code();
        const Operation operation = event.info().operation;
        const auto access = access_of(event);
        const bool used = (operation == Operation::RdmaWrite && wrote_) ||
                          (operation == Operation::RdmaReadRequest && read_) ||
                          (event.info().headers.has(wire::Header::AtomicEth) && atomics_);
        const bool right = code == wire::NakCode::InvalidRequest && access && !used;
        const bool key = code == wire::NakCode::RemoteAccess && access;
        if (!step.visible && !right && !key) {
            return fmt::format("why frame {} drew NAK {} is not seen", event.number,
                               wire::name_of(code));
        }
        if (access && !regions_.place(access->address, key ? 0 : access->bytes)) {
            return fmt::format("no region can hold what frame {} accesses", event.number);
        }
        flush();
        if (key) {
            draft_.comment("the capture does not say why this is refused: an R_Key of nothing is");
            draft_.rule("KEY-02");
        } else if (!step.visible) {
            draft_.comment(
                "the capture does not say why this is refused: a QP without the right is");
            draft_.rule("KEY-01");
            no_right_ = true;
        }
        wrong_key_ = key;
        ask(step, event);
        expect({.kind = Duty::Kind::Nak,
                .psn = step.psn,
                .match = fmt::format(" code={}", wire::name_of(code))});
        flush();
        dead_ = true;
        return {};
    }

    void damaged(const Step& step, const Event& event) {
        draft_.rule("CRC-07");
        draft_.line(fmt::format("> {} psn={} len={}{} icrc=bad", event.info().name, step.psn,
                                event.payload_bytes,
                                flags_of(event.packet.bth, event.packet.bth.ack_request)));
        ++requests_;
    }

    // --- one request --------------------------------------------------------------------------

    void ask(const Step& step, const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        std::string line = fmt::format("> {} psn={}", info.name, step.psn);
        if (access_of(event)) line += memory_fields(event);
        if (info.carries_payload()) line += payload_of(step, event);
        if (info.immediate()) line += fmt::format(" imm=0x{:08X}", event.packet.imm.value);
        line += flags_of(event.packet.bth, event.packet.bth.ack_request);
        if (waits_ && step.psn == expected_ && rnr_timer_) {
            line += fmt::format(" after rnr({})", *rnr_timer_); // RNR-08: an honest peer waits
        }
        draft_.line(std::move(line));
        ++requests_;
        if (step.fate == Fate::Taken) expected_ = step.psn + exchange_.span_of(event);
    }

    [[nodiscard]] std::optional<Place> place_of(const Event& event) const {
        const auto access = access_of(event);
        if (!access) return std::nullopt;
        return regions_.place(access->address, access->bytes);
    }

    std::string memory_fields(const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        std::optional<Place> place = place_of(event);
        if (!place)
            place = regions_.place(access_of(event)->address, 0); // refused: the key is wrong
        const std::string at = place->offset == 0
                                   ? place->region->name
                                   : fmt::format("{}+{}", place->region->name, place->offset);
        std::string text = fmt::format(" va={} rkey={}", at, place->region->name);
        if (wrong_key_) text += fmt::format("+0x{:X}", kWrongKey);
        if (info.operation == Operation::FetchAdd) {
            return text + fmt::format(" add=0x{:X}", event.packet.atomic.swap_or_add);
        }
        if (info.operation == Operation::CompareSwap) {
            return text + fmt::format(" compare=0x{:X} swap=0x{:X}", event.packet.atomic.compare,
                                      event.packet.atomic.swap_or_add);
        }
        return text + fmt::format(" dmalen={}", event.packet.reth.dma_length);
    }

    std::string payload_of(const Step& step, const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        const std::uint32_t bytes = event.payload_bytes;
        if (info.operation == Operation::RdmaWrite && bytes > 0) {
            if (const auto from = write_at(step.psn)) {
                draft_.fill(tester_memory_.at(from->region),
                            fmt::format("tester mr {} len={}KiB fill=offsets",
                                        from->region->tester_name(), from->region->bytes >> 10));
                return fmt::format(" data={}[{} +{}]", from->region->tester_name(), from->offset,
                                   bytes);
            }
        }
        if (info.operation == Operation::Send && !event.payload.empty()) {
            return " data=" + hex(event.payload);
        }
        const std::uint32_t usual =
            info.ends_message() ? kUsualPayload : wire::bytes_of(exchange_.mtu);
        return bytes == usual ? "" : fmt::format(" len={}", bytes);
    }

    void answers_to(const Step& step, const Event& event) {
        const Operation operation = event.info().operation;
        if (operation == Operation::RdmaReadRequest) {
            const std::uint32_t bytes = event.packet.reth.dma_length;
            const Place place = *place_of(event);
            const std::string data =
                bytes == 0
                    ? ""
                    : fmt::format(" data={}[{} +{}]", place.region->name, place.offset, bytes);
            expect({.kind = Duty::Kind::Read,
                    .psn = step.psn,
                    .match = fmt::format(" len={}", bytes),
                    .data = data});
        } else if (event.info().headers.has(wire::Header::AtomicEth)) {
            const auto value = originals_.find(step.psn);
            expect({.kind = Duty::Kind::Atomic,
                    .psn = step.psn,
                    .match = value == originals_.end()
                                 ? ""
                                 : fmt::format(" original=0x{:X}", value->second)});
        } else if (event.packet.bth.ack_request) {
            expect({.kind = Duty::Kind::Ack, .psn = step.psn});
        }
        most_reads_ = std::max(most_reads_, reads_asked());
    }

    // --- memory -------------------------------------------------------------------------------

    struct WriteMessage {
        Place place;
        std::uint32_t packets = 1;
    };

    // Where in memory the packet with this PSN of a WRITE begins to write.
    [[nodiscard]] std::optional<Place> write_at(std::int64_t psn) const {
        auto message = writes_.upper_bound(psn);
        if (message == writes_.begin()) return std::nullopt;
        --message;
        const auto index = static_cast<std::uint64_t>(psn - message->first);
        if (index >= message->second.packets) return std::nullopt;
        const Place& from = message->second.place;
        return Place{from.region, from.offset + index * wire::bytes_of(exchange_.mtu)};
    }

    void remember_write(const Step& step, const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        if (info.operation == Operation::RdmaWrite && info.starts_message()) {
            writes_[step.psn] = {*place_of(event),
                                 wire::packets_of(event.packet.reth.dma_length, exchange_.mtu)};
        }
        const bool changes =
            info.operation == Operation::RdmaWrite || info.headers.has(wire::Header::AtomicEth);
        if (!changes) return;
        for (Duty& duty : duties_)
            duty.data.clear();
        if (info.operation != Operation::RdmaWrite || event.payload_bytes == 0) return;
        if (const auto at = write_at(step.psn)) {
            written_.push_back({*at, event.payload_bytes, step.psn});
        }
    }

    // ATM-01: what stood there before; regions with atomics begin as zeros.
    void exchange_value(const Step& step, const Event& event) {
        const Place place = *place_of(event);
        if (place.region->written) return;
        std::uint64_t& value = values_[{place.region, place.offset}];
        originals_[step.psn] = value;
        const wire::AtomicEth& atomic = event.packet.atomic;
        if (event.info().operation == Operation::FetchAdd) {
            value += atomic.swap_or_add;
        } else if (value == atomic.compare) {
            value = atomic.swap_or_add;
        }
    }

    // What was written and acknowledged stands in the device's memory.
    void expect_writes() {
        std::map<const Region*, std::map<std::uint64_t, std::uint64_t>> pieces;
        for (const Written& one : written_) {
            if (one.psn > covered_ || one.at.region->atomic) continue;
            auto& end = pieces[one.at.region][one.at.offset];
            end = std::max(end, one.at.offset + one.bytes);
        }
        for (const Region& region : regions_.all()) {
            std::uint64_t begin = 0;
            std::uint64_t end = 0;
            const auto say = [&] {
                if (end <= begin) return;
                draft_.line(fmt::format("expect {0}[{2} +{3}] == {1}[{2} +{3}]", region.name,
                                        region.tester_name(), begin, end - begin));
            };
            for (const auto& [from, to] : pieces[&region]) {
                if (from > end) {
                    say();
                    begin = from;
                    end = to;
                }
                if (end == 0) begin = from;
                end = std::max(end, to);
            }
            say();
        }
    }

    struct Written {
        Place at;
        std::uint64_t bytes = 0;
        std::int64_t psn = 0;
    };

    const Exchange& exchange_;
    std::string title_;
    Regions regions_;
    Draft draft_;
    std::deque<Duty> duties_;
    std::uint64_t requests_ = 0;
    std::int64_t expected_ = 0; // ePSN
    std::int64_t covered_ = -1; // the last PSN that an answer which must come covers
    bool waits_ = false;        // for a receive
    bool nak_sent_ = false;
    bool ahead_ = false;
    bool dead_ = false;
    bool wrote_ = false;
    bool read_ = false;
    bool atomics_ = false;
    bool no_right_ = false;
    bool wrong_key_ = false;
    bool send_open_ = false; // a receive is in use
    std::size_t most_reads_ = 0;
    std::deque<std::int64_t> answered_; // PSNs of the latest READs and atomics
    std::optional<std::uint8_t> rnr_timer_;

    Receives receives_;
    std::vector<Received> received_;
    std::uint64_t first_receive_ = 1;
    std::uint64_t last_receive_ = 0;
    std::uint64_t first_done_ = 1;
    std::uint64_t message_bytes_ = 0;

    std::map<const Region*, std::size_t> tester_memory_; // room for the line of what is written
    std::map<std::int64_t, WriteMessage> writes_;
    std::vector<Written> written_;
    std::map<std::pair<const Region*, std::uint64_t>, std::uint64_t> values_;
    std::map<std::int64_t, std::uint64_t> originals_; // by PSN
};

} // namespace

std::expected<std::string, std::string>
responder_script(const Exchange& exchange, std::string_view title, std::string_view remark) {
    return Asker(exchange, title, remark).write();
}

} // namespace veriroce::transcribe
