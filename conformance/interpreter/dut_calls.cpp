#include "conformance/interpreter/dut_calls.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace veriroce::interpreter {

std::unexpected<Unmet> refused(const dut::Failure& failure, Span span) {
    if (!failure.refused()) return unplayable(span, failure.message);
    return std::unexpected(
        Unmet{Verdict::Error,
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
