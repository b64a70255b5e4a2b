// The program veriroce: its commands. Each is a file in the folder `commands` of its product.
#include "conformance/commands/agent.hpp"
#include "conformance/commands/doctor.hpp"
#include "conformance/commands/inject.hpp"
#include "conformance/commands/judge.hpp"
#include "conformance/commands/report.hpp"
#include "conformance/commands/rules.hpp"
#include "conformance/commands/script.hpp"
#include "conformance/commands/test.hpp"
#include "dissector/command_line/large_pages.hpp"
#include "dissector/commands/analyze.hpp"
#include "dissector/commands/dissect.hpp"
#include "transport/commands/bench.hpp"
#include "transport/commands/fuzz.hpp"
#include "transport/commands/ping.hpp"
#include "transport/commands/serve.hpp"

int main(int argc, char** argv) {
    using namespace veriroce;
    command_line::use_large_pages();
    command_line::Program program(
        "veriroce", "Decode RoCEv2, send and receive it, and test whether a device obeys its rules",
        VERIROCE_VERSION);
    const command_line::Command top = program.command();
    commands::add_dissect(top);
    commands::add_analyze(top);
    commands::add_judge(top);
    commands::add_test(top);
    commands::add_doctor(top);
    commands::add_report(top);
    commands::add_script(top);
    commands::add_rules(top);
    commands::add_agent(top);
    commands::add_serve(top);
    commands::add_ping(top);
    commands::add_bench(top);
    commands::add_fuzz(top);
    commands::add_inject(top);
    return program.run(argc, argv);
}
