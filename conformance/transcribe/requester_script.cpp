// The device asks: a work request for each message of the capture, `<` lines for the packets that
// it makes of them, and `>` lines for what the answering end said.
//
// The tester takes everything that the device sends, so that what was lost and timed out in the
// capture does not happen again, but for NAKs: they are said again, and what they ask for must
// come.
#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "conformance/transcribe/draft.hpp"
#include "conformance/transcribe/regions.hpp"
#include "conformance/transcribe/scripts.hpp"

namespace veriroce::transcribe {
namespace {

using wire::Operation;

constexpr std::size_t kMostPosted = 100;
constexpr std::uint64_t kMostLocal = 16ULL << 20;
constexpr std::uint8_t kMostRetries = 7;
constexpr std::uint8_t kUsualTimeout = 14; // 67 ms

struct Message {
    Operation operation = Operation::Send;
    std::int64_t psn = 0;
    std::uint32_t span = 1;
    std::uint64_t bytes = 0; // of a READ what it asks for
    wire::Packet first;      // its headers
    std::optional<std::uint32_t> imm;
    bool solicited = false;
    std::size_t seen = 0; // at which step
    std::optional<Place> place;

    [[nodiscard]] bool atomic() const {
        return operation == Operation::CompareSwap || operation == Operation::FetchAdd;
    }
    [[nodiscard]] bool asks_for_data() const {
        return atomic() || operation == Operation::RdmaReadRequest;
    }
    [[nodiscard]] std::int64_t end() const { return psn + span; }
};

std::vector<Access> accesses_of(const Exchange& exchange) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < exchange.steps.size(); ++i) {
        const Event& event = exchange.event(i);
        if (event.damaged || !event.asks() || !unspeakable(event).empty()) continue;
        if (const auto access = access_of(event)) accesses.push_back(*access);
    }
    return accesses;
}

// The answer that a step stands for is not about the PSN of another direction.
bool answers(const Step& step) {
    return step.fate == Fate::Answer;
}

class Answerer {
  public:
    Answerer(const Exchange& exchange, std::string_view title, std::string_view remark)
        : exchange_(exchange), title_(title), regions_(accesses_of(exchange)) {
        if (!remark.empty()) draft_.remark(remark);
    }

    std::expected<std::string, std::string> write() {
        draft_.rule("REQ-01");
        collect();
        if (messages_.empty()) {
            return std::unexpected("no message of it can be written as a script" +
                                   (stop_.empty() ? std::string() : ": " + stop_));
        }
        make_memory();
        for (std::size_t i = 0; i < exchange_.steps.size() && !dead_; ++i) {
            if (!answers(exchange_.steps[i]) || exchange_.event(i).damaged) continue;
            post_before(i);
            answer(exchange_.steps[i], exchange_.event(i));
        }
        if (!dead_) {
            post_before(exchange_.steps.size());
            finish();
        }
        draft_.blank_line();
        done();
        if (dead_) draft_.line("dut state ERR");
        expect_memory();
        if (stop_.empty() && !dead_) stop_ = exchange_.stop;
        if (!stop_.empty()) draft_.comment("left out from here on: " + stop_);
        write_header();
        return draft_.text(title_, "requester");
    }

  private:
    // --- messages -----------------------------------------------------------------------------

    // One copy of every packet, in the order of PSNs, put together to messages.
    void collect() {
        std::map<std::int64_t, std::size_t> copies; // the step at which each was first seen
        for (std::size_t i = 0; i < exchange_.steps.size(); ++i) {
            const Event& event = exchange_.event(i);
            if (!event.asks() || event.damaged) continue;
            copies.try_emplace(relative(event), i);
        }
        std::optional<Message> open;
        for (auto copy = copies.find(0); copy != copies.end();) {
            const Event& event = exchange_.event(copy->second);
            if (stop_ = unspeakable(event); !stop_.empty()) return;
            if (event.info().starts_message()) open = begin(event, copy->first, copy->second);
            if (!open) {
                stop_ = fmt::format("the message of frame {} has no beginning", event.number);
                return;
            }
            extend(*open, event);
            const std::int64_t next = open->end();
            if (event.info().ends_message() && !add(*open, event)) return;
            if (event.info().ends_message()) open.reset();
            copy = copies.find(next);
        }
        if (open) stop_ = exchange_.stop.empty() ? "the last message has no end" : exchange_.stop;
    }

    [[nodiscard]] std::int64_t relative(const Event& event) const {
        return wire::distance(exchange_.first, event.packet.bth.psn);
    }

    Message begin(const Event& event, std::int64_t psn, std::size_t seen) const {
        Message message{.operation = event.info().operation,
                        .psn = psn,
                        .span = 0,
                        .first = event.packet,
                        .seen = seen};
        if (const auto access = access_of(event)) {
            message.place = regions_.place(access->address, access->bytes);
        }
        return message;
    }

    void extend(Message& message, const Event& event) const {
        const bool read = message.operation == Operation::RdmaReadRequest;
        message.span += exchange_.span_of(event);
        message.bytes += read ? event.packet.reth.dma_length : event.payload_bytes;
        message.solicited = event.packet.bth.solicited;
        if (event.info().immediate()) message.imm = event.packet.imm.value;
    }

    bool add(const Message& message, const Event& event) {
        const bool remote = message.operation != Operation::Send;
        if ((remote && !message.place) || message.bytes > kMostLocal) {
            stop_ = fmt::format("frame {} accesses memory that no region of {} MiB can hold",
                                event.number, kLargestRegion >> 20);
            return false;
        }
        const bool natural = message.asks_for_data() ||
                             wire::packets_of(message.bytes, exchange_.mtu) == message.span;
        const bool announced = message.operation != Operation::RdmaWrite ||
                               message.first.reth.dma_length == message.bytes;
        const bool aligned = !message.atomic() || message.first.atomic.virtual_address % 8 == 0;
        if (!natural || !announced || !aligned) {
            stop_ = fmt::format("no device makes such a message as ends in frame {}", event.number);
            return false;
        }
        messages_.push_back(message);
        if (message.span > 1 && !message.asks_for_data()) draft_.rule("LEN-10");
        return true;
    }

    // --- memory -------------------------------------------------------------------------------

    [[nodiscard]] static std::string local_name(const Region& region) { return "d" + region.name; }

    void make_memory() {
        std::uint64_t sent = 0;
        for (const Message& message : messages_) {
            if (!message.asks_for_data()) sent = std::max(sent, message.bytes);
        }
        if (sent > 0)
            draft_.line(fmt::format("dut mr s len={}KiB fill=offsets", (sent + 1023) >> 10));
        for (const Region& region : regions_.all()) {
            if (region.read || region.atomic) {
                draft_.line(fmt::format("dut mr {} len={}KiB fill=zero", local_name(region),
                                        region.bytes >> 10));
            }
            draft_.line(fmt::format("tester mr {} len={}KiB access={} fill=offsets",
                                    region.tester_name(), region.bytes >> 10, region.rights()));
        }
        if (regions_.any_atomic()) draft_.need("atomics");
        draft_.blank_line();
    }

    void write_header() {
        describe(exchange_, draft_);
        draft_.dut_qp(fmt::format("mtu={} psn=0x{:06X}", wire::bytes_of(exchange_.mtu),
                                  exchange_.first.value()));
        if (most_reads_ > kUsualReads) draft_.dut_qp(fmt::format("max_rd_atomic={}", most_reads_));
        if (waited_) draft_.dut_qp("rnr_retry=7");
        if (gives_up_) {
            draft_.dut_qp(fmt::format("timeout={} retry_cnt={}", timeout_, retries_));
        }
        const std::uint8_t dscp = exchange_.conversation->dscp[exchange_.asking];
        if (dscp != 0) draft_.dut_qp(fmt::format("dscp={}", dscp));
        if (asked_again_) draft_.unless("selective_repeat");
    }

    // --- what the device is told to do --------------------------------------------------------

    [[nodiscard]] static std::string piece(const std::string& region, std::uint64_t offset,
                                           std::uint64_t bytes) {
        return fmt::format("{}[{} +{}]", region, offset, bytes);
    }

    static std::string verb_of(const Message& message) {
        switch (message.operation) {
        case Operation::RdmaWrite: return message.imm ? "RDMA_WRITE_WITH_IMM" : "RDMA_WRITE";
        case Operation::RdmaReadRequest: return "RDMA_READ";
        case Operation::CompareSwap: return "ATOMIC_CMP_AND_SWP";
        case Operation::FetchAdd: return "ATOMIC_FETCH_AND_ADD";
        case Operation::Send:
        case Operation::RdmaReadResponse:
        case Operation::Acknowledge:
        case Operation::AtomicAcknowledge:
        case Operation::Resync:
        case Operation::Flush:
        case Operation::AtomicWrite:
        case Operation::Cnp:
        case Operation::Reserved: break;
        }
        return message.imm ? "SEND_WITH_IMM" : "SEND";
    }

    // Behind `id=`.
    static std::string post_of(const Message& message) {
        std::string text;
        if (message.asks_for_data()) {
            const Place& place = *message.place;
            text =
                " local=" + piece(local_name(*place.region), place.offset, message_bytes(message)) +
                " remote=" +
                piece(place.region->tester_name(), place.offset, message_bytes(message));
        } else if (message.bytes == 0) {
            text = message.operation == Operation::RdmaWrite ? zero_remote(message) : " len=0";
        } else {
            text = " local=" + piece("s", 0, message.bytes);
            if (message.place) {
                text += " remote=" + piece(message.place->region->tester_name(),
                                           message.place->offset, message.bytes);
            }
        }
        const wire::AtomicEth& atomic = message.first.atomic;
        if (message.operation == Operation::FetchAdd) {
            text += fmt::format(" add=0x{:X}", atomic.swap_or_add);
        } else if (message.operation == Operation::CompareSwap) {
            text += fmt::format(" compare=0x{:X} swap=0x{:X}", atomic.compare, atomic.swap_or_add);
        }
        if (message.imm) text += fmt::format(" imm=0x{:08X}", *message.imm);
        return text + (message.solicited ? " se" : "");
    }

    static std::uint64_t message_bytes(const Message& message) {
        return message.atomic() ? 8 : message.bytes;
    }

    static std::string zero_remote(const Message& message) {
        return " len=0 remote=" +
               piece(message.place->region->tester_name(), message.place->offset, 0);
    }

    // All messages that were seen before this step; alike ones by one line.
    void post_before(std::size_t step) {
        while (posted_ < messages_.size() && messages_[posted_].seen < step) {
            if (messages_[posted_].asks_for_data()) make_room_for_data();
            std::size_t last = posted_ + 1;
            const auto alike = [&](const Message& message) {
                return message.seen < step && verb_of(message) == verb_of(messages_[posted_]) &&
                       post_of(message) == post_of(messages_[posted_]) && !message.asks_for_data();
            };
            while (last < messages_.size() && last - posted_ < kMostPosted &&
                   alike(messages_[last]))
                ++last;
            if (last - oldest() > kMostPosted) {
                draft_.comment("answered here, as a send queue has its bounds");
                answer_open();
            }
            if (last - done_ > kMostPosted) done();
            draft_.line(fmt::format("dut post {} {}{}", verb_of(messages_[posted_]),
                                    ids(posted_ + 1, last), post_of(messages_[posted_])));
            for (; posted_ < last; ++posted_)
                expect(messages_[posted_]);
            most_reads_ = std::max(most_reads_, open_reads());
        }
    }

    // A device has no more than so many READs and atomics open: the oldest is answered.
    void make_room_for_data() {
        if (open_reads() < kMostReads) return;
        const auto first = std::find_if(messages_.begin() + static_cast<std::ptrdiff_t>(oldest()),
                                        messages_.end(), std::mem_fn(&Message::asks_for_data));
        give(*first, static_cast<std::size_t>(first - messages_.begin()));
    }

    // --- what the device must send ------------------------------------------------------------

    [[nodiscard]] std::int64_t sent_end() const {
        return posted_ == 0 ? 0 : messages_[posted_ - 1].end();
    }

    void expect(const Message& message, std::string_view more = "") {
        draft_.line(fmt::format("< {} psn={}{}{}{}", name_of(message), message.psn,
                                memory_of(message), payload_of(message), more));
    }

    static std::string name_of(const Message& message) {
        return message.asks_for_data() ? std::string(message.first.info().name) : verb_of(message);
    }

    static std::string memory_of(const Message& message) {
        if (!message.place) return {};
        const Place& place = *message.place;
        const std::string name = place.region->tester_name();
        std::string text =
            " va=" + (place.offset == 0 ? name : fmt::format("{}+{}", name, place.offset)) +
            " rkey=" + name;
        const wire::AtomicEth& atomic = message.first.atomic;
        if (message.operation == Operation::FetchAdd) {
            return text + fmt::format(" add=0x{:X}", atomic.swap_or_add);
        }
        if (message.operation == Operation::CompareSwap) {
            return text +
                   fmt::format(" compare=0x{:X} swap=0x{:X}", atomic.compare, atomic.swap_or_add);
        }
        return text + fmt::format(" dmalen={}", message.bytes);
    }

    static std::string payload_of(const Message& message) {
        if (message.asks_for_data()) return {};
        std::string text = fmt::format(" len={}", message.bytes);
        if (message.bytes > 0) text += " data=" + piece("s", 0, message.bytes);
        return text + (message.imm ? fmt::format(" imm=0x{:08X}", *message.imm) : "");
    }

    // Everything from this PSN on, again (REQ-11).
    void expect_from(std::int64_t psn, std::string more) {
        for (std::size_t i = 0; i < posted_; ++i) {
            const Message& message = messages_[i];
            if (message.end() <= psn) continue;
            if (message.psn >= psn) {
                expect(message, more);
            } else {
                expect_rest(message, psn, more);
            }
            more.clear();
        }
    }

    void expect_rest(const Message& message, std::int64_t psn, const std::string& more) {
        for (std::int64_t at = psn; at < message.end(); ++at) {
            const bool last = at + 1 == message.end();
            const auto opcode = wire::opcode_of(
                wire::Service::Rc, message.operation,
                last ? wire::Position::Last : wire::Position::Middle, last && message.imm);
            const std::uint64_t before =
                static_cast<std::uint64_t>(at - message.psn) * wire::bytes_of(exchange_.mtu);
            const std::uint64_t bytes =
                last ? message.bytes - before : wire::bytes_of(exchange_.mtu);
            draft_.line(fmt::format("< {} psn={} len={} data={}{}", wire::opcode_info(*opcode).name,
                                    at, bytes, piece("s", before, bytes), at == psn ? more : ""));
        }
    }

    [[nodiscard]] std::size_t open_reads() const {
        std::size_t open = 0;
        for (std::size_t i = oldest(); i < posted_; ++i)
            open += messages_[i].asks_for_data() ? 1 : 0;
        return open;
    }

    // --- what the tester answers --------------------------------------------------------------

    // The first message that is not answered whole; `posted_` if there is none.
    [[nodiscard]] std::size_t oldest() const {
        std::size_t i = 0;
        while (i < posted_ && messages_[i].end() <= unanswered_)
            ++i;
        return i;
    }

    // REQ-08: nothing is said about what lies behind an unanswered READ or atomic.
    [[nodiscard]] bool data_before(std::int64_t psn) const {
        for (std::size_t i = oldest(); i < posted_ && messages_[i].psn < psn; ++i) {
            if (messages_[i].asks_for_data()) return true;
        }
        return false;
    }

    void answer(const Step& step, const Event& event) {
        if (step.psn < unanswered_ || step.psn >= sent_end()) return; // said before
        switch (event.info().operation) {
        case Operation::RdmaReadResponse:
        case Operation::AtomicAcknowledge: data(step.psn); return;
        case Operation::Acknowledge: break;
        case Operation::Send:
        case Operation::RdmaWrite:
        case Operation::RdmaReadRequest:
        case Operation::CompareSwap:
        case Operation::FetchAdd:
        case Operation::Resync:
        case Operation::Flush:
        case Operation::AtomicWrite:
        case Operation::Cnp:
        case Operation::Reserved: return;
        }
        if (event.ack_kind() == wire::AckKind::Ack) {
            if (data_before(step.psn + 1)) return;
            draft_.line(fmt::format("> ACK psn={}", step.psn));
            unanswered_ = step.psn + 1;
        } else if (!data_before(step.psn)) {
            refuse(step.psn, event);
        }
    }

    // A READ or an atomic, answered whole.
    void data(std::int64_t psn) {
        for (std::size_t i = oldest(); i < posted_; ++i) {
            const Message& message = messages_[i];
            const bool about = psn >= message.psn && psn < message.end();
            if (message.asks_for_data() && !about) return; // an earlier one is not answered
            if (!about) continue;
            if (message.asks_for_data()) give(message, i);
            return;
        }
    }

    void give(const Message& message, std::size_t index) {
        if (message.atomic()) {
            draft_.line(
                fmt::format("> ATOMIC_ACKNOWLEDGE psn={} original=0x{:X}", message.psn, index + 1));
        } else {
            const Place& place = *message.place;
            draft_.line(fmt::format(
                "> RDMA_READ_RESPONSE psn={} {}", message.psn,
                message.bytes == 0
                    ? "len=0"
                    : "data=" + piece(place.region->tester_name(), place.offset, message.bytes)));
        }
        unanswered_ = message.end();
    }

    void refuse(std::int64_t psn, const Event& event) {
        const bool inside_data = std::ranges::any_of(messages_, [&](const Message& message) {
            return message.asks_for_data() && psn > message.psn && psn < message.end();
        });
        if (inside_data) return;
        const wire::Syndrome syndrome = event.packet.aeth.syndrome;
        if (event.ack_kind() == wire::AckKind::RnrNak) {
            draft_.rule("RNR-08");
            draft_.line(fmt::format("> RNR_NAK psn={} timer={}", psn, syndrome.code()));
            unanswered_ = psn;
            waited_ = true;
            expect_from(psn, fmt::format(" within 10s after rnr({})..", syndrome.code()));
            return;
        }
        const auto code = syndrome.nak_code();
        if (!code) return;
        draft_.line(fmt::format("> NAK psn={} code={}", psn, wire::name_of(*code)));
        unanswered_ = psn;
        if (*code == wire::NakCode::PsnSequence) {
            draft_.rule("REQ-11");
            asked_again_ = true;
            // A device that heeds one NAK at a time sends again when its timer runs out (REQ-12).
            expect_from(psn, " within 10s");
        } else {
            draft_.rule("REQ-16");
            fail(status_of(*code));
        }
    }

    static std::string_view status_of(wire::NakCode code) {
        switch (code) {
        case wire::NakCode::RemoteAccess: return "REM_ACCESS_ERR";
        case wire::NakCode::RemoteOperational: return "REM_OP_ERR";
        case wire::NakCode::PsnSequence:
        case wire::NakCode::InvalidRequest:
        case wire::NakCode::InvalidRdRequest: break;
        }
        return "REM_INV_REQ_ERR";
    }

    // --- the end ------------------------------------------------------------------------------

    void fail(std::string_view status, std::string_view within = "") {
        const std::size_t failed = oldest();
        done();
        draft_.line(fmt::format("dut done send id={} status={}{}", failed + 1, status, within));
        if (failed + 1 < posted_) {
            draft_.line(
                fmt::format("dut done send {} status=WR_FLUSH_ERR", ids(failed + 2, posted_)));
        }
        done_ = posted_;
        dead_ = true;
    }

    // Completions of what is answered and not yet waited for.
    void done() {
        const std::size_t end = oldest();
        if (dead_ || end <= done_) return;
        draft_.line("dut done send " + ids(done_ + 1, end));
        done_ = end;
    }

    // What the capture leaves open: given up by the device if it asked in vain, else answered.
    void finish() {
        if (oldest() == posted_) return;
        count_copies();
        if (retries_ > 0) {
            gives_up_ = true;
            draft_.rule("TMO-03");
            fail("RETRY_EXC_ERR", " within 60s");
            return;
        }
        draft_.comment("the capture ends before this is answered");
        answer_open();
    }

    // Everything that was posted.
    void answer_open() {
        for (std::size_t i = oldest(); i < posted_; ++i) {
            if (messages_[i].asks_for_data()) {
                give(messages_[i], i);
            } else if (i + 1 == posted_ || messages_[i + 1].asks_for_data()) {
                draft_.line(fmt::format("> ACK psn={}", messages_[i].end() - 1));
                unanswered_ = messages_[i].end();
            }
        }
    }

    // How often the oldest packet without an answer was sent since the last answer, and how far
    // apart.
    void count_copies() {
        std::optional<wire::Instant> before;
        std::optional<wire::Duration> gap;
        std::uint32_t copies = 0;
        for (std::size_t i = 0; i < exchange_.steps.size(); ++i) {
            const Event& event = exchange_.event(i);
            if (answers(exchange_.steps[i])) copies = 0;
            if (!event.asks() || event.damaged || relative(event) != unanswered_) continue;
            ++copies;
            if (before && event.time && (!gap || *event.time - *before < *gap)) {
                gap = *event.time - *before;
            }
            before = event.time;
        }
        if (copies > 1) {
            retries_ = static_cast<std::uint8_t>(std::min<std::uint32_t>(copies - 1, kMostRetries));
        }
        timeout_ = kUsualTimeout;
        // TMO-01: the timer runs out between 1 and 4 times its value.
        for (std::uint8_t code = 1; gap && code < 32; ++code) {
            if (*wire::ack_timeout(code) <= *gap) timeout_ = code;
        }
    }

    // What READs brought, where nothing was read over it.
    void expect_memory() {
        for (std::size_t i = 0; i < done_; ++i) {
            const Message& message = messages_[i];
            if (message.operation != Operation::RdmaReadRequest || message.bytes == 0) continue;
            if (message.end() > unanswered_ || message.place->region->atomic) continue;
            const Place& place = *message.place;
            const std::string line = fmt::format(
                "expect {} == {}", piece(local_name(*place.region), place.offset, message.bytes),
                piece(place.region->tester_name(), place.offset, message.bytes));
            if (std::ranges::find(expected_, line) != expected_.end()) continue;
            expected_.push_back(line);
            draft_.line(line);
        }
    }

    const Exchange& exchange_;
    std::string title_;
    Regions regions_;
    Draft draft_;
    std::vector<Message> messages_; // the work request's id is the index + 1
    std::string stop_;
    std::size_t posted_ = 0;
    std::size_t done_ = 0;
    std::int64_t unanswered_ = 0; // PSN
    std::size_t most_reads_ = 0;
    bool waited_ = false;
    bool asked_again_ = false;
    bool dead_ = false;
    bool gives_up_ = false;
    std::uint8_t timeout_ = kUsualTimeout;
    std::uint8_t retries_ = 0;
    std::vector<std::string> expected_;
};

} // namespace

std::expected<std::string, std::string>
requester_script(const Exchange& exchange, std::string_view title, std::string_view remark) {
    return Answerer(exchange, title, remark).write();
}

} // namespace veriroce::transcribe
