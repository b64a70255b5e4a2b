// Internal: the results of checks, as they are found.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "conformance/preflight/checks.hpp"

namespace veriroce::preflight {

class List {
  public:
    // The results that follow are about this.
    void about(std::string_view where) { where_ = where; }
    void ok(std::string_view subject, std::string text) {
        add(Grade::Ok, subject, std::move(text), {});
    }
    void warning(std::string_view subject, std::string text, std::string remedy) {
        add(Grade::Warning, subject, std::move(text), std::move(remedy));
    }
    void must(std::string_view subject, std::string text, std::string remedy) {
        add(Grade::Must, subject, std::move(text), std::move(remedy));
    }
    std::vector<CheckResult> take() { return std::move(results_); }

  private:
    void add(Grade grade, std::string_view subject, std::string text, std::string remedy) {
        results_.push_back({grade, where_, subject, std::move(text), std::move(remedy)});
    }

    std::string_view where_;
    std::vector<CheckResult> results_;
};

void check_tester(const TesterFacts& facts, List& list);
void check_dut(const DutFacts& facts, List& list);
// What needs facts of both: ARP, subnets, one host for both.
void check_network(const TesterFacts& tester, const DutFacts& dut, List& list);

} // namespace veriroce::preflight
