#include "conformance/script_import/exchange.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace veriroce::script_import {
namespace {

using wire::Operation;

// How far before the first request that was seen its connection may have begun.
constexpr std::int32_t kNearby = 1024;

// The smallest path MTU that carries what was seen; 1024 if less would do, as most have it.
wire::Mtu smallest_mtu(std::uint32_t payload) {
    for (const wire::Mtu mtu : {wire::Mtu::B1024, wire::Mtu::B2048}) {
        if (payload <= wire::bytes_of(mtu)) return mtu;
    }
    return wire::Mtu::B4096;
}

// What a message that is under way still has to bring.
struct OpenMessage {
    Operation operation = Operation::Send;
    std::uint64_t announced = 0; // of a WRITE: DMALen
    std::uint64_t received = 0;
};

class Follower {
  public:
    Follower(Exchange& exchange, std::uint64_t messages)
        : exchange_(exchange), messages_wanted_(messages) {}

    void run() {
        choose_events();
        find_first_psn();
        find_mtu();
        while (at_ < exchange_.event_of.size() && exchange_.stop.empty()) {
            before_.resize(at_);
            before_.push_back(now_);
            const Event& event = exchange_.event(at_);
            if (event.damaged || event.asks()) {
                request(event);
                ++at_;
            } else if (answer(event)) {
                ++at_;
            }
            if (now_.messages == messages_wanted_ && at_ < exchange_.event_of.size()) {
                exchange_.stop = fmt::format("{} messages were wanted", now_.messages);
            }
        }
        exchange_.steps.resize(at_);
    }

  private:
    struct State {
        std::int64_t expected = 0; // ePSN
        bool waits_for_receive = false;
        bool dead = false; // behind a fatal NAK
        std::optional<OpenMessage> message;
        std::uint64_t messages = 0;
    };

    void choose_events() {
        const auto& events = exchange_.conversation->events;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const Event& event = events[i];
            const bool asked = event.asks() && event.from == exchange_.asking;
            const bool answered = event.info().response() && event.from != exchange_.asking;
            if (asked || answered) exchange_.event_of.push_back(i);
        }
        exchange_.steps.resize(exchange_.event_of.size());
    }

    // The connection's first PSN if it is known; else the lowest one near the first that was seen.
    void find_first_psn() {
        const FoundEnd& end = exchange_.conversation->connection.ends[exchange_.asking];
        if (end.first_psn) {
            exchange_.first = *end.first_psn;
            return;
        }
        std::optional<wire::Psn> first;
        for (std::size_t i = 0; i < exchange_.event_of.size(); ++i) {
            const Event& event = exchange_.event(i);
            const bool missing = event.acknowledge() && event.packet.aeth.syndrome.nak_code() ==
                                                            wire::NakCode::PsnSequence;
            if (event.damaged || !(event.asks() || missing)) continue;
            if (!first) first = event.packet.bth.psn;
            const std::int32_t ahead = wire::distance(*first, event.packet.bth.psn);
            if (ahead < 0 && ahead > -kNearby) first = event.packet.bth.psn;
        }
        exchange_.first = first.value_or(wire::Psn(0));
    }

    void find_mtu() {
        const FoundEnd& end = exchange_.conversation->connection.ends[exchange_.asking];
        exchange_.mtu_known = end.mtu.has_value();
        if (end.mtu) {
            exchange_.mtu = *end.mtu;
            return;
        }
        std::uint32_t largest = 0;
        for (std::size_t i = 0; i < exchange_.event_of.size(); ++i) {
            if (!exchange_.event(i).damaged) {
                largest = std::max(largest, exchange_.event(i).payload_bytes);
            }
        }
        exchange_.mtu = smallest_mtu(largest);
    }

    [[nodiscard]] std::int64_t relative(const Event& event) const {
        return wire::distance(exchange_.first, event.packet.bth.psn);
    }

    // --- requests -----------------------------------------------------------------------------

    void request(const Event& event) {
        Step& step = exchange_.steps[at_];
        if (step.fate == Fate::Lost) return; // found out by a later answer
        const bool known_no_receive = step.fate == Fate::NoRecv;
        const bool known_refused = step.fate == Fate::Refused && !step.visible;
        step.psn = relative(event);
        if (event.damaged) {
            step.fate = event.asks() ? Fate::Damaged : Fate::Unusable;
            return;
        }
        if (now_.dead) {
            step.fate = Fate::Waiting;
        } else if (step.psn < now_.expected) {
            step.fate = Fate::Again;
        } else if (step.psn > now_.expected) {
            step.fate = now_.waits_for_receive ? Fate::Waiting : Fate::Ahead;
        } else if (invalid(event)) {
            step.fate = Fate::Refused;
            step.answer = wire::Syndrome::nak(wire::NakCode::InvalidRequest);
            step.visible = true;
            now_.dead = true;
        } else if (known_refused) {
            now_.dead = true;
        } else if (known_no_receive) {
            now_.waits_for_receive = true;
        } else {
            step.fate = Fate::Taken;
            take(event);
        }
    }

    void take(const Event& event) {
        const wire::OpcodeInfo& info = event.info();
        now_.expected += exchange_.span_of(event);
        now_.waits_for_receive = false;
        if (info.starts_message() && !info.ends_message()) {
            now_.message =
                OpenMessage{.operation = info.operation, .announced = event.packet.reth.dma_length};
        }
        if (now_.message) now_.message->received += event.payload_bytes;
        if (!info.ends_message()) return;
        now_.message.reset();
        ++now_.messages;
    }

    // Whether the packet itself shows that it must be refused as an invalid request.
    [[nodiscard]] bool invalid(const Event& event) const {
        const wire::OpcodeInfo& info = event.info();
        const std::uint32_t mtu = wire::bytes_of(exchange_.mtu);
        const std::uint32_t bytes = event.payload_bytes;
        if (info.headers.has(wire::Header::AtomicEth)) { // ATM-02
            return now_.message || event.packet.atomic.virtual_address % 8 != 0;
        }
        if (info.operation == Operation::AtomicWrite) { // EXT-01
            const wire::Reth& reth = event.packet.reth;
            return now_.message || bytes != 8 || reth.dma_length != 8 ||
                   reth.virtual_address % 8 != 0;
        }
        if (info.starts_message() == now_.message.has_value()) return true; // OPC-01 to OPC-04
        if (now_.message && now_.message->operation != info.operation) return true;
        if (info.operation == Operation::RdmaReadRequest) return false;
        if (!info.ends_message()) {
            return bytes != mtu; // LEN-01, LEN-02
        }
        if (bytes > mtu || (now_.message && bytes == 0)) return true; // LEN-03, LEN-04
        if (info.operation != Operation::RdmaWrite) return false;
        const std::uint64_t announced =
            now_.message ? now_.message->announced : event.packet.reth.dma_length;
        return announced != bytes + (now_.message ? now_.message->received : 0); // LEN-05, LEN-06
    }

    // --- answers ------------------------------------------------------------------------------

    // False: what was concluded before is wrong; go on at `at_`.
    bool answer(const Event& event) {
        Step& step = exchange_.steps[at_];
        step.fate = Fate::Answer;
        step.psn = relative(event);
        if (!event.acknowledge()) return true;
        switch (event.ack_kind()) {
        case wire::AckKind::Ack: return acknowledged(step.psn);
        case wire::AckKind::RnrNak: return refused(step.psn, Fate::NoRecv, event);
        case wire::AckKind::Nak: break;
        case wire::AckKind::Reserved: return true;
        }
        const auto code = event.packet.aeth.syndrome.nak_code();
        if (!code) return true;
        if (*code == wire::NakCode::PsnSequence) return missing(step.psn);
        return refused(step.psn, Fate::Refused, event);
    }

    bool acknowledged(std::int64_t psn) {
        if (psn >= now_.expected && !now_.dead) {
            exchange_.stop = fmt::format("the capture does not show how PSN {} arrived", psn);
        }
        return true;
    }

    // A sequence NAK: what is missing there was lost if it had been sent, and later ones came.
    bool missing(std::int64_t psn) {
        if (psn >= now_.expected) return true;
        bool later = false;
        for (std::size_t i = at_; i-- > 0;) {
            const Step& step = exchange_.steps[i];
            const bool came = step.fate != Fate::Answer && step.fate != Fate::Damaged &&
                              step.fate != Fate::Lost && step.fate != Fate::Unusable;
            if (!came) continue;
            if (step.psn == psn) return later ? lose(i) : true;
            later = later || step.psn > psn;
        }
        return true;
    }

    bool lose(std::size_t step) {
        exchange_.steps[step].fate = Fate::Lost;
        ++exchange_.lost;
        return go_back(step);
    }

    bool go_back(std::size_t step) {
        at_ = step;
        now_ = before_[step];
        return false;
    }

    // A NAK of the last copy of a PSN; if an earlier one was taken, that one was lost.
    bool refused(std::int64_t psn, Fate fate, const Event& event) {
        for (std::size_t i = at_; i-- > 0;) {
            Step& step = exchange_.steps[i];
            if (exchange_.event(i).damaged || !exchange_.event(i).asks() || step.psn != psn)
                continue;
            if (step.fate == fate || step.fate == Fate::Refused) return true; // as it should be
            if (step.fate == Fate::Taken) {
                step.fate = fate;
                step.answer = event.packet.aeth.syndrome;
                return go_back(i);
            }
            if (step.fate == Fate::Again) return lose_taken(psn, i);
        }
        return true;
    }

    bool lose_taken(std::int64_t psn, std::size_t before) {
        for (std::size_t i = before; i-- > 0;) {
            if (exchange_.steps[i].fate == Fate::Taken && exchange_.steps[i].psn == psn) {
                return lose(i);
            }
        }
        return true;
    }

    Exchange& exchange_;
    std::uint64_t messages_wanted_;
    std::size_t at_ = 0;
    State now_;
    std::vector<State> before_; // by step
};

} // namespace

std::uint32_t Exchange::span_of(const Event& event) const {
    if (event.info().operation != Operation::RdmaReadRequest) return 1;
    return wire::packets_of(event.packet.reth.dma_length, mtu);
}

Copies copies_of(const Exchange& exchange, std::int64_t psn) {
    Copies copies;
    std::optional<wire::Instant> before;
    for (std::size_t i = 0; i < exchange.steps.size(); ++i) {
        const Event& event = exchange.event(i);
        if (exchange.steps[i].fate == Fate::Answer) copies.count = 0;
        if (!event.asks() || event.damaged) continue;
        if (wire::distance(exchange.first, event.packet.bth.psn) != psn) continue;
        ++copies.count;
        if (before && event.time && (!copies.gap || *event.time - *before < *copies.gap)) {
            copies.gap = *event.time - *before;
        }
        before = event.time;
    }
    return copies;
}

Exchange exchange_of(const Conversation& conversation, std::uint8_t asking,
                     std::uint64_t messages) {
    Exchange exchange{.conversation = &conversation, .asking = asking};
    Follower(exchange, messages).run();
    return exchange;
}

} // namespace veriroce::script_import
