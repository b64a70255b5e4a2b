#include "conformance/interpreter/attributes.hpp"

#include <algorithm>
#include <iterator>

#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/script/evaluate.hpp"

namespace veriroce::interpreter {
namespace {

// The attributes of a QP that the case does not set.
constexpr std::int64_t kDefaultTimeout = 18;
constexpr std::int64_t kDefaultRetries = 7;
constexpr std::int64_t kDefaultRnrTimer = 12; // 0.64 ms
constexpr std::int64_t kDefaultRdAtomic = 4;
constexpr std::int64_t kDefaultTtl = 64;
constexpr std::int64_t kDefaultQkey = 0x11111111; // its high bit is not set: it may be sent

constexpr std::string_view kOfVector[] = {"dscp", "ecn", "ttl", "flow", "sport", "to"};

} // namespace

std::int64_t number_attribute(const script::QpSetup* setup, std::string_view name,
                              std::int64_t otherwise) {
    const auto* expr = attribute_value<script::Expr>(setup, name);
    if (expr == nullptr) return otherwise;
    // The compiler has checked that header expressions use no names of the run.
    const auto value =
        script::evaluate(*expr, {[](std::string_view) { return std::nullopt; },
                                 [](const script::FieldName&) { return std::nullopt; }});
    return value.value_or(otherwise);
}

std::string name_attribute(const script::QpSetup& setup, std::string_view name,
                           std::string_view otherwise) {
    const auto* word = attribute_value<script::Word>(&setup, name);
    return word == nullptr ? std::string(otherwise) : word->text;
}

std::int64_t usual_rd_atomic(std::uint32_t most) {
    return std::min<std::int64_t>(kDefaultRdAtomic, most);
}

engine::QpType type_of(const script::QpSetup& setup) {
    const auto* type = attribute_value<engine::QpType>(&setup, "type");
    return type == nullptr ? engine::QpType::Rc : *type;
}

wire::Qkey qkey_of(const script::QpSetup& setup) {
    return {static_cast<std::uint32_t>(number_attribute(&setup, "qkey", kDefaultQkey))};
}

std::int64_t retries_of(const script::QpSetup& setup) {
    return number_attribute(&setup, "retry_cnt", kDefaultRetries);
}

std::uint8_t timeout_of(const script::QpSetup& setup) {
    return static_cast<std::uint8_t>(number_attribute(&setup, "timeout", kDefaultTimeout));
}

namespace {

engine::Access qp_access(const CaseQp& qp, const Environment& environment) {
    const auto* written = attribute_value<engine::Access>(&qp.setup, "access");
    if (written != nullptr) return *written | kOwnRights;
    const bool reliable = qp.type == engine::QpType::Rc;
    return {.local_write = true,
            .remote_write = true,
            .remote_read = reliable,
            .remote_atomic = reliable && environment.capable("atomics"),
            .flush_global = reliable && environment.capable("flush")};
}

dut::AddressVector vector_to(const wire::IpAddress& address, const CaseQp& qp,
                             const Environment& environment) {
    const script::QpSetup& setup = qp.setup;
    dut::AddressVector vector{
        .gid_index = environment.gid_index,
        .address = address,
        .hop_limit = static_cast<std::uint8_t>(number_attribute(&setup, "ttl", kDefaultTtl))};
    const auto traffic_class =
        static_cast<std::uint8_t>(number_attribute(&setup, "dscp", environment.usual_dscp) << 2 |
                                  number_attribute(&setup, "ecn", 0));
    if (traffic_class != 0 || setup.attribute("dscp") != nullptr) {
        vector.traffic_class = traffic_class;
    }
    const auto flow = number_attribute(&setup, "flow", environment.usual_flow);
    if (flow != 0 || setup.attribute("flow") != nullptr)
        vector.flow_label = static_cast<std::uint32_t>(flow);
    if (setup.attribute("sport") != nullptr) {
        vector.udp_sport = static_cast<std::uint16_t>(number_attribute(&setup, "sport", 0));
    }
    return vector;
}

// N-24: the same as the first path but for the address.
void put_alternate_path(const CaseQp& qp, const Environment& environment, dut::QpAttributes& into) {
    into.alt_address_vector = vector_to(qp.alternate_address.value(), qp, environment);
    into.alt_pkey_index = static_cast<std::uint16_t>(number_attribute(&qp.setup, "pkey_index", 0));
    into.alt_port_num = environment.dut_port;
    into.alt_timeout = qp.timeout;
}

} // namespace

dut::AddressVector vector_of(const CaseQp& qp, const Environment& environment) {
    return vector_to(qp.tester_address, qp, environment);
}

void put_attribute(std::string_view name, const CaseQp& qp, const Environment& environment,
                   dut::QpAttributes& into) {
    const script::QpSetup& setup = qp.setup;
    const auto small = [&](std::string_view wanted) {
        return static_cast<std::uint8_t>(number_attribute(&setup, wanted, 0));
    };
    if (name == "timeout") into.timeout = small(name);
    if (name == "retry_cnt") into.retry_cnt = small(name);
    if (name == "rnr_retry") into.rnr_retry = small(name);
    if (name == "min_rnr_timer") into.min_rnr_timer = small(name);
    if (name == "max_rd_atomic") into.max_rd_atomic = small(name);
    if (name == "max_dest_rd_atomic") into.max_dest_rd_atomic = small(name);
    if (name == "en_sqd_async_notify") into.en_sqd_async_notify = small(name) != 0;
    if (name == "flow_control") into.flow_control = small(name) != 0;
    if (name == "access") into.access = qp_access(qp, environment);
    if (name == "qkey") into.qkey = qkey_of(setup);
    if (name == "mtu") into.path_mtu = static_cast<wire::Mtu>(number_attribute(&setup, name, 1024));
    if (name == "psn") into.sq_psn = qp.book.identity().dut_start;
    if (name == "pkey_index") {
        into.pkey_index = static_cast<std::uint16_t>(number_attribute(&setup, name, 0));
    }
    if (name == "path_mig_state") {
        const auto* state = attribute_value<engine::MigState>(&setup, name);
        into.path_mig_state = state == nullptr ? engine::MigState::Migrated : *state;
    }
    if (name == "alt") put_alternate_path(qp, environment, into);
    if (std::ranges::find(kOfVector, name) != std::end(kOfVector)) {
        into.address_vector = vector_of(qp, environment);
    }
}

std::int64_t dut_resources(const CaseQp& qp, const Environment& environment) {
    return number_attribute(&qp.setup, "max_dest_rd_atomic",
                            usual_rd_atomic(environment.dut.max.dest_rd_atomic));
}

dut::QpAttributes step_to(engine::QpState state, const CaseQp& qp, const Environment& environment) {
    const QpIdentity& identity = qp.book.identity();
    const script::QpSetup& setup = qp.setup;
    const bool reliable = qp.type == engine::QpType::Rc;
    const bool connected = qp.type != engine::QpType::Ud;
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(number_attribute(&setup, name, otherwise));
    };
    dut::QpAttributes step{.state = state};
    if (state == engine::QpState::Init) {
        step.pkey_index = static_cast<std::uint16_t>(number_attribute(&setup, "pkey_index", 0));
        step.port_num = environment.dut_port;
        if (connected) step.access = qp_access(qp, environment);
        if (!connected) step.qkey = qkey_of(setup);
    }
    if (state == engine::QpState::Rtr && connected) {
        step.address_vector = vector_of(qp, environment);
        step.path_mtu = identity.mtu;
        step.rq_psn = identity.tester_start;
        step.dest_qp_num = identity.tester_qpn;
    }
    if (state == engine::QpState::Rtr && reliable) {
        step.min_rnr_timer = small("min_rnr_timer", kDefaultRnrTimer);
        step.max_dest_rd_atomic = static_cast<std::uint8_t>(dut_resources(qp, environment));
        if (setup.attribute("flow_control") != nullptr)
            put_attribute("flow_control", qp, environment, step);
    }
    if (state == engine::QpState::Sqd && setup.attribute("en_sqd_async_notify") != nullptr) {
        put_attribute("en_sqd_async_notify", qp, environment, step);
    }
    if (state == engine::QpState::Rts) step.sq_psn = identity.dut_start;
    if (state == engine::QpState::Rts && reliable) {
        step.timeout = qp.timeout;
        step.retry_cnt = small("retry_cnt", kDefaultRetries);
        step.rnr_retry = small("rnr_retry", kDefaultRetries);
        step.max_rd_atomic = small("max_rd_atomic", usual_rd_atomic(environment.dut.max.rd_atomic));
    }
    if (state == engine::QpState::Rts && connected) {
        for (const std::string_view name : {"alt", "path_mig_state"})
            if (setup.attribute(name) != nullptr) put_attribute(name, qp, environment, step);
    }
    return step;
}

std::array<engine::QpAttributes, 3> tester_steps(const CaseQp& qp, const Environment& environment) {
    const QpIdentity& identity = qp.book.identity();
    const auto small = [&](std::string_view name, std::int64_t otherwise) {
        return static_cast<std::uint8_t>(number_attribute(qp.tester_setup, name, otherwise));
    };
    const bool reliable = qp.type == engine::QpType::Rc;
    const bool connected = qp.type != engine::QpType::Ud;
    engine::QpAttributes init{.state = engine::QpState::Init};
    engine::QpAttributes rtr{.state = engine::QpState::Rtr};
    engine::QpAttributes rts{.state = engine::QpState::Rts, .sq_psn = identity.tester_start};
    if (!connected) init.qkey = qkey_of(qp.setup);
    if (connected) {
        init.access = engine::Access{.local_write = true,
                                     .remote_write = true,
                                     .remote_read = reliable,
                                     .remote_atomic = reliable,
                                     .flush_global = reliable};
        const auto* written = attribute_value<engine::Access>(qp.tester_setup, "access");
        if (written != nullptr) init.access = *written | kOwnRights;
        rtr.path_mtu = identity.mtu;
        rtr.dest_qp = identity.dut_qpn;
        rtr.rq_psn = identity.dut_start;
        rtr.address = engine::AddressVector{
            .source = qp.tester_address,
            .destination = environment.dut_address,
            .traffic_class = static_cast<std::uint8_t>(small("dscp", 0) << 2 | small("ecn", 0)),
            .hop_limit = small("ttl", 64),
            .vlan = environment.vlan};
        rtr.mig_req = environment.mig_req;
    }
    if (reliable) {
        rtr.min_rnr_timer = small("min_rnr_timer", 12);
        rtr.max_dest_rd_atomic = small("max_dest_rd_atomic", 16);
        rts.timeout = small("timeout", kDefaultTimeout);
        rts.retry_count = small("retry_cnt", kDefaultRetries);
        rts.rnr_retry = small("rnr_retry", kDefaultRetries);
        rts.max_rd_atomic = small("max_rd_atomic", dut_resources(qp, environment)); // REQ-27
    }
    return {init, rtr, rts};
}

} // namespace veriroce::interpreter
