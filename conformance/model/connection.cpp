#include "conformance/model/connection.hpp"

#include <algorithm>

namespace veriroce::model {
namespace {

// Takes over each attribute that the change sets.
void merge(const dut::QpAttributes& change, dut::QpAttributes& into) {
    const auto take = [](const auto& from, auto& to) {
        if (from) to = from;
    };
    take(change.state, into.state);
    take(change.access, into.access);
    take(change.pkey_index, into.pkey_index);
    take(change.qkey, into.qkey);
    take(change.address_vector, into.address_vector);
    take(change.path_mtu, into.path_mtu);
    take(change.timeout, into.timeout);
    take(change.retry_cnt, into.retry_cnt);
    take(change.rnr_retry, into.rnr_retry);
    take(change.rq_psn, into.rq_psn);
    take(change.max_rd_atomic, into.max_rd_atomic);
    take(change.min_rnr_timer, into.min_rnr_timer);
    take(change.sq_psn, into.sq_psn);
    take(change.max_dest_rd_atomic, into.max_dest_rd_atomic);
    take(change.path_mig_state, into.path_mig_state);
    take(change.dest_qp_num, into.dest_qp_num);
    take(change.flow_control, into.flow_control);
}

void change(Connection& connection, const dut::QpAttributes& by, bool exact) {
    merge(by, connection.attributes);
    if (by.path_mig_state || by.alt_address_vector) connection.migrates = true;
    if (!by.address_vector) return;
    // On a real link a packet that comes later may have left before.
    if (exact) connection.vectors.clear();
    connection.vectors.push_back(*by.address_vector);
}

template <typename Result>
const Result* result_of(const Call& call) {
    if (!call.answer || !*call.answer) return nullptr;
    return std::get_if<Result>(&**call.answer);
}

} // namespace

void Connections::take(const Call& call) {
    const bool refused = call.answer && !*call.answer;
    if (refused) return;
    if (const auto* create = std::get_if<dut::QpCreate>(&call.request)) {
        const auto* made = result_of<dut::QpCreated>(call);
        if (made == nullptr) return;
        preparing_[made->qp] = {.handle = made->qp,
                                .qpn = made->qpn,
                                .type = create->type,
                                .shared_receives = create->srq.has_value(),
                                .inline_bytes = create->max_inline};
    } else if (const auto* modify_call = std::get_if<dut::QpModify>(&call.request)) {
        modify(*modify_call, call.asked);
    }
}

void Connections::modify(const dut::QpModify& modify, wire::Instant asked) {
    using enum wire::QpState;
    const auto state = modify.attributes.state;
    const auto prepared = preparing_.find(modify.qp);
    if (prepared == preparing_.end()) return;
    if (state == Reset) {
        Connection& fresh = prepared->second;
        fresh.attributes = {};
        fresh.vectors.clear();
        fresh.migrates = false;
        return;
    }
    if (state == Init || state == Rtr) {
        change(prepared->second, modify.attributes, setting_.exact);
        if (state == Rtr) {
            all_.push_back(prepared->second);
            all_.back().began = asked;
        }
        return;
    }
    if (Connection* connection = of_handle(modify.qp)) {
        change(*connection, modify.attributes, setting_.exact);
        if (modify.attributes.address_vector) connection->readdressed = asked;
    }
}

Connection* Connections::of_handle(dut::QpHandle handle) {
    const auto found = std::ranges::find(all_.rbegin(), all_.rend(), handle, &Connection::handle);
    return found == all_.rend() ? nullptr : &*found;
}

Connection* Connections::of_dut(wire::Qpn qpn) {
    const auto found = std::ranges::find(all_.rbegin(), all_.rend(), qpn, &Connection::qpn);
    return found == all_.rend() ? nullptr : &*found;
}

Connection* Connections::of_peer(wire::Qpn qpn) {
    const auto found = std::ranges::find_if(all_.rbegin(), all_.rend(), [&](const Connection& one) {
        return one.type != wire::QpType::Ud && one.peer() == qpn;
    });
    return found == all_.rend() ? nullptr : &*found;
}

const Connection* Connections::former(const Connection& connection) const {
    const Connection* before = nullptr;
    for (const Connection& one : all_) {
        if (&one == &connection) return before;
        if (one.handle == connection.handle) before = &one;
    }
    return nullptr;
}

bool Connections::prepares(wire::Qpn qpn) const {
    return std::ranges::any_of(preparing_, [&](const auto& one) {
        const auto& [handle, connection] = one;
        return connection.qpn == qpn && connection.attributes.state != wire::QpState::Rtr;
    });
}

} // namespace veriroce::model
