#include "conformance/plan/play.hpp"

#include <cassert>
#include <string_view>
#include <utility>

namespace veriroce::plan {
namespace {

constexpr std::string_view kSanityScript = R"(rule   RSP-01
title  "The device still answers on a fresh QP"
role   responder

dut    recv id=1

> SEND_ONLY  psn=0 ackreq
< ACK        psn=0 msn=1

dut    done recv id=1
)";

constexpr std::uint32_t kLastQpn = 0xFFFF00;

wire::Duration scaled(wire::Duration time, double scale) {
    return wire::Duration(
        static_cast<wire::Duration::rep>(static_cast<double>(time.count()) * scale));
}

} // namespace

wire::Qpn TesterQpns::next() {
    if (next_ + kPerPlay > kLastQpn) next_ = kFirst;
    return {std::exchange(next_, next_ + kPerPlay)};
}

TesterQpns TesterQpns::after(std::uint32_t first, std::size_t plays) {
    const std::size_t until_last = (kLastQpn - first) / kPerPlay;
    if (plays < until_last) return TesterQpns(first + static_cast<std::uint32_t>(plays) * kPerPlay);
    const std::size_t again = (plays - until_last) % ((kLastQpn - kFirst) / kPerPlay);
    return TesterQpns(kFirst + static_cast<std::uint32_t>(again) * kPerPlay);
}

void scale_times(interpreter::Environment& environment, double scale) {
    environment.patience = scaled(environment.patience, scale);
    environment.settle = scaled(environment.settle, scale);
}

script::Script sanity_script() {
    auto script = script::compile("sanity.roce", kSanityScript);
    assert(script.has_value());
    return std::move(*script);
}

} // namespace veriroce::plan
