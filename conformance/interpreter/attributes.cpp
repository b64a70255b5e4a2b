// Attributes of a QP, as its `qp` line and `dut modify` write them, in the terms of the contract.
#include <algorithm>

#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {
namespace {

// What a QP of the DUT has unless the case says otherwise.
constexpr std::int64_t default_rnr_timer = 12; // 0.64 ms
constexpr std::int64_t default_rd_atomic = 4;
constexpr std::int64_t default_ttl = 64;
constexpr std::int64_t default_qkey = 0x11111111; // its high bit is not set: it may be sent

dut::MigState migration_of(const std::string& word) {
    if (word == "REARM") return dut::MigState::Rearm;
    return word == "ARMED" ? dut::MigState::Armed : dut::MigState::Migrated;
}

constexpr std::string_view of_vector[] = {"dscp", "ecn", "ttl", "flow", "sport", "to"};

} // namespace

std::int64_t Interpreter::attribute(const script::QpSetup* setup, std::string_view name,
                                    std::int64_t otherwise) {
    const script::Attribute* found = setup == nullptr ? nullptr : setup->attribute(name);
    if (found == nullptr) return otherwise;
    const auto* expr = std::get_if<script::Expr>(&found->value);
    if (expr == nullptr) return otherwise;
    // Header expressions have no run-time names; the checker has seen to that.
    const auto value =
        script::evaluate(*expr, {[](std::string_view) { return std::nullopt; },
                                 [](const script::FieldName&) { return std::nullopt; }});
    return value.value_or(otherwise);
}

std::string Interpreter::word_of(const script::QpSetup& setup, std::string_view name,
                                 std::string_view otherwise) {
    const script::Attribute* found = setup.attribute(name);
    const auto* words =
        found == nullptr ? nullptr : std::get_if<std::vector<script::Word>>(&found->value);
    if (words == nullptr || words->empty()) return std::string(otherwise);
    return words->front().text;
}

engine::QpType Interpreter::type_of(const script::QpSetup& setup) {
    return engine::enum_by_name<engine::QpType>(word_of(setup, "type", "RC"))
        .value_or(engine::QpType::Rc);
}

wire::Qkey Interpreter::qkey_of(const script::QpSetup& setup) {
    return {static_cast<std::uint32_t>(attribute(&setup, "qkey", default_qkey))};
}

engine::Access Interpreter::rights_of(const std::vector<script::Word>& words,
                                      engine::Access access) {
    for (const script::Word& word : words) {
        access.remote_write = access.remote_write || word.text == "remote_write";
        access.remote_read = access.remote_read || word.text == "remote_read";
        access.remote_atomic = access.remote_atomic || word.text == "remote_atomic";
        access.mw_bind = access.mw_bind || word.text == "mw_bind";
        access.zero_based = access.zero_based || word.text == "zero_based";
        access.flush_global = access.flush_global || word.text == "flush_global";
        access.flush_persistent = access.flush_persistent || word.text == "flush_persistent";
    }
    return access;
}

engine::Access Interpreter::qp_access(const Peer& peer) const {
    const script::Attribute* rights = peer.setup.attribute("access");
    const auto* words =
        rights == nullptr ? nullptr : std::get_if<std::vector<script::Word>>(&rights->value);
    if (words != nullptr) return rights_of(*words, own_rights);
    const bool reliable = peer.type == engine::QpType::Rc;
    return {.local_write = true,
            .remote_write = true,
            .remote_read = reliable,
            .remote_atomic = reliable && environment_.capable("atomics"),
            .flush_global = reliable && environment_.capable("flush")};
}

dut::AddressVector Interpreter::vector_of(const Peer& peer) const {
    const script::QpSetup& setup = peer.setup;
    dut::AddressVector vector{.gid_index = environment_.gid_index,
                              .address = peer.tester_address,
                              .hop_limit =
                                  static_cast<std::uint8_t>(attribute(&setup, "ttl", default_ttl))};
    if (setup.attribute("dscp") != nullptr || setup.attribute("ecn") != nullptr) {
        vector.traffic_class = static_cast<std::uint8_t>(attribute(&setup, "dscp", 0) << 2 |
                                                         attribute(&setup, "ecn", 0));
    }
    if (setup.attribute("flow") != nullptr) {
        vector.flow_label = static_cast<std::uint32_t>(attribute(&setup, "flow", 0));
    }
    if (setup.attribute("sport") != nullptr) {
        vector.udp_sport = static_cast<std::uint16_t>(attribute(&setup, "sport", 0));
    }
    return vector;
}

// One attribute by its name in the script; nothing for those that only QP creation knows.
void Interpreter::put(std::string_view name, const Peer& peer, dut::QpAttributes& into) const {
    const script::QpSetup& setup = peer.setup;
    const auto small = [&](std::string_view wanted) {
        return static_cast<std::uint8_t>(attribute(&setup, wanted, 0));
    };
    if (name == "timeout") into.timeout = small(name);
    if (name == "retry_cnt") into.retry_cnt = small(name);
    if (name == "rnr_retry") into.rnr_retry = small(name);
    if (name == "min_rnr_timer") into.min_rnr_timer = small(name);
    if (name == "max_rd_atomic") into.max_rd_atomic = small(name);
    if (name == "max_dest_rd_atomic") into.max_dest_rd_atomic = small(name);
    if (name == "en_sqd_async_notify") into.en_sqd_async_notify = small(name) != 0;
    if (name == "access") into.access = qp_access(peer);
    if (name == "qkey") into.qkey = qkey_of(setup);
    if (name == "mtu") into.path_mtu = static_cast<wire::Mtu>(attribute(&setup, name, 1024));
    if (name == "psn") into.sq_psn = peer.book.identity().dut_start;
    if (name == "pkey_index") {
        into.pkey_index = static_cast<std::uint16_t>(attribute(&setup, name, 0));
    }
    if (name == "path_mig_state") {
        into.path_mig_state = migration_of(word_of(setup, name, "MIGRATED"));
    }
    if (std::ranges::find(of_vector, name) != std::end(of_vector)) {
        into.address_vector = vector_of(peer);
    }
}

dut::QpAttributes Interpreter::step_to(engine::QpState state, const Peer& peer) const {
    const QpIdentity& identity = peer.book.identity();
    const script::QpSetup& setup = peer.setup;
    const bool reliable = peer.type == engine::QpType::Rc;
    const bool connected = peer.type != engine::QpType::Ud;
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(attribute(&setup, name, otherwise));
    };
    const auto depth = [&](std::int64_t most) { return std::min(default_rd_atomic, most); };
    dut::QpAttributes step{.state = state};
    if (state == engine::QpState::Init) {
        step.pkey_index = static_cast<std::uint16_t>(attribute(&setup, "pkey_index", 0));
        step.port_num = std::uint8_t{1};
        if (connected) step.access = qp_access(peer);
        if (!connected) step.qkey = qkey_of(setup);
    }
    if (state == engine::QpState::Rtr && connected) {
        step.address_vector = vector_of(peer);
        step.path_mtu = identity.mtu;
        step.rq_psn = identity.tester_start;
        step.dest_qp_num = identity.tester_qpn;
    }
    if (state == engine::QpState::Rtr && reliable) {
        step.min_rnr_timer = small("min_rnr_timer", default_rnr_timer);
        step.max_dest_rd_atomic =
            small("max_dest_rd_atomic", depth(environment_.dut.max.dest_rd_atomic));
    }
    if (state == engine::QpState::Sqd && setup.attribute("en_sqd_async_notify") != nullptr) {
        put("en_sqd_async_notify", peer, step);
    }
    if (state == engine::QpState::Rts) step.sq_psn = identity.dut_start;
    if (state == engine::QpState::Rts && reliable) {
        step.timeout = peer.timeout;
        step.retry_cnt = small("retry_cnt", default_retries);
        step.rnr_retry = small("rnr_retry", default_retries);
        step.max_rd_atomic = small("max_rd_atomic", depth(environment_.dut.max.rd_atomic));
        if (setup.attribute("path_mig_state") != nullptr) put("path_mig_state", peer, step);
    }
    return step;
}

bool Interpreter::take_address(Peer& peer) const {
    const std::string name = word_of(peer.setup, "to", "tester");
    const auto address = address_of({.name = name});
    if (!address) return false;
    peer.tester_address = *address;
    return true;
}

// `dut modify state=…` brings along what the verbs demand for that step, from the `qp` line; from
// SQD back to RTS they demand nothing. All else is exactly what the line names.
Task<Met<>> Interpreter::modify(Peer& peer, const script::Modify& line, script::SourceSpan span) {
    for (const script::Attribute& attribute : line.attributes) {
        script::Attribute known = attribute;
        if (const auto* expr = std::get_if<script::Expr>(&attribute.value)) {
            const auto value = number(*expr, peer);
            if (!value) co_return std::unexpected(value.error());
            known.value = script::Expr{.number = *value, .span = expr->span};
        }
        peer.setup.attributes.push_back(std::move(known));
    }
    peer.timeout = static_cast<std::uint8_t>(attribute(&peer.setup, "timeout", peer.timeout));
    if (!take_address(peer)) co_return std::unexpected(error(span, "no such address"));
    dut::QpModify change{.qp = peer.dut_qp};
    const auto names_state = [](const script::Attribute& one) { return one.name == "state"; };
    if (std::ranges::any_of(line.attributes, names_state)) {
        const auto state =
            engine::enum_by_name<engine::QpState>(word_of(peer.setup, "state", "RTS"));
        const bool resumes = state == engine::QpState::Rts && (peer.state == engine::QpState::Sqd ||
                                                               peer.state == engine::QpState::Rts);
        change.attributes.state = state;
        if (!resumes) change.attributes = step_to(*state, peer);
    }
    for (const script::Attribute& attribute : line.attributes)
        put(attribute.name, peer, change.attributes);
    const auto state = change.attributes.state;
    dut::Request call = std::move(change);
    const auto done = co_await ask<dut::Done>(std::move(call), span);
    line_ended();
    if (!done) co_return std::unexpected(done.error());
    if (state) peer.state = *state;
    co_return Met<>{};
}

} // namespace veriroce::interpreter
