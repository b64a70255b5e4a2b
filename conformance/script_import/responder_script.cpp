// The tester asks: every request of the capture as a `>` line, and `<` lines for what a device that
// keeps the rules must answer, where the capture shows that answers came.
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "conformance/script_import/device_memory.hpp"
#include "conformance/script_import/duties.hpp"
#include "conformance/script_import/receives.hpp"
#include "conformance/script_import/scripts.hpp"

namespace veriroce::script_import {
namespace {

using wire::Operation;

constexpr std::uint32_t kUsualPayload = 64;
constexpr std::uint32_t kWrongKey = 0x5A5A00;

class Asker {
  public:
    Asker(const Exchange& exchange, std::string_view title, std::string_view remark)
        : exchange_(exchange), title_(title), memory_(exchange, draft_), receives_(draft_),
          duties_(draft_) {
        if (!remark.empty()) draft_.remark(remark);
    }

    std::expected<std::string, std::string> write() {
        draft_.rule("RSP-01");
        memory_.make();
        receives_.begin();
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
        duties_.flush();
        draft_.blank_line();
        receives_.end();
        if (const auto id = receives_.in_use(); dead_ && id) {
            draft_.line(fmt::format("dut done recv id={} status=FAILED", *id));
        }
        if (dead_) draft_.line("dut state ERR");
        memory_.expect_writes(duties_.covered());
        if (!stop.empty()) draft_.comment("left out from here on: " + stop);
        write_header();
        return draft_.text(title_, "responder");
    }

  private:
    // --- what stands before the first packet --------------------------------------------------

    void write_header() {
        describe(exchange_, draft_);
        const bool answered = std::ranges::any_of(
            exchange_.steps, [](const Step& step) { return step.fate == Fate::Answer; });
        if (!answered) {
            draft_.remark(
                "the capture shows no answers; the script expects those that the rules require");
        }
        if (exchange_.lost > 0) {
            draft_.remark(
                fmt::format("left out: {} requests that were lost after the capture point, as "
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
        if (flushed_) text += ",flush_global";
        return text;
    }

    // --- steps --------------------------------------------------------------------------------

    // Why the script ends before this step; empty if it goes on.
    std::string step(const Step& step, const Event& event) {
        switch (step.fate) {
        case Fate::Answer: duties_.flush(step.psn); return {};
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
        if (access_of(event) && !memory_.place_of(event)) {
            return fmt::format("frame {} accesses memory that no region of {} MiB can hold",
                               event.number, kLargestRegion >> 20);
        }
        if (event.info().invalidates() && memory_.window_of(step.psn).empty()) {
            return fmt::format("more than {} SENDs with Invalidate", kMostWindows);
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
            receives_.end();
            receives_.begin();
        }
        if (duties_.reads_asked() == kMostReads) duties_.flush();
        if (Receives::takes_one(event.info()) && receives_.full()) {
            duties_.flush();
            receives_.end();
            receives_.begin();
        }
        receives_.use(event);
        const Operation operation = event.info().operation;
        wrote_ = wrote_ || operation == Operation::RdmaWrite || operation == Operation::AtomicWrite;
        flushed_ = flushed_ || operation == Operation::Flush;
        need_for(event.info(), draft_);
        if (event.info().invalidates()) draft_.rule("KEY-11");
        read_ = read_ || operation == Operation::RdmaReadRequest;
        const bool atomic = event.info().headers.has(wire::Header::AtomicEth);
        atomics_ = atomics_ || atomic;
        if (memory_.take(step.psn, event)) duties_.forget_data();
        ask(step, event);
        nak_sent_ = waits_ = false;
        answers_to(step, event);
        if (answered_in_turn(event.info())) {
            answered_.push_back(step.psn);
            if (answered_.size() > kUsualReads) answered_.pop_front();
        }
        if (step.psn + exchange_.first.value() > wire::kMask24) draft_.rule("RSP-09");
    }

    // RSP-10, RDR-08, ATM-04: of READs and atomics only the latest are remembered for sure.
    void repeat(const Step& step, const Event& event) {
        duties_.flush();
        ask(step, event);
        draft_.rule("RSP-10");
        if (answered_in_turn(event.info()) &&
            std::ranges::find(answered_, step.psn) == answered_.end())
            return;
        answers_to(step, event);
    }

    void ahead(const Step& step, const Event& event) {
        if (!nak_sent_) duties_.flush();
        ask(step, event);
        if (nak_sent_) return; // RSP-03
        ahead_ = nak_sent_ = true;
        draft_.rule("RSP-02");
        duties_.expect({.kind = Duty::Kind::Nak, .psn = expected_, .match = " code=PSN_SEQUENCE"});
    }

    void no_receive(const Step& step, const Event& event) {
        duties_.flush();
        ask(step, event);
        draft_.rule("RNR-01");
        const std::uint8_t timer = step.answer.code();
        if (!rnr_timer_) rnr_timer_ = timer;
        duties_.expect({.kind = Duty::Kind::RnrNak,
                        .psn = step.psn,
                        .match = *rnr_timer_ == timer ? fmt::format(" timer={}", timer) : ""});
        duties_.flush();
        waits_ = true;
    }

    std::string refuse(const Step& step, const Event& event) {
        const auto code = *step.answer.nak_code();
        const Operation operation = event.info().operation;
        const auto access = access_of(event);
        const bool used =
            ((operation == Operation::RdmaWrite || operation == Operation::AtomicWrite) &&
             wrote_) ||
            (operation == Operation::Flush && flushed_) ||
            (operation == Operation::RdmaReadRequest && read_) ||
            (event.info().headers.has(wire::Header::AtomicEth) && atomics_);
        const bool right = code == wire::NakCode::InvalidRequest && access && !used;
        const bool key = code == wire::NakCode::RemoteAccess && access;
        if (!step.visible && !right && !key) {
            return fmt::format("the capture does not show why frame {} got NAK {}", event.number,
                               wire::name_of(code));
        }
        if (access && !memory_.place(access->address, key ? 0 : access->bytes)) {
            return fmt::format("no region can hold what frame {} accesses", event.number);
        }
        duties_.flush();
        if (key) {
            draft_.comment(
                "the capture does not show why this was rejected; here the R_Key is unknown");
            draft_.rule("KEY-02");
        } else if (!step.visible) {
            draft_.comment(
                "the capture does not show why this was rejected; here the QP lacks the right");
            draft_.rule("KEY-01");
            no_right_ = true;
        }
        wrong_key_ = key;
        ask(step, event);
        duties_.expect({.kind = Duty::Kind::Nak,
                        .psn = step.psn,
                        .match = fmt::format(" code={}", wire::name_of(code))});
        duties_.flush();
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
        if (info.operation == Operation::Flush) {
            line += fmt::format(" plt={} sel={}", event.packet.feth.placement,
                                event.packet.feth.selectivity);
        }
        if (info.invalidates()) line += memory_.window_of(step.psn);
        if (info.immediate()) line += fmt::format(" imm=0x{:08X}", event.packet.imm.value);
        line += flags_of(event.packet.bth, event.packet.bth.ack_request);
        if (waits_ && step.psn == expected_ && rnr_timer_) {
            line += fmt::format(" after rnr({})", *rnr_timer_); // RNR-08: an honest peer waits
        }
        draft_.line(std::move(line));
        ++requests_;
        if (step.fate == Fate::Taken) expected_ = step.psn + exchange_.span_of(event);
    }

    std::string memory_fields(const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        std::optional<Place> place = memory_.place_of(event);
        if (!place)
            place = memory_.place(access_of(event)->address, 0); // refused: the key is wrong
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
            if (std::string data = memory_.source_of(step.psn, bytes); !data.empty()) return data;
        }
        const bool shown =
            info.operation == Operation::Send || info.operation == Operation::AtomicWrite;
        if (shown && !event.payload.empty()) {
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
            const Place place = *memory_.place_of(event);
            const std::string data =
                bytes == 0
                    ? ""
                    : fmt::format(" data={}[{} +{}]", place.region->name, place.offset, bytes);
            duties_.expect({.kind = Duty::Kind::Read,
                            .psn = step.psn,
                            .match = fmt::format(" len={}", bytes),
                            .data = data});
        } else if (event.info().headers.has(wire::Header::AtomicEth)) {
            const auto value = memory_.original(step.psn);
            duties_.expect({.kind = Duty::Kind::Atomic,
                            .psn = step.psn,
                            .match = value ? fmt::format(" original=0x{:X}", *value) : ""});
        } else if (answered_empty(event.info())) {
            duties_.expect({.kind = Duty::Kind::Empty, .psn = step.psn, .match = " len=0"});
        } else if (event.packet.bth.ack_request) {
            duties_.expect({.kind = Duty::Kind::Ack, .psn = step.psn});
        }
        most_reads_ = std::max(most_reads_, duties_.reads_asked());
    }

    const Exchange& exchange_;
    std::string title_;
    Draft draft_;
    DeviceMemory memory_;
    Receives receives_;
    Duties duties_;
    std::uint64_t requests_ = 0;
    std::int64_t expected_ = 0; // ePSN
    bool waits_ = false;        // for a receive
    bool nak_sent_ = false;
    bool ahead_ = false;
    bool dead_ = false;
    bool wrote_ = false;
    bool read_ = false;
    bool atomics_ = false;
    bool flushed_ = false;
    bool no_right_ = false;
    bool wrong_key_ = false;
    std::size_t most_reads_ = 0;
    std::deque<std::int64_t> answered_; // PSNs of the latest READs and atomics
    std::optional<std::uint8_t> rnr_timer_;
};

} // namespace

std::expected<std::string, std::string>
responder_script(const Exchange& exchange, std::string_view title, std::string_view remark) {
    return Asker(exchange, title, remark).write();
}

} // namespace veriroce::script_import
