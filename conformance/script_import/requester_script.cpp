// The device asks: a work request for each message of the capture, `<` lines for the packets that
// it makes of them, and `>` lines for what the answering end said.
//
// The tester takes everything that the device sends, so that what was lost and timed out in the
// capture does not happen again, but for NAKs: they are said again, and what they ask for must
// come.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "conformance/script_import/draft.hpp"
#include "conformance/script_import/messages.hpp"
#include "conformance/script_import/scripts.hpp"

namespace veriroce::script_import {
namespace {

using wire::Operation;

constexpr std::size_t kMostPosted = 100;
constexpr std::uint8_t kMostRetries = 7;
constexpr std::uint8_t kUsualTimeout = 14; // 67 ms

std::vector<Access> accesses_of(const Exchange& exchange) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < exchange.steps.size(); ++i) {
        const Event& event = exchange.event(i);
        if (event.damaged || !event.asks() || !unspeakable(event).empty()) continue;
        if (const auto access = access_of(event)) accesses.push_back(*access);
    }
    return accesses;
}

class Answerer {
  public:
    Answerer(const Exchange& exchange, std::string_view title, std::string_view remark)
        : exchange_(exchange), title_(title), regions_(accesses_of(exchange)) {
        if (!remark.empty()) draft_.remark(remark);
    }

    std::expected<std::string, std::string> write() {
        draft_.rule("REQ-01");
        auto [messages, stop] = messages_of(exchange_, regions_);
        messages_ = std::move(messages);
        stop_ = std::move(stop);
        if (messages_.empty()) {
            return std::unexpected("no message of it can be written as a script" +
                                   (stop_.empty() ? std::string() : ": " + stop_));
        }
        const auto cut = [](const Message& one) { return one.span > 1 && !one.answered_in_turn(); };
        if (std::ranges::any_of(messages_, cut)) draft_.rule("LEN-10");
        make_memory();
        for (std::size_t i = 0; i < exchange_.steps.size() && !dead_; ++i) {
            if (exchange_.steps[i].fate != Fate::Answer || exchange_.event(i).damaged) continue;
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
    // --- memory -------------------------------------------------------------------------------

    void make_memory() {
        std::uint64_t sent = 0;
        for (const Message& message : messages_) {
            if (message.carries_payload()) sent = std::max(sent, message.bytes);
            need_for(message.first.info(), draft_);
            if (message.invalidates) draft_.need("send_inv");
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

    // All messages that were seen before this step; alike ones by one line.
    void post_before(std::size_t step) {
        while (posted_ < messages_.size() && messages_[posted_].seen < step) {
            if (messages_[posted_].answered_in_turn()) make_room_for_data();
            std::size_t last = posted_ + 1;
            const auto alike = [&](const Message& message) {
                return message.seen < step && verb_of(message) == verb_of(messages_[posted_]) &&
                       post_of(message) == post_of(messages_[posted_]) &&
                       !message.answered_in_turn();
            };
            while (last < messages_.size() && last - posted_ < kMostPosted &&
                   alike(messages_[last]))
                ++last;
            if (last - oldest() > kMostPosted) {
                draft_.comment("answered here, because a send queue holds only so many requests");
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
                                        messages_.end(), std::mem_fn(&Message::answered_in_turn));
        give(*first, static_cast<std::size_t>(first - messages_.begin()));
    }

    // --- what the device must send ------------------------------------------------------------

    [[nodiscard]] std::int64_t sent_end() const {
        return posted_ == 0 ? 0 : messages_[posted_ - 1].end();
    }

    void expect(const Message& message, std::string_view more = "") {
        draft_.line(fmt::format("< {}{}", expected_text(message), more));
    }

    // Everything from this PSN on, again (REQ-11).
    void expect_from(std::int64_t psn, std::string more) {
        for (std::size_t i = 0; i < posted_; ++i) {
            const Message& message = messages_[i];
            if (message.end() <= psn) continue;
            if (message.psn >= psn) {
                expect(message, more);
            } else {
                for (const std::string& line : expected_rest(message, psn, exchange_.mtu)) {
                    draft_.line(fmt::format("< {}{}", line, more));
                    more.clear();
                }
            }
            more.clear();
        }
    }

    [[nodiscard]] std::size_t open_reads() const {
        std::size_t open = 0;
        for (std::size_t i = oldest(); i < posted_; ++i)
            open += messages_[i].answered_in_turn() ? 1 : 0;
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
            if (messages_[i].answered_in_turn()) return true;
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
            if (message.answered_in_turn() && !about) return; // an earlier one is not answered
            if (!about) continue;
            if (message.answered_in_turn()) give(message, i);
            return;
        }
    }

    void give(const Message& message, std::size_t index) {
        if (message.answered_empty()) {
            draft_.rule("EXT-02");
            draft_.line(fmt::format("> RDMA_READ_RESPONSE_ONLY psn={} len=0", message.psn));
        } else if (message.atomic()) {
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
            return message.answered_in_turn() && psn > message.psn && psn < message.end();
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
        note_copies();
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
            if (messages_[i].answered_in_turn()) {
                give(messages_[i], i);
            } else if (i + 1 == posted_ || messages_[i + 1].answered_in_turn()) {
                draft_.line(fmt::format("> ACK psn={}", messages_[i].end() - 1));
                unanswered_ = messages_[i].end();
            }
        }
    }

    // How often the oldest packet without an answer was sent since the last answer, and how far
    // apart.
    void note_copies() {
        const Copies copies = copies_of(exchange_, unanswered_);
        if (copies.count > 1) {
            retries_ =
                static_cast<std::uint8_t>(std::min<std::uint32_t>(copies.count - 1, kMostRetries));
        }
        // TMO-01: the timer runs out between 1 and 4 times its value.
        for (std::uint8_t code = 1; copies.gap && code < 32; ++code) {
            if (*wire::ack_timeout(code) <= *copies.gap) timeout_ = code;
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

} // namespace veriroce::script_import
