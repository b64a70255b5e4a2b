#include "reports/json_objects.hpp"

#include <span>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/safe_text.hpp"
#include "reports/case_rows.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;

using interpreter::CaseResult;

json::array strings(const std::vector<std::string>& values) {
    json::array array;
    for (const std::string& value : values)
        array.emplace_back(text(value));
    return array;
}

// The times of a case count from its first packet, or if it has none from the first step.
wire::Instant origin_of(const CaseResult& result) {
    if (!result.packets.empty()) return result.packets.front().at.earliest;
    return result.host.empty() ? wire::Instant{} : result.host.front().at;
}

json::object packet_object(const CaseResult& result, std::size_t place) {
    const interpreter::RecordedPacket& packet = result.packets[place];
    const wire::Instant origin = origin_of(result);
    return {
        {"from", packet.from == interpreter::Side::Tester ? "tester" : "dut"},
        {"text", text(packet.script)},
        {"remarks", strings(remarks_of(result, place))},
        {"line", packet.line == 0 ? json::value() : json::value(packet.line)},
        {"bytes", packet.frame.size()},
        {"on_wire", packet.on_wire},
        {"timing", json::object{{"earliest_ns", (packet.at.earliest - origin).count()},
                                {"latest_ns", (packet.at.latest - origin).count()}}},
    };
}

json::array packets_array(const CaseResult& result) {
    json::array array;
    for (std::size_t i = 0; i < result.packets.size(); ++i)
        array.emplace_back(packet_object(result, i));
    return array;
}

json::array qps_array(const CaseResult& result) {
    json::array array;
    for (const interpreter::RecordedQp& qp : result.qps) {
        array.emplace_back(json::object{{"name", text(qp.name)},
                                        {"tester_qpn", qp.tester.value},
                                        {"dut_qpn", qp.dut.value},
                                        {"tester_first_psn", qp.tester_psn.value()},
                                        {"dut_first_psn", qp.dut_psn.value()}});
    }
    return array;
}

json::array host_array(const CaseResult& result) {
    json::array array;
    const wire::Instant origin = origin_of(result);
    for (const interpreter::HostStep& step : result.host) {
        array.emplace_back(
            json::object{{"before", step.before},
                         {"text", text(step.text)},
                         {"timing", json::object{{"at_ns", (step.at - origin).count()}}}});
    }
    return array;
}

json::array differences_array(const interpreter::Finding& finding) {
    json::array array;
    for (const interpreter::Difference& one : finding.differences) {
        array.emplace_back(json::object{{"field", text(one.field)},
                                        {"expected", text(one.expected)},
                                        {"actual", text(one.actual)}});
    }
    return array;
}

json::object finding_object(const interpreter::Finding& finding) {
    json::object object{
        {"kind", name_of(finding.kind)},
        {"line", finding.line},
        {"differences", differences_array(finding)},
        {"packet", nullptr},
        {"rules", strings(finding.rules)},
        {"subject", text(finding.subject)},
        {"expected", text(finding.expected)},
        {"actual", text(finding.actual)},
        {"time_ns", nullptr},
        {"detail", text(finding.detail)},
        {"text", text(sentence(finding))},
    };
    if (finding.packet) object["packet"] = *finding.packet;
    if (finding.time) object["time_ns"] = finding.time->count();
    return object;
}

json::array findings_array(const CaseResult& result) {
    json::array array;
    for (const interpreter::Finding& finding : result.findings)
        array.emplace_back(finding_object(finding));
    return array;
}

// Packets by their place in `packets`, from 0.
json::array violations_array(const CaseResult& result) {
    json::array array;
    for (const interpreter::Violation& violation : result.violations) {
        json::array packets;
        for (const std::size_t packet : violation.packets)
            packets.emplace_back(packet);
        array.emplace_back(json::object{{"rule", violation.rule},
                                        {"level", rules::word(violation.level)},
                                        {"certainty", violation.certain ? "certain" : "possible"},
                                        {"packets", std::move(packets)},
                                        {"measured", text(violation.measured)},
                                        {"allowed", text(violation.allowed)}});
    }
    return array;
}

json::object measures_object(const CaseResult& result) {
    json::object object;
    for (const auto& [name, samples] : result.measures) {
        json::array values;
        for (const wire::Duration sample : samples)
            values.emplace_back(sample.count());
        object[text(name)] = json::object{{"unit", "ns"}, {"samples", std::move(values)}};
    }
    return object;
}

json::object faults_object(const CaseResult& result) {
    json::object object;
    for (const interpreter::FaultCount& fault : result.faults)
        object[text(fault.rule)] = fault.fired;
    return object;
}

json::value plays_value(const CaseResult& result) {
    if (result.other_plays.empty()) return nullptr;
    json::array others;
    for (const interpreter::OtherPlay& play : result.other_plays) {
        others.emplace_back(json::object{{"verdict", name_of(play.verdict)},
                                         {"summary", text(summary(play.findings))}});
    }
    return json::object{{"seen_in", result.seen_in}, {"others", std::move(others)}};
}

json::object device_object(const testbed::DeviceFacts& device) {
    json::object limits;
    for (const auto& [name, limit] : device.limits)
        limits[text(name)] = limit;
    return {
        {"name", text(device.name)},
        {"device", text(device.device)},
        {"firmware", text(device.firmware)},
        {"driver", text(device.driver)},
        {"kernel", text(device.kernel)},
        {"backend", text(device.backend)},
        {"capabilities", strings(device.capabilities)},
        {"traits", strings(device.traits)},
        {"limits", std::move(limits)},
    };
}

} // namespace

std::string text(std::string_view value) {
    return wire::safe_text(value, true);
}

json::object case_object(const CaseResult& result) {
    return {
        {"id", text(result.id)},
        {"title", text(result.title)},
        {"rules", strings(result.rules)},
        {"level", rules::word(result.level)},
        {"verdict", name_of(result.verdict)},
        {"summary", text(result.reason())},
        {"findings", findings_array(result)},
        {"plays", plays_value(result)},
        {"file", text(result.file)},
        {"qps", qps_array(result)},
        {"packets", packets_array(result)},
        {"host", host_array(result)},
        {"violations", violations_array(result)},
        {"measures", measures_object(result)},
        {"faults", faults_object(result)},
        {"tolerated_retransmissions", result.tolerated_retransmissions},
        {"command", text(result.command)},
    };
}

json::object run_object(const testbed::RunInfo& run) {
    return {
        {"program", text(run.program)},
        {"seed", std::to_string(run.seed)},
        {"mutant", text(run.mutant)},
        {"dut", text(run.dut)},
        {"device", device_object(run.device)},
        {"link", text(run.link)},
        {"profile", text(run.profile)},
        {"dut_host", text(run.dut_host)},
        {"host", text(run.host)},
        {"complete", run.complete},
        {"notes", strings(run.notes)},
    };
}

json::value sheet_value(const sheet::DataSheet& sheet) {
    if (sheet.empty()) return nullptr;
    json::array quantities;
    for (const sheet::Quantity& one : sheet.quantities) {
        json::array series;
        for (const sheet::Series& each : one.series) {
            series.emplace_back(
                json::object{{"label", text(each.label)},
                             {"asked", each.asked ? json::value(*each.asked) : json::value()},
                             {"samples", json::array(each.samples.begin(), each.samples.end())}});
        }
        quantities.emplace_back(json::object{{"name", text(one.name)},
                                             {"title", text(one.title)},
                                             {"unit", name_of(one.unit)},
                                             {"series", std::move(series)}});
    }
    json::array behaviours;
    for (const sheet::Behaviour& one : sheet.behaviours) {
        behaviours.emplace_back(json::object{{"name", text(one.name)},
                                             {"title", text(one.title)},
                                             {"kind", text(one.kind)},
                                             {"evidence", text(one.evidence)}});
    }
    return json::object{{"quantities", std::move(quantities)},
                        {"behaviours", std::move(behaviours)}};
}

json::object timing_object(const plan::Timing& timing, bool at_end) {
    json::array cases;
    const std::size_t shown = at_end ? timing.cases.size() : 0;
    for (const plan::CaseTiming& entry : std::span(timing.cases).first(shown)) {
        cases.emplace_back(json::object{{"id", text(entry.id)}, {"wall_ns", entry.wall.count()}});
    }
    return {
        {"started", timing.started},
        {"wall_ns", timing.wall.count()},
        {"round_trip_p99_ns", timing.round_trip_p99.count()},
        {"sleep_p99_ns", timing.sleep_p99.count()},
        {"settle_ns", timing.settle.count()},
        {"cases", std::move(cases)},
    };
}

} // namespace veriroce::reports
