// Programs that listen, and those who connect to them without good intentions.
#include <catch2/catch.hpp>

#include "tests/program/program.hpp"
#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

// Starts the agent on our engine in the background, waits until it listens, and ends it with the
// shell. `{}` are more options and redirections.
std::string with_agent(const std::string& options, const std::string& then) {
    return "bash -c '(exec veriroce agent --backend engine --address 127.0.0.1 --listen "
           "unix:agent " +
           options +
           ") & agent=$!; trap \"kill $agent\" EXIT; for i in {1..200}; do [[ -S agent ]] && "
           "break; sleep 0.05; "
           "done; " +
           then + "'";
}

} // namespace

TEMPLATE_TEST_CASE_SIG("program: a token file may have the line ends of another system",
                       "[program]", ((std::size_t part), part), 0, 1, 2, 3) {
    const Workplace place;
    place.write("unix", "sesame\n");
    place.write("windows", "sesame\r\n");
    REQUIRE(place.run("chmod 600 unix windows").code == 0);
    const std::string agents = part < 2 ? "unix" : "windows";
    const std::string testers = part % 2 == 0 ? "unix" : "windows";
    INFO(agents << " " << testers);
    const auto outcome = place.run_in_network(
        with_agent("--token-file " + agents,
                   "veriroce agent --check unix:agent --token-file " + testers +
                       " >/dev/null && veriroce test -i va --dut unix:agent rsp/gap-nak "
                       "--dut-token-file " +
                       testers));
    INFO(outcome.out);
    CHECK(outcome.err.find("token is wrong") == std::string::npos);
    CHECK(outcome.err.find("connected") != std::string::npos);
    // The tester came as far as the device's address, which is not on its interface.
    CHECK(outcome.err.find("veriroce: ") != std::string::npos);
}

TEST_CASE("program: an agent whose stderr nobody reads any more serves on", "[program]") {
    const Workplace place;
    const auto outcome = place.run_in_network(
        with_agent("2> >(true)", "sleep 0.2; veriroce agent --check unix:agent | tail -1"));
    CHECK(outcome.code == 0);
    CHECK(outcome.out.ends_with(" ok, 0 failed, 0 not checked\n"));
}

TEST_CASE("program: serve hears a peer behind silent ones, and answers no third host",
          "[program]") {
    const Workplace place;
    const auto play = [&](const std::string& options, const std::string& before) {
        return place.run_in_network(
            "bash -c 'veriroce serve --once --listen 127.0.0.1:18515 -n 10 " + options +
            " >served 2>refused & pid=$!; for i in {1..200}; do ss -ltn | grep -q :18515 && break; "
            "sleep 0.05; done; " +
            before + "veriroce ping 127.0.0.1 -n 10 --address 127.0.0.2; wait $pid'");
    };
    const auto elsewhere = play("", "");
    CHECK(elsewhere.code == 3);
    const auto refused = house::read_text((place.folder() / "refused").string());
    CHECK(refused.starts_with("veriroce: 127.0.0.1:"));
    CHECK(refused.find(": it names the GID 127.0.0.2, but its exchange came from 127.0.0.1: choose "
                       "that address's GID there (-g of ibv_rc_pingpong), or serve it with "
                       "--allow-gid 127.0.0.2\n") != std::string::npos);

    const auto behind = play("--allow-gid 127.0.0.2",
                             "for i in {1..70}; do exec {fd}<>/dev/tcp/127.0.0.1/18515; done; ");
    INFO(behind.out << behind.err);
    CHECK(behind.code == 0);
    CHECK(behind.out.find("10 round trips of 4096 bytes") != std::string::npos);
    CHECK(behind.out.find("all data correct") != std::string::npos);
}

} // namespace veriroce::program::test
