#include "reports/json.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "conformance/rules/rules.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::CaseResult;

json::array strings(const std::vector<std::string>& values) {
    json::array array;
    for (const std::string& value : values)
        array.emplace_back(value);
    return array;
}

json::object packet_object(const interpreter::RecordedPacket& packet, wire::Instant origin) {
    return {
        {"from", packet.from == interpreter::Side::Tester ? "tester" : "dut"},
        {"text", packet.script},
        {"remarks", strings(packet.remarks)},
        {"bytes", packet.frame.size()},
        {"timing", json::object{{"earliest_ns", (packet.at.earliest - origin).count()},
                                {"latest_ns", (packet.at.latest - origin).count()}}},
    };
}

json::array packets_array(const CaseResult& result) {
    json::array array;
    for (const interpreter::RecordedPacket& packet : result.packets) {
        array.emplace_back(packet_object(packet, result.packets.front().at.earliest));
    }
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
                                        {"measured", violation.measured},
                                        {"allowed", violation.allowed}});
    }
    return array;
}

json::object measures_object(const CaseResult& result) {
    json::object object;
    for (const auto& [name, samples] : result.measures) {
        json::array values;
        for (const wire::Duration sample : samples)
            values.emplace_back(sample.count());
        object[name] = json::object{{"unit", "ns"}, {"samples", std::move(values)}};
    }
    return object;
}

json::object faults_object(const CaseResult& result) {
    json::object object;
    for (const interpreter::FaultCount& fault : result.faults)
        object[fault.rule] = fault.fired;
    return object;
}

json::object case_object(const CaseResult& result) {
    return {
        {"id", result.id},
        {"title", result.title},
        {"rules", strings(result.rules)},
        {"level", rules::word(result.level)},
        {"verdict", name_of(result.verdict)},
        {"reason", result.reason()},
        {"expected", result.expected()},
        {"actual", result.actual()},
        {"file", result.file},
        {"line", result.line()},
        {"packets", packets_array(result)},
        {"violations", violations_array(result)},
        {"measures", measures_object(result)},
        {"faults", faults_object(result)},
        {"tolerated_retransmissions", result.tolerated_retransmissions},
        {"command", result.command},
    };
}

json::object run_object(const testbed::RunInfo& run) {
    return {
        {"seed", std::to_string(run.seed)}, {"dut", run.dut},   {"link", run.link},
        {"profile", run.profile},           {"host", run.host}, {"complete", run.complete},
        {"notes", strings(run.notes)},
    };
}

json::object timing_object(const plan::Timing& timing) {
    json::array cases;
    for (const plan::CaseTiming& entry : timing.cases) {
        cases.emplace_back(json::object{{"id", entry.id}, {"wall_ns", entry.wall.count()}});
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

// Boost.JSON serializes without white space; people read this file too.
void print(std::string& out, const json::value& value, std::size_t indent);

template <typename Range, typename Each>
void print_list(std::string& out, const Range& range, char open, char close, std::size_t indent,
                Each each) {
    out += open;
    bool first = true;
    for (const auto& element : range) {
        out += first ? "\n" : ",\n";
        first = false;
        out.append(indent + 2, ' ');
        each(element);
    }
    if (!first) {
        out += '\n';
        out.append(indent, ' ');
    }
    out += close;
}

void print(std::string& out, const json::value& value, std::size_t indent) {
    if (value.is_object()) {
        print_list(out, value.get_object(), '{', '}', indent, [&](const auto& member) {
            out += json::serialize(json::string(member.key())) + ": ";
            print(out, member.value(), indent + 2);
        });
    } else if (value.is_array()) {
        print_list(out, value.get_array(), '[', ']', indent,
                   [&](const json::value& element) { print(out, element, indent + 2); });
    } else {
        out += json::serialize(value);
    }
}

} // namespace

std::string results_json(const plan::RunResults& results) {
    json::array cases;
    for (const CaseResult& result : results.cases)
        cases.emplace_back(case_object(result));
    json::object document{
        {"schema", "veriroce/results/1"},
        {"run", run_object(results.run)},
        {"cases", std::move(cases)},
        {"timing", timing_object(results.timing)},
    };
    std::string out;
    print(out, document, 0);
    return out + "\n";
}

} // namespace veriroce::reports
