#include "conformance/interpreter/dut_calls.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/expect.hpp"
#include "conformance/interpreter/one_of.hpp"

namespace veriroce::interpreter {

namespace {

// Every device can create an RC QP with one SGE, and post SENDs and WRITEs without immediate data
// on it. Whatever else a case asks for, some shipped device refuses.
struct DemandOf {
    const Environment& environment;

    bool operator()(const dut::QpCreate& r) const {
        return r.type != engine::QpType::Rc || r.srq || r.max_sge.value_or(1) > 1 ||
               r.max_inline.value_or(0) > 0 || r.signal_all.value_or(false);
    }
    bool operator()(const dut::QpModify& r) const {
        const dut::QpAttributes& to = r.attributes;
        const auto& max = environment.dut.max;
        const auto differs = [](const auto& value, std::int64_t usual) {
            return value && *value != usual;
        };
        // From SQD, or from SQE, to which not every device moves a QP of its own faults.
        const bool back = to.state == engine::QpState::Rts && !to.sq_psn;
        return back || to.state == engine::QpState::Sqd || to.path_mig_state ||
               to.alt_address_vector || to.en_sqd_async_notify || differs(to.pkey_index, 0) ||
               (to.path_mtu && *to.path_mtu != environment.path_mtu) ||
               differs(to.max_rd_atomic, usual_rd_atomic(max.rd_atomic)) ||
               differs(to.max_dest_rd_atomic, usual_rd_atomic(max.dest_rd_atomic)) ||
               (to.address_vector &&
                (to.address_vector->udp_sport ||
                 differs(to.address_vector->flow_label, environment.usual_flow) ||
                 differs(to.address_vector->traffic_class, environment.usual_dscp << 2)));
    }
    bool operator()(const dut::MrRegister& r) const {
        return r.iova || r.access.mw_bind || r.access.zero_based || r.access.flush_global ||
               r.access.flush_persistent || r.access.remote_atomic;
    }
    bool operator()(const dut::PostSend& r) const {
        return std::ranges::any_of(r.requests, [](const dut::SendRequest& one) {
            const bool usual =
                one.opcode == engine::WrOpcode::Send || one.opcode == engine::WrOpcode::RdmaWrite;
            return !usual || one.flags.inline_data || one.sge.size() > 1;
        });
    }
    template <OneOf<dut::QpQuery, dut::Events, dut::CqArm, dut::CqWait, dut::SrqCreate,
                    dut::SrqModify, dut::SrqPost, dut::MwAlloc, dut::MwBind, dut::CongestionGet,
                    dut::CongestionSet, dut::CmListen>
                  OfGroup>
    bool operator()(const OfGroup& /*request*/) const {
        return true;
    }
    template <OneOf<dut::Hello, dut::PdCreate, dut::PdDestroy, dut::CqCreate, dut::CqDestroy,
                    dut::MrRead, dut::MrWrite, dut::MrFill, dut::MrDigest, dut::MrDeregister,
                    dut::QpDestroy, dut::PostRecv, dut::Poll, dut::Counters, dut::Cancel,
                    dut::Reset, dut::Ping, dut::SrqDestroy, dut::MwDealloc, dut::CmEvents,
                    dut::CmQpAttributes, dut::CmAccept, dut::CmReject, dut::CmDisconnect>
                  Basic>
    bool operator()(const Basic& /*request*/) const {
        return false;
    }
};

bool says_unsupported(const dut::Failure& failure) {
    return failure.errno_name == "EOPNOTSUPP" || failure.errno_name == "ENOTSUP" ||
           failure.errno_name == "ENOSYS";
}

bool is_full_queue(const dut::Failure& failure) {
    constexpr std::array posts{dut::PostSend::method, dut::PostRecv::method, dut::SrqPost::method,
                               dut::MwBind::method};
    return failure.errno_name == "ENOMEM" && std::ranges::find(posts, failure.verb) != posts.end();
}

} // namespace

Demand demand_of(const dut::Request& request, const Environment& environment) {
    return std::visit(DemandOf{environment}, request) ? Demand::Optional : Demand::Basic;
}

std::unexpected<Unmet> refused(const Interpreter& interpreter, const dut::Failure& failure,
                               Demand demand, Span span) {
    if (failure.code == static_cast<std::int32_t>(dut::FailureCode::MethodNotFound)) {
        return unsupported(span, failure.message);
    }
    if (!failure.refused()) return unplayable(span, failure.message);
    if (is_unscripted(interpreter) && is_full_queue(failure))
        return unsupported(span,
                           fmt::format("the DUT refused {}: its queue is full", failure.verb));
    const bool lacks =
        says_unsupported(failure) || (demand == Demand::Optional && failure.errno_name == "EINVAL");
    return std::unexpected(
        Unmet{lacks ? Verdict::Skip : Verdict::Error,
              Finding{.kind = FindingKind::Refused,
                      .line = span.line,
                      .subject = failure.verb,
                      .detail = fmt::format("{} ({})", failure.errno_name, failure.message)}});
}

bool is_refusal(const Unmet& unmet) {
    return unmet.finding.kind == FindingKind::Refused;
}

std::uint32_t wait_ms_of(wire::Duration left) {
    constexpr std::int64_t most = 200;
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, most));
}

} // namespace veriroce::interpreter
