#include "conformance/model/posted.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>

namespace veriroce::model {
namespace {

std::uint64_t bytes_of_pieces(const std::vector<dut::Sge>& pieces) {
    return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const dut::Sge& one) { return sum + one.length; });
}

// How many requests of a chain the device took.
std::size_t taken(const Call& call, std::size_t asked) {
    if (!call.answer || call.answer->has_value()) return asked;
    return std::min<std::size_t>(call.answer->error().posted.value_or(0), asked);
}

template <typename Works>
void take_back(Works& works, std::size_t count) {
    works.erase(works.end() - static_cast<std::ptrdiff_t>(std::min(count, works.size())),
                works.end());
}

} // namespace

bool SendWork::asks_for_data() const {
    using enum wire::WrOpcode;
    return request.opcode == RdmaRead || request.opcode == AtomicCmpAndSwp ||
           request.opcode == AtomicFetchAndAdd;
}

bool SendWork::asks_for_response() const {
    using enum wire::WrOpcode;
    return asks_for_data() || request.opcode == Flush || request.opcode == AtomicWrite;
}

std::uint64_t ReceiveWork::bytes() const {
    return bytes_of_pieces(request.sge);
}

std::int64_t psns_of(const dut::SendRequest& request, std::uint64_t bytes, wire::Mtu mtu) {
    switch (request.opcode) {
    case wire::WrOpcode::Send:
    case wire::WrOpcode::SendWithImm:
    case wire::WrOpcode::SendWithInv:
    case wire::WrOpcode::RdmaWrite:
    case wire::WrOpcode::RdmaWriteWithImm:
    case wire::WrOpcode::RdmaRead: return wire::packets_of(bytes, mtu);
    case wire::WrOpcode::AtomicCmpAndSwp:
    case wire::WrOpcode::AtomicFetchAndAdd:
    case wire::WrOpcode::Flush:
    case wire::WrOpcode::AtomicWrite: return 1;
    case wire::WrOpcode::LocalInv:
    case wire::WrOpcode::BindMw: return 0;
    }
    return 0;
}

Qp* Posted::find(dut::QpHandle handle) {
    const auto found = std::ranges::find(qps_, handle, &Qp::handle);
    return found == qps_.end() ? nullptr : &*found;
}

Qp* Posted::of_qpn(wire::Qpn qpn) {
    const auto found =
        std::ranges::find_if(qps_, [&](const Qp& one) { return one.qpn == qpn && !one.gone; });
    return found == qps_.end() ? nullptr : &*found;
}

Qp* Posted::of_peer(wire::Qpn qpn) {
    const auto found = std::ranges::find_if(
        qps_, [&](const Qp& one) { return one.attributes.dest_qp_num == qpn && !one.gone; });
    return found == qps_.end() ? nullptr : &*found;
}

void Posted::post(Qp& qp, const dut::SendRequest& request, wire::Instant now, bool silence_open) {
    const std::int64_t first =
        qp.sends.empty() ? 0 : qp.sends.back().first + qp.sends.back().packets;
    const std::uint64_t bytes = bytes_of_pieces(request.sge);
    qp.sends.push_back({.request = request,
                        .posted = now,
                        .first = first,
                        .packets = qp.type == wire::QpType::Ud ? 1 // EXT-05
                                                               : psns_of(request, bytes, qp.mtu()),
                        .bytes = bytes,
                        .signaled = request.flags.signaled || qp.signal_all,
                        .silence_open = silence_open,
                        .in_error = qp.sends_failed > 0});
}

void Posted::asked(const Call& call) {
    if (const auto* post = std::get_if<dut::PostSend>(&call.request)) {
        Qp* qp = find(post->qp);
        if (qp == nullptr) return;
        for (const dut::SendRequest& one : post->requests)
            this->post(*qp, one, call.asked, false);
    } else if (const auto* receive = std::get_if<dut::PostRecv>(&call.request)) {
        Qp* qp = find(receive->qp);
        if (qp == nullptr) return;
        for (const dut::ReceiveRequest& one : receive->requests)
            qp->receives.push_back({.request = one});
    } else if (const auto* shared = std::get_if<dut::SrqPost>(&call.request)) {
        for (const dut::ReceiveRequest& one : shared->requests)
            shared_[shared->srq].push_back({.request = one});
    } else if (const auto* bind = std::get_if<dut::MwBind>(&call.request)) {
        Qp* qp = find(bind->qp);
        if (qp != nullptr) {
            this->post(*qp, {.id = bind->id, .opcode = wire::WrOpcode::BindMw}, call.asked, true);
        }
    }
}

void Posted::modified(Qp& qp, const dut::QpAttributes& change) {
    if (change.state == wire::QpState::Reset) {
        qp.attributes = {};
        qp.sends.clear();
        qp.receives.clear();
        qp.sends_done = 0;
        qp.receives_done = 0;
        qp.sends_failed = 0;
        qp.receives_failed = 0;
        qp.gave_up = false;
        qp.receives_taken = 0;
        qp.reported.reset();
        qp.life = ++lives_;
        ++qp.lives;
    }
    // From SQE an unreliable QP goes on.
    if (change.state == wire::QpState::Rts && qp.type != wire::QpType::Rc) qp.sends_failed = 0;
    const auto take = [](auto& into, const auto& from) {
        if (from) into = from;
    };
    dut::QpAttributes& known = qp.attributes;
    take(known.access, change.access);
    take(known.pkey_index, change.pkey_index);
    take(known.port_num, change.port_num);
    take(known.qkey, change.qkey);
    take(known.address_vector, change.address_vector);
    take(known.alt_address_vector, change.alt_address_vector);
    take(known.path_mtu, change.path_mtu);
    take(known.rq_psn, change.rq_psn);
    take(known.sq_psn, change.sq_psn);
    take(known.dest_qp_num, change.dest_qp_num);
    take(known.max_dest_rd_atomic, change.max_dest_rd_atomic);
    take(known.max_rd_atomic, change.max_rd_atomic);
    take(known.path_mig_state, change.path_mig_state);
    take(known.timeout, change.timeout);
    take(known.retry_cnt, change.retry_cnt);
    take(known.rnr_retry, change.rnr_retry);
    take(known.min_rnr_timer, change.min_rnr_timer);
    if (change.state) qp.state = *change.state;
}

void Posted::pass_done(Qp& qp) {
    const auto& receives = receives_of(qp);
    while (!qp.srq && qp.receives_done < receives.size() && receives[qp.receives_done].polled)
        ++qp.receives_done;
    while (qp.sends_done < qp.sends.size() && qp.sends[qp.sends_done].done)
        ++qp.sends_done;
}

Polled Posted::match(const dut::Completion& completion) {
    Polled polled{.completion = completion, .qp = find(completion.qp)};
    if (polled.qp == nullptr) return polled;
    Qp& qp = *polled.qp;
    if (completion.queue == wire::Queue::Receive) {
        auto& receives = receives_of(qp);
        const auto from = receives.begin() + static_cast<std::ptrdiff_t>(qp.receives_done);
        const auto found = std::find_if(from, receives.end(), [&](const ReceiveWork& one) {
            return !one.polled && one.request.id == completion.id;
        });
        if (found == receives.end()) return polled;
        found->polled = true;
        found->turn = ++turns_;
        found->status = completion.status;
        found->byte_len = completion.byte_len;
        polled.receive = &*found;
        return polled;
    }
    const auto from = qp.sends.begin() + static_cast<std::ptrdiff_t>(qp.sends_done);
    const auto found = std::find_if(from, qp.sends.end(), [&](const SendWork& one) {
        return !one.polled && !one.done && one.request.id == completion.id;
    });
    if (found == qp.sends.end()) return polled;
    found->polled = true;
    found->turn = ++turns_;
    found->done = true;
    found->status = completion.status;
    polled.send = &*found;
    return polled;
}

std::vector<Polled> Posted::answered(const Call& call) {
    const bool done = call.answer && call.answer->has_value();
    if (const auto* post = std::get_if<dut::PostSend>(&call.request)) {
        const std::size_t count = post->requests.size();
        if (Qp* qp = find(post->qp)) take_back(qp->sends, count - taken(call, count));
    } else if (const auto* receive = std::get_if<dut::PostRecv>(&call.request)) {
        const std::size_t count = receive->requests.size();
        if (Qp* qp = find(receive->qp)) {
            take_back(qp->receives, count - taken(call, count));
            qp->receives_taken = qp->receives.size();
        }
    } else if (const auto* shared = std::get_if<dut::SrqPost>(&call.request)) {
        const std::size_t count = shared->requests.size();
        take_back(shared_[shared->srq], count - taken(call, count));
        shared_taken_[shared->srq] = shared_[shared->srq].size();
    } else if (const auto* bind = std::get_if<dut::MwBind>(&call.request)) {
        if (Qp* qp = find(bind->qp); qp != nullptr && !done) take_back(qp->sends, 1);
    }
    if (!done) return {};
    if (const auto* create = std::get_if<dut::QpCreate>(&call.request)) {
        const auto* made = std::get_if<dut::QpCreated>(&**call.answer);
        if (made == nullptr) return {};
        qps_.push_back({.handle = made->qp,
                        .qpn = made->qpn,
                        .pd = create->pd,
                        .type = create->type,
                        .send_cq = create->send_cq,
                        .recv_cq = create->recv_cq,
                        .srq = create->srq,
                        .signal_all = create->signal_all.value_or(false),
                        .attributes = {},
                        .life = ++lives_,
                        .sends = {},
                        .receives = {}});
    } else if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        if (Qp* qp = find(modify->qp)) modified(*qp, modify->attributes);
    } else if (const auto* query = std::get_if<dut::QpQuery>(&call.request)) {
        const auto* told = std::get_if<dut::QpQueried>(&**call.answer);
        Qp* qp = find(query->qp);
        if (told != nullptr && qp != nullptr) qp->reported = told->attributes.state;
    } else if (const auto* destroy = std::get_if<dut::QpDestroy>(&call.request)) {
        if (Qp* qp = find(destroy->qp)) qp->gone = true;
    } else if (std::holds_alternative<dut::Poll>(call.request)) {
        const auto* list = std::get_if<dut::Polled>(&**call.answer);
        if (list == nullptr) return {};
        // Whoever reads one of these completions looks at all that are open before the first.
        for (const dut::Completion& one : list->completions) {
            if (Qp* qp = find(one.qp)) pass_done(*qp);
        }
        std::vector<Polled> all;
        for (const dut::Completion& one : list->completions)
            all.push_back(match(one));
        return all;
    }
    return {};
}

} // namespace veriroce::model
