#include "conformance/interpreter/completions.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/values.hpp"

namespace veriroce::interpreter {
namespace {

bool status_is(engine::WcStatus status, const script::StatusMatch& wanted) {
    const auto* one = std::get_if<engine::WcStatus>(&wanted);
    return one == nullptr ? status != engine::WcStatus::Success : status == *one;
}

std::string_view name_of(const script::StatusMatch& wanted) {
    const auto* one = std::get_if<engine::WcStatus>(&wanted);
    return one == nullptr ? "FAILED" : engine::name_of(*one);
}

} // namespace

Task<Met<>> collect_completions(Interpreter& interpreter, CaseQp& qp, wire::Duration wait,
                                Span span) {
    if (qp.gsi) co_return Met<>{};
    dut::Request poll = dut::Poll{.cq = qp.cq, .max = 64, .wait_ms = wait_ms_of(wait)};
    const dut::Polled polled = co_await ask<dut::Polled>(interpreter, std::move(poll), span);
    for (const dut::Completion& completion : polled.completions) {
        CaseQp* owner = interpreter.objects().qp_of_dut(completion.qp);
        (owner == nullptr ? qp : *owner).completions.push_back(completion);
    }
    co_return Met<>{};
}

Task<Met<>> collect_events(Interpreter& interpreter, wire::Duration wait, Span span) {
    if (!interpreter.environment().capable("events")) co_return Met<>{};
    dut::Request call = dut::Events{.wait_ms = wait_ms_of(wait)};
    const dut::EventList list = co_await ask<dut::EventList>(interpreter, std::move(call), span);
    auto& events = interpreter.objects().events;
    events.insert(events.end(), list.events.begin(), list.events.end());
    co_return Met<>{};
}

bool reports_state(const Interpreter& interpreter) {
    return interpreter.environment().capable("query_qp");
}

Task<Met<std::optional<engine::QpState>>> state_of_dut(Interpreter& interpreter, const CaseQp& qp,
                                                       Span span) {
    if (!reports_state(interpreter)) co_return std::nullopt;
    dut::Request query = dut::QpQuery{.qp = qp.dut_qp};
    const dut::QpQueried report = co_await ask<dut::QpQueried>(interpreter, std::move(query), span);
    co_return report.attributes.state;
}

std::string completion_name(const dut::Completion& completion) {
    return fmt::format("{} completion id={}", engine::name_of(completion.queue), completion.id);
}

std::string completion_text(const dut::Completion& completion) {
    std::string text = fmt::format("done {} id={} status={}", engine::name_of(completion.queue),
                                   completion.id, engine::name_of(completion.status));
    if (completion.status == engine::WcStatus::Success) {
        text += fmt::format(" len={} opcode={}", completion.byte_len,
                            engine::name_of(completion.opcode));
    }
    if (completion.imm) text += fmt::format(" imm=0x{:X}", *completion.imm);
    return text;
}

std::string state_text(std::optional<engine::QpState> state) {
    return state ? std::string(engine::name_of(*state)) : "unknown";
}

Met<std::vector<Difference>> differences(const Objects& objects, const CaseQp& qp,
                                         const script::Done& line, std::int64_t id,
                                         const dut::Completion& seen) {
    std::vector<Difference> found;
    if (seen.id != static_cast<std::uint64_t>(id)) {
        found.push_back({"id", fmt::format("{}", id), fmt::format("{}", seen.id)});
    }
    const auto is_status = [&](const auto& wanted) { return status_is(seen.status, wanted); };
    if (std::ranges::none_of(line.statuses, is_status)) {
        const auto names = line.statuses | std::views::transform(
                                               [](const auto& wanted) { return name_of(wanted); });
        found.push_back({"status", fmt::format("{}", fmt::join(names, " or ")),
                         std::string(engine::name_of(seen.status))});
    }
    if (line.length) {
        const auto length = number(objects, *line.length, qp);
        if (!length) return std::unexpected(length.error());
        if (seen.byte_len != *length) {
            found.push_back({"len", fmt::format("{}", *length), fmt::format("{}", seen.byte_len)});
        }
    }
    if (line.imm) {
        const auto wanted = number(objects, *line.imm, qp);
        if (!wanted) return std::unexpected(wanted.error());
        const auto imm = static_cast<std::uint32_t>(*wanted);
        if (seen.imm != imm) {
            found.push_back({"imm", fmt::format("0x{:X}", imm),
                             seen.imm ? fmt::format("0x{:X}", *seen.imm) : "absent"});
        }
    }
    if (line.opcode && seen.opcode != *line.opcode) {
        found.push_back({"opcode", std::string(engine::name_of(*line.opcode)),
                         std::string(engine::name_of(seen.opcode))});
    }
    return found;
}

} // namespace veriroce::interpreter
