#include "reports/json.hpp"

#include <utility>

#include <boost/json.hpp>

#include "reports/json_objects.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::CaseResult;

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

std::string json_head() {
    return "{\n  \"schema\": \"veriroce/results/2\",\n  \"cases\": [";
}

std::string json_case(const CaseResult& result, bool first) {
    constexpr std::size_t kIndent = 4;
    std::string out = first ? "\n" : ",\n";
    out.append(kIndent, ' ');
    print(out, case_object(result), kIndent);
    return out;
}

std::string json_tail(const plan::RunResults& results, bool any_case, bool at_end) {
    std::string out = any_case ? "\n  ],\n  \"run\": " : "],\n  \"run\": ";
    print(out, run_object(results.run), 2);
    out += ",\n  \"timing\": ";
    print(out, timing_object(results.timing, at_end), 2);
    out += ",\n  \"sheet\": ";
    print(out, at_end ? sheet_value(results.sheet) : json::value(), 2);
    return out + "\n}\n";
}

std::string results_json(const plan::RunResults& results) {
    std::string out = json_head();
    bool first = true;
    for (const CaseResult& result : results.cases)
        out += json_case(result, std::exchange(first, false));
    return out + json_tail(results, !results.cases.empty(), true);
}

} // namespace veriroce::reports
