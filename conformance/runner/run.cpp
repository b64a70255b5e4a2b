#include "conformance/runner/run.hpp"

#include <cassert>

#include <fmt/format.h>

namespace veriroce::runner {
namespace {

constexpr std::string_view sanity_script = R"(rule   RSP-01
title  "The device still answers on a fresh QP"
role   responder

dut    recv id=1

> SEND_ONLY  psn=0 ackreq
< ACK        psn=0 msn=1

dut    done recv id=1
)";

// QPNs that a case may take; the next case begins behind them.
constexpr std::uint32_t qpns_per_case = 128;
constexpr std::uint32_t first_qpn = lowest_tester_qpn.value + qpns_per_case; // behind calibration's
constexpr std::uint32_t last_qpn = 0xFFFF00;

wire::Duration scaled(wire::Duration time, double scale) {
    return wire::Duration(
        static_cast<wire::Duration::rep>(static_cast<double>(time.count()) * scale));
}

} // namespace

SuiteRun::SuiteRun(Bench& bench, const Plan& plan, const Selection& selection, RunOptions options)
    : bench_(bench), plan_(plan), selection_(selection), options_(std::move(options)) {
    auto loaded = script::load("sanity.roce", sanity_script);
    assert(loaded.has_value());
    sanity_case_ = std::move(*loaded);
    auto runs = script::expand(sanity_case_);
    assert(runs.has_value());
    sanity_runs_ = std::move(*runs);
    // Apart for different seeds, so that a device's memory of an earlier run does not matter.
    tester_qpn_ = first_qpn + static_cast<std::uint32_t>(options_.seed % 0x7FFF) * 0x100;
}

Setting SuiteRun::setting_for(const PlannedRun& planned) {
    Setting setting = bench_.setting(planned.ip_version);
    setting.seed = options_.seed;
    setting.patience = scaled(setting.patience, options_.timeout_scale);
    setting.settle = scaled(setting.settle, options_.timeout_scale);
    if (tester_qpn_ + qpns_per_case > last_qpn) tester_qpn_ = first_qpn;
    setting.first_tester_qpn = {tester_qpn_};
    tester_qpn_ += qpns_per_case;
    return setting;
}

std::optional<CaseResult> SuiteRun::next() {
    if (over_ || next_ >= plan_.runs.size()) return std::nullopt;
    const PlannedRun& planned = plan_.runs[next_++];
    CaseResult result = play(planned);
    if (options_.fail_fast && result.verdict == Verdict::Fail) over_ = true;
    if (bench_.broken()) over_ = true;
    return result;
}

CaseResult SuiteRun::play(const PlannedRun& planned) {
    const script::Case& script = plan_.cases[planned.case_index];
    Setting setting = setting_for(planned);
    CaseResult result;
    std::optional<std::string> skip = bench_.lacks(planned.ip_version);
    if (!skip) skip = reason_to_skip(script, bench_, setting, selection_);
    if (skip) {
        for (const script::Word& rule : script.rules)
            result.rules.push_back(rule.text);
        result.verdict = Verdict::Skip;
        result.reason = *skip;
        result.level = script.level;
        result.title = planned.run.title;
    } else {
        result = bench_.play(script, planned.run, setting);
        if (bench_.broken()) {
            result.verdict = Verdict::Error;
            result.reason = *bench_.broken();
        } else {
            judge_sanity(result, setting);
        }
    }
    result.id = planned.id(script);
    result.file = script.path;
    const bool own_file = !script.path.starts_with(script.id());
    result.command =
        fmt::format("veriroce test {}{} --seed {}", own_file ? script.path : script.id(),
                    options_.command, options_.seed);
    return result;
}

// Whatever the case found, a device that no longer answers is the graver finding. A sanity exchange
// that could not be held (the agent is gone) says nothing about the device.
void SuiteRun::judge_sanity(CaseResult& result, const Setting& setting) {
    Setting fresh = setting;
    fresh.first_tester_qpn = {setting.first_tester_qpn.value + qpns_per_case / 2};
    const CaseResult sanity = bench_.play(sanity_case_, sanity_runs_.front(), fresh);
    if (sanity.verdict == Verdict::Pass) return;
    if (sanity.verdict == Verdict::Error) {
        result.verdict = Verdict::Error;
        result.reason = fmt::format("no sanity exchange after it: {}", sanity.reason);
        return;
    }
    result.verdict = Verdict::Fail;
    result.reason = fmt::format("after this case the DUT does not answer a SEND on a fresh QP: {}",
                                sanity.reason);
}

} // namespace veriroce::runner
