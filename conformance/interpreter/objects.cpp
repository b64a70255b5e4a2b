#include "conformance/interpreter/objects.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/values.hpp"

namespace veriroce::interpreter {
namespace {

// `qps`: Objects::qps, constant or not.
template <typename Qps, typename Wanted>
auto* first_qp(Qps& qps, const Wanted& wanted) {
    const auto found =
        std::ranges::find_if(qps, [&](const auto& one) { return wanted(one.second); });
    return found == qps.end() ? nullptr : &found->second;
}

} // namespace

const CaseQp* Objects::qp_of_packet(Side from, wire::Qpn destination) const {
    for (const auto& [name, qp] : qps) {
        const QpIdentity& identity = qp.book.identity();
        if (destination == (from == Side::Dut ? identity.tester_qpn : identity.dut_qpn)) return &qp;
    }
    return nullptr;
}

CaseQp* Objects::qp_of_packet(Side from, wire::Qpn destination) {
    return const_cast<CaseQp*>(std::as_const(*this).qp_of_packet(from, destination));
}

CaseQp* Objects::qp_of_dut(dut::QpHandle handle) {
    return first_qp(qps, [&](const CaseQp& one) { return one.dut_qp == handle; });
}

const CaseQp* Objects::qp_of_dut(dut::QpHandle handle) const {
    return first_qp(qps, [&](const CaseQp& one) { return one.dut_qp == handle; });
}

CaseQp* Objects::qp_of_engine(engine::QpId id) {
    return first_qp(qps, [&](const CaseQp& one) { return one.engine_qp == id; });
}

Memory* Objects::region(std::string_view name) {
    const auto found = std::ranges::find(regions, name, &Memory::name);
    return found == regions.end() ? nullptr : &*found;
}

Window* Objects::window(std::string_view name) {
    const auto found = std::ranges::find(windows, name, &Window::name);
    return found == windows.end() ? nullptr : &*found;
}

std::deque<std::uint64_t>& Objects::receives_of(CaseQp& qp) {
    return qp.srq.empty() ? qp.receives : srq_receives[qp.srq];
}

Met<CaseQp*> qp_of(Objects& objects, const script::QpRef& ref) {
    std::string name = ref.name;
    if (ref.index) {
        const auto index = number(objects, *ref.index, objects.own_qp());
        if (!index) return std::unexpected(index.error());
        name += fmt::format("[{}]", *index);
    }
    auto found = objects.qps.find(name);
    if (found == objects.qps.end() && ref.index) found = objects.qps.find(ref.name); // of `qp q[1]`
    if (found == objects.qps.end()) {
        return unplayable(ref.span, fmt::format("no QP is called '{}'", name));
    }
    return &found->second;
}

} // namespace veriroce::interpreter
