#include "conformance/preflight/checks.hpp"

#include <fmt/format.h>

#include "conformance/preflight/list.hpp"

namespace veriroce::preflight {

std::string_view name_of(Grade grade) {
    switch (grade) {
    case Grade::Ok: return "ok";
    case Grade::Warning: return "warning";
    case Grade::Must: return "must";
    }
    return "?";
}

std::vector<CheckResult> check(const Facts& facts) {
    List list;
    list.about("tester");
    check_tester(facts.tester, list);
    if (facts.dut) {
        list.about("DUT");
        check_dut(*facts.dut, list);
        list.about("network");
        check_network(facts.tester, *facts.dut, list);
    }
    return list.take();
}

std::string note_of(const CheckResult& result) {
    std::string text = fmt::format("{}: {}, {}: {}", name_of(result.grade), result.where,
                                   result.subject, result.text);
    if (!result.remedy.empty()) text += "; remedy: " + result.remedy;
    return text;
}

std::string line_of(const CheckResult& result) {
    std::string text = fmt::format("{:<8} {:<8} {:<14} {}\n", result.where, name_of(result.grade),
                                   result.subject, result.text);
    if (!result.remedy.empty()) text += fmt::format("{:33}-> {}\n", "", result.remedy);
    return text;
}

} // namespace veriroce::preflight
