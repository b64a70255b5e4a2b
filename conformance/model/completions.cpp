#include "conformance/model/completions.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace veriroce::model {
namespace {

// How long a completion may take to be there after what it tells.
constexpr wire::Duration kPatience = std::chrono::milliseconds(5);

std::string text_of(const dut::Completion& completion) {
    return fmt::format("{} completion id={}", wire::name_of(completion.queue), completion.id);
}

wire::WcOpcode opcode_of(wire::WrOpcode opcode) {
    using enum wire::WrOpcode;
    switch (opcode) {
    case Send:
    case SendWithImm:
    case SendWithInv: return wire::WcOpcode::Send;
    case RdmaWrite:
    case RdmaWriteWithImm: return wire::WcOpcode::RdmaWrite;
    case RdmaRead: return wire::WcOpcode::RdmaRead;
    case AtomicCmpAndSwp: return wire::WcOpcode::CompSwap;
    case AtomicFetchAndAdd: return wire::WcOpcode::FetchAdd;
    case LocalInv: return wire::WcOpcode::LocalInv;
    case BindMw: return wire::WcOpcode::BindMw;
    case Flush: return wire::WcOpcode::Flush;
    case AtomicWrite: return wire::WcOpcode::AtomicWrite;
    }
    return wire::WcOpcode::Send;
}

// Providers differ in what they tell of the others.
bool opcode_is_fixed(wire::WrOpcode opcode) {
    return opcode != wire::WrOpcode::LocalInv && opcode != wire::WrOpcode::BindMw;
}

} // namespace

bool Completions::lossy(dut::CqHandle cq) const {
    return overrun_.contains(cq) || !depth_.contains(cq);
}

void Completions::expect_more(dut::CqHandle cq, std::uint64_t count) {
    open_[cq] += count;
    const auto depth = depth_.find(cq);
    if (depth != depth_.end() && open_[cq] > depth->second) overrun_.insert(cq);
}

bool Completions::emptied_after(dut::CqHandle cq, wire::Instant time) const {
    const auto found = emptied_.find(cq);
    return found != emptied_.end() && found->second >= time + kPatience;
}

void Completions::tell(std::string rule, const Polled& polled, std::string measured,
                       std::string allowed, rules::Level level) {
    found_.push_back({.rule = std::move(rule),
                      .level = level,
                      .field = "completion",
                      .allowed = std::move(allowed),
                      .measured = fmt::format("{}: {}", text_of(polled.completion), measured),
                      .packets = {}});
}

void Completions::asked(const Call& call) {
    if (const auto* post = std::get_if<dut::PostSend>(&call.request)) {
        if (const Qp* qp = posted_.find(post->qp)) expect_more(qp->send_cq, post->requests.size());
    } else if (const auto* receive = std::get_if<dut::PostRecv>(&call.request)) {
        if (const Qp* qp = posted_.find(receive->qp)) {
            expect_more(qp->recv_cq, receive->requests.size());
        }
    } else if (const auto* shared = std::get_if<dut::SrqPost>(&call.request)) {
        for (const Qp& qp : posted_.qps()) {
            if (qp.srq == shared->srq) expect_more(qp.recv_cq, shared->requests.size());
        }
    }
}

void Completions::answered(const Call& call) {
    if (!call.answer || !call.answer->has_value()) return;
    if (const auto* made = std::get_if<dut::CqCreated>(&**call.answer)) {
        depth_[made->cq] = std::get<dut::CqCreate>(call.request).depth;
    }
    const auto* poll = std::get_if<dut::Poll>(&call.request);
    const auto* list = std::get_if<dut::Polled>(&**call.answer);
    if (poll == nullptr || list == nullptr) return;
    if (list->overrun) overrun_.insert(poll->cq);
    if (list->completions.size() < poll->max) emptied_[poll->cq] = call.asked;
}

void Completions::in_order(const Polled& polled) {
    const bool send = polled.send != nullptr;
    // Returns nothing if the work request is before all open ones.
    const auto earlier_open = [&]() -> std::optional<std::uint64_t> {
        std::optional<std::uint64_t> open;
        if (send) {
            for (std::size_t i = polled.qp->sends_done; i < polled.qp->sends.size(); ++i) {
                const SendWork& one = polled.qp->sends[i];
                if (&one == polled.send) return open;
                // An unsignaled request succeeds in silence. For some the model cannot know.
                const bool silent = !one.signaled || one.silence_open;
                const bool later = !one.polled || one.turn > polled.send->turn;
                if (!open && !silent && later) open = one.request.id;
            }
            return std::nullopt;
        }
        for (std::size_t i = polled.qp->receives_done; i < polled.qp->receives.size(); ++i) {
            const ReceiveWork& one = polled.qp->receives[i];
            if (&one == polled.receive) return open;
            const bool later = !one.polled || one.turn > polled.receive->turn;
            if (!open && later) open = one.request.id;
        }
        return std::nullopt;
    };
    if (const auto id = earlier_open()) {
        tell(send ? "N-20" : "N-21", polled, "it came out of order",
             fmt::format("id={} of its queue must complete first", *id));
    }
}

void Completions::opcode(const Polled& polled) {
    if (polled.send == nullptr) return;
    const wire::WrOpcode posted = polled.send->request.opcode;
    const wire::WcOpcode expected = opcode_of(posted);
    if (polled.completion.opcode == expected) return;
    tell("REQ-34", polled, fmt::format("opcode is {}", wire::name_of(polled.completion.opcode)),
         fmt::format("opcode must be {}", wire::name_of(expected)),
         opcode_is_fixed(posted) ? rules::Level::Must : rules::Level::Should);
}

// READs and atomics tell the bytes that they brought, and no receive takes more than it has room
// for.
void Completions::length(const Polled& polled) {
    const dut::Completion& completion = polled.completion;
    if (polled.send != nullptr && polled.send->asks_for_data()) {
        const bool read = polled.send->request.opcode == wire::WrOpcode::RdmaRead;
        const std::uint64_t due = read ? polled.send->bytes : kAtomicBytes;
        if (completion.byte_len == due) return;
        tell("REQ-34", polled, fmt::format("byte_len is {}", completion.byte_len),
             fmt::format("byte_len must be {}", due), rules::Level::Should);
    } else if (polled.receive != nullptr && completion.opcode == wire::WcOpcode::Recv &&
               completion.byte_len > polled.receive->bytes()) {
        tell("LEN-06", polled, fmt::format("byte_len is {}", completion.byte_len),
             fmt::format("its receive has {} bytes", polled.receive->bytes()));
    }
}

void Completions::polled(const Polled& polled, dut::CqHandle from) {
    const dut::Completion& completion = polled.completion;
    const bool send = completion.queue == wire::Queue::Send;
    if (polled.qp == nullptr) {
        return tell("N-20", polled, fmt::format("its QP is {}", completion.qp.value),
                    "no QP has this handle");
    }
    const Qp& qp = *polled.qp;
    const dut::CqHandle cq = send ? qp.send_cq : qp.recv_cq;
    if (open_[cq] > 0) --open_[cq];
    if (from != cq) {
        tell(send ? "N-20" : "N-21", polled, fmt::format("it came from queue {}", from.value),
             fmt::format("its QP has queue {} for it", cq.value));
    }
    if (lossy(cq) || qp.lives > 1) return;
    if (polled.send == nullptr && polled.receive == nullptr) {
        return tell(send ? "N-20" : "N-21", polled, "it came once more",
                    "no open work request of the queue has this id");
    }
    if (send || !qp.srq) in_order(polled);
    after_failure(polled);
    if (completion.status != wire::WcStatus::Success) return;
    opcode(polled);
    length(polled);
    if (send && !polled.send->signaled && !polled.send->silence_open) {
        tell("N-20", polled, "its request is not signaled", "it must complete in silence");
    }
}

void Completions::received(const Polled& polled, const Message& message) {
    const dut::Completion& completion = polled.completion;
    const bool write = message.operation == wire::Operation::RdmaWrite;
    const auto differs = [&](std::string measured, std::string allowed) {
        tell(write ? "N-15" : "N-21", polled, std::move(measured), std::move(allowed));
        found_.back().packets.push_back(message.packet);
    };
    if (completion.byte_len != message.bytes) {
        differs(fmt::format("byte_len is {}", completion.byte_len),
                fmt::format("byte_len must be {}", message.bytes));
    }
    const auto text = [](std::optional<std::uint32_t> imm) {
        return imm ? fmt::format("0x{:X}", *imm) : std::string("absent");
    };
    if (completion.imm != message.imm) {
        differs(fmt::format("imm is {}", text(completion.imm)),
                fmt::format("imm must be {}", text(message.imm)));
    }
    const auto key = [](std::optional<wire::Rkey> rkey) {
        return rkey ? fmt::format("0x{:X}", rkey->value) : std::string("absent");
    };
    if (completion.invalidated_rkey != message.invalidated) {
        differs(fmt::format("the invalidated key is {}", key(completion.invalidated_rkey)),
                fmt::format("it must be {}", key(message.invalidated)));
    }
    if (message.source && completion.src_qpn != message.source) {
        tell("EXT-05", polled,
             completion.src_qpn ? fmt::format("src_qpn is 0x{:06X}", completion.src_qpn->value)
                                : std::string("src_qpn is absent"),
             fmt::format("src_qpn must be 0x{:06X}", message.source->value));
        found_.back().packets.push_back(message.packet);
    }
    const wire::WcOpcode expected = write ? wire::WcOpcode::RecvRdmaWithImm : wire::WcOpcode::Recv;
    if (completion.opcode != expected) {
        differs(fmt::format("opcode is {}", wire::name_of(completion.opcode)),
                fmt::format("opcode must be {}", wire::name_of(expected)));
    }
}

void Completions::unexplained(const Polled& polled) {
    if (polled.qp->lives > 1) return;
    tell("N-21", polled, "no message came for it",
         "a receive completes with a message that was not dropped");
    // A message that was dropped in a gap may have come again: a late copy of it.
    if (!setting_.exact) found_.back().kind = rules::FindingClass::Surplus;
}

void Completions::failed_alone(const Polled& polled) {
    using enum wire::WcStatus;
    const wire::WcStatus status = polled.completion.status;
    const bool of_peer = status == RemInvReqErr || status == RemAccessErr || status == RemOpErr ||
                         status == RetryExcErr || status == RnrRetryExcErr;
    if (of_peer) wrong_status(polled, "REQ-16", "UC and UD have no answers that could cause it");
}

void Completions::after_failure(const Polled& polled) {
    const bool send = polled.send != nullptr;
    const wire::WcStatus status = polled.completion.status;
    std::uint32_t& failed = send ? polled.qp->sends_failed : polled.qp->receives_failed;
    const bool before = failed > 0;
    if (status != wire::WcStatus::Success) ++failed;
    if (send && status == wire::WcStatus::RetryExcErr) polled.qp->gave_up = true;
    const std::string measured = fmt::format("status is {}", wire::name_of(status));
    if (!send && polled.qp->srq) {
        // The receive in progress may fail; those in the queue belong to other QPs as well.
        if (failed > 1 && status != wire::WcStatus::Success) {
            tell("STA-07", polled, measured, "receives of an SRQ must stay in it");
        }
    } else if (before && status == wire::WcStatus::Success) {
        tell("STA-07", polled, measured, "after an error its queue must only flush");
    } else if (before && status != wire::WcStatus::WrFlushErr) {
        // Several requests may fail at once; what is posted later finds the queue in its error.
        const bool late = send && polled.send->in_error;
        tell("STA-07", polled, measured, "status must be WR_FLUSH_ERR after an error of its queue",
             late ? rules::Level::Must : rules::Level::Should);
    }
}

namespace {

// The status that a fatal NAK gives the request that it names.
std::optional<wire::WcStatus> status_of(wire::Syndrome syndrome) {
    switch (syndrome.nak_code().value_or(wire::NakCode::PsnSequence)) {
    case wire::NakCode::InvalidRequest: return wire::WcStatus::RemInvReqErr;
    case wire::NakCode::RemoteAccess: return wire::WcStatus::RemAccessErr;
    case wire::NakCode::RemoteOperational: return wire::WcStatus::RemOpErr;
    case wire::NakCode::PsnSequence:
    case wire::NakCode::InvalidRdRequest: return std::nullopt;
    }
    return std::nullopt;
}

bool names(const Evidence::Nak& nak, const SendWork& work) {
    return nak.psn >= work.first && nak.psn < work.first + work.packets;
}

// The first fatal NAK, if no other response can have ended the queue before.
const Evidence::Nak* first_fatal(const Evidence& evidence) {
    if (evidence.odd || evidence.uncertain) return nullptr;
    for (const Evidence::Nak& one : evidence.naks) {
        const bool last = one.number == evidence.responses;
        if (status_of(one.syndrome)) return one.clear && last ? &one : nullptr;
    }
    return nullptr;
}

// Whether the ACK timer may have expired after so long a silence.
bool timer_may_expire(const Setting& setting, const Qp& qp, wire::Duration quiet) {
    const auto timeout = setting.ack_timeout(qp.attributes.timeout);
    return !setting.timed() || (timeout && quiet >= *timeout);
}

} // namespace

void Completions::wrong_status(const Polled& polled, std::string rule, std::string allowed) {
    tell(std::move(rule), polled,
         fmt::format("status is {}", wire::name_of(polled.completion.status)), std::move(allowed));
}

void Completions::failed(const Polled& polled, const Evidence& evidence, bool sound_pieces) {
    using enum wire::WcStatus;
    if (polled.send == nullptr || polled.qp->lives > 1 || evidence.uncertain) return;
    const SendWork& work = *polled.send;
    const wire::WcStatus status = polled.completion.status;
    const bool of_peer = status == RemInvReqErr || status == RemAccessErr || status == RemOpErr;
    const auto explains = [&](const Evidence::Nak& one) {
        return status_of(one.syndrome) == status;
    };
    if (of_peer && !evidence.odd && std::ranges::none_of(evidence.naks, explains)) {
        return wrong_status(polled, "REQ-16", "the peer sent no NAK with this code");
    }
    const Evidence::Nak* fatal = first_fatal(evidence);
    // The NAK was lost on its way, or the timer expired before it came, perhaps with an earlier
    // request.
    const bool flushed = status == WrFlushErr && polled.qp->gave_up;
    const bool timed_out =
        status == RetryExcErr && fatal != nullptr &&
        (!setting_.exact || timer_may_expire(setting_, *polled.qp, fatal->quiet));
    const bool gave_up = flushed || timed_out;
    if (fatal != nullptr && names(*fatal, work) && status != status_of(fatal->syndrome) &&
        !gave_up) {
        return refused(polled, *fatal);
    }
    if (status == RnrRetryExcErr && setting_.exact && !evidence.odd) {
        const auto refused = std::ranges::count_if(evidence.naks, [](const Evidence::Nak& one) {
            return one.syndrome.kind() == wire::AckKind::RnrNak;
        });
        const std::uint8_t retries = polled.qp->attributes.rnr_retry.value_or(0);
        if (retries >= 7) {
            return wrong_status(polled, "RNR-09", "with rnr_retry 7 it must retry without limit");
        }
        if (refused <= retries) {
            return wrong_status(
                polled, "RNR-09",
                fmt::format("it must retry {} times, {} RNR NAKs came", retries, refused));
        }
    }
    const bool tired = status == RetryExcErr || status == RnrRetryExcErr;
    if (tired && setting_.timed() && !evidence.odd && evidence.answered.holds(work)) {
        wrong_status(polled, work.asks_for_response() ? "REQ-34" : "REQ-03",
                     "it is answered, and must complete with success");
        found_.back().kind = rules::FindingClass::Absence;
        found_.back().level = level_of_answers();
        return;
    }
    given_up(polled, evidence);
    const bool local = status == LocLenErr || status == LocQpOpErr || status == LocProtErr ||
                       status == LocAccessErr || status == BadRespErr || status == MwBindErr;
    if (local && evidence.responses == 0 && sound_pieces && polled.qp->sends_failed == 1) {
        wrong_status(polled, "TMO-03", "status must be RETRY_EXC_ERR: no answer ever came");
    }
}

void Completions::given_up(const Polled& polled, const Evidence& evidence) {
    using enum wire::WcStatus;
    const wire::WcStatus status = polled.completion.status;
    if (evidence.odd) return;
    if (status == RetryExcErr && evidence.responses == 0 && polled.qp->attributes.timeout == 0) {
        wrong_status(polled, "TMO-02", "with ACK timeout 0 it must wait for ever");
    }
    const bool waited = std::ranges::any_of(evidence.naks, [](const Evidence::Nak& one) {
        return one.syndrome.kind() == wire::AckKind::RnrNak;
    });
    if (status == RnrRetryExcErr && !waited && !setting_.exact)
        wrong_status(polled, "RNR-09", "the peer sent no RNR NAK");
}

void Completions::refused(const Polled& polled, const Evidence::Nak& nak) {
    wrong_status(
        polled, "REQ-16",
        fmt::format("status must be {}, as the NAK says", wire::name_of(*status_of(nak.syndrome))));
    found_.back().packets.push_back(nak.packet);
}

// N-05: whether it takes frames with a tag is a SHOULD.
rules::Level Completions::level_of_answers() const {
    return setting_.vlan ? rules::Level::Should : rules::Level::Must;
}

// N-20: what concerns no peer waits for nothing but the requests before it.
void Completions::missing_success(const Qp& qp, const Evidence& evidence) {
    const bool works = qp.state == wire::QpState::Rts && qp.sends_failed == 0 &&
                       qp.receives_failed == 0 &&
                       qp.reported.value_or(wire::QpState::Rts) == wire::QpState::Rts;
    if (qp.lives > 1 || !works || evidence.odd || evidence.uncertain || lossy(qp.send_cq)) return;
    const auto due = [&](const SendWork& one) {
        return one.packets == 0 || evidence.answered.holds(one);
    };
    const auto end = std::ranges::find_if_not(qp.sends, due);
    const auto open = std::find_if(qp.sends.begin(), end, [&](const SendWork& one) {
        const bool tells = one.signaled && !one.silence_open && !one.polled;
        return tells && emptied_after(qp.send_cq, std::max(one.posted, evidence.answered.at()));
    });
    if (open == end) return;
    const bool local = open->packets == 0;
    found_.push_back(
        {.rule = local                       ? "N-20"
                 : open->asks_for_response() ? "REQ-34"
                                             : "REQ-03",
         .level = local ? rules::Level::Must : level_of_answers(),
         .kind = rules::FindingClass::Absence,
         .field = "completion",
         .allowed = fmt::format("id={} must complete: {}", open->request.id,
                                local ? "nothing before it is open" : "it is answered"),
         .measured = "no completion of the request",
         .packets = {},
         .may_come = true});
}

void Completions::missing_failure(const Qp& qp, const Evidence& evidence) {
    const Evidence::Nak* fatal = first_fatal(evidence);
    if (fatal == nullptr || qp.lives > 1 || lossy(qp.send_cq)) return;
    if (!emptied_after(qp.send_cq, fatal->at)) return;
    const auto named = std::ranges::find_if(
        qp.sends, [&](const SendWork& one) { return names(*fatal, one) && !one.polled; });
    if (named == qp.sends.end()) return;
    found_.push_back({.rule = "REQ-16",
                      .level = rules::Level::Must,
                      .kind = rules::FindingClass::Absence,
                      .field = "completion",
                      .allowed = fmt::format("id={} must complete with {}", named->request.id,
                                             wire::name_of(*status_of(fatal->syndrome))),
                      .measured = "no completion of the request that the NAK refuses",
                      .packets = {fatal->packet},
                      .may_come = true});
}

void Completions::sent(const Polled& polled, const Evidence& evidence, bool response_arrived) {
    if (polled.send == nullptr || polled.qp->lives > 1) return;
    const Evidence::Nak* fatal = first_fatal(evidence);
    if (fatal != nullptr && names(*fatal, *polled.send)) refused(polled, *fatal);
    const SendWork& work = *polled.send;
    if (work.packets == 0) return;
    const std::int64_t last = work.last_psn();
    const auto messages = [&] {
        return std::ranges::count_if(polled.qp->sends, [&](const SendWork& one) {
            return one.packets > 0 && one.first <= work.first;
        });
    };
    // A requester may complete by MSN (REQ-05).
    const bool named = evidence.acknowledged >= last || evidence.msn >= messages();
    if (!named) {
        tell("REQ-03", polled, "it came before any answer", "the peer must have acknowledged it");
        if (!setting_.exact && evidence.answered_unseen >= last)
            found_.back().kind = rules::FindingClass::Absence;
    } else if (!response_arrived) {
        tell("REQ-20", polled, "it came before all of its response",
             "a READ, atomic, FLUSH or ATOMIC WRITE completes with its response");
    }
}

void Completions::missing_flush(const Qp& qp, wire::Instant ended) {
    if (qp.lives > 1) return; // completions of another life may have the same ids
    const auto tell_of = [&](wire::Queue queue, std::uint64_t id) {
        found_.push_back({.rule = "STA-07",
                          .level = rules::Level::Must,
                          .kind = rules::FindingClass::Absence,
                          .field = "completion",
                          .allowed = "a QP in ERR must flush all its work requests",
                          .measured = fmt::format("no completion of {} id={} of a QP that failed",
                                                  wire::name_of(queue), id),
                          .packets = {},
                          .may_come = true});
    };
    if (!lossy(qp.send_cq) && emptied_after(qp.send_cq, ended)) {
        const auto open = std::ranges::find_if(qp.sends, [](const SendWork& one) {
            return one.signaled && !one.silence_open && !one.polled;
        });
        if (open != qp.sends.end()) return tell_of(wire::Queue::Send, open->request.id);
    }
    if (qp.srq || lossy(qp.recv_cq) || !emptied_after(qp.recv_cq, ended)) return;
    const auto open = std::ranges::find(qp.receives, false, &ReceiveWork::polled);
    if (open != qp.receives.end()) tell_of(wire::Queue::Receive, open->request.id);
}

void Completions::missing_receive(const Qp& qp, const Message& message,
                                  wire::Instant acknowledged) {
    if (lossy(qp.recv_cq) || !emptied_after(qp.recv_cq, acknowledged)) return;
    found_.push_back({.rule = "N-21",
                      .level = rules::Level::Must,
                      .kind = rules::FindingClass::Absence,
                      .field = "completion",
                      .allowed = "its receive must complete",
                      .measured = "the device has taken a message that no completion tells of",
                      .packets = {message.packet},
                      .may_come = true});
}

} // namespace veriroce::model
