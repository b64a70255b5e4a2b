#include "conformance/agent/options.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <vector>

#include "conformance/agent/serve.hpp"
#include "tests/conformance/agent/fake_backend.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/written.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::agent;

using Words = std::vector<const char*>;

struct Parsed {
    int code = -1;
    std::string out;
    std::string err;
    Options options;
};

int run_program(command_line::Program& program, Words words, std::FILE* out, std::FILE* err) {
    words.insert(words.begin(), "veriroce-agent");
    return program.run(static_cast<int>(words.size()), words.data(), out, err);
}

Parsed parsed(const Words& words) {
    Parsed result;
    command_line::Program program("veriroce-agent", "The agent", "1.2.3");
    add_options(program.command(), result.options);
    std::FILE* out = std::tmpfile();
    std::FILE* err = std::tmpfile();
    result.code = run_program(program, words, out, err);
    result.out = house::written_to(out);
    result.err = house::written_to(err);
    return result;
}

// A file in a folder of its own, with a mode; gone with the object.
class TokenFile {
  public:
    TokenFile(std::string_view content, mode_t mode) : path_(folder_.file("token", content)) {
        REQUIRE(chmod(path_.c_str(), mode) == 0);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    house::TemporaryFolder folder_;
    std::string path_;
};

int run_words(const Words& words) {
    static constexpr std::array backends{BackendKind{
        "fake",
        [](const Options& /*options*/) -> std::expected<std::unique_ptr<Backend>, std::string> {
            return std::make_unique<test::FakeBackend>();
        }}};
    command_line::Program program("veriroce-agent", "The agent", "1.2.3");
    add_agent(program.command(), backends);
    return run_program(program, words, stdout, stderr);
}

} // namespace

TEST_CASE("options: without any, loopback and the contract's limits", "[agent]") {
    const Parsed result = parsed({});
    REQUIRE(result.code == 0);
    const Options& options = result.options;
    CHECK(options.listen == "127.0.0.1:4790");
    CHECK(options.token_file.empty());
    CHECK(options.limits == dut::AgentLimits{});
    CHECK(options.limits.connections == 8);
    CHECK(options.limits.registered_bytes == 1073741824);
    CHECK(options.limits.qps == 4096);
    CHECK(options.limits.queued_bytes == 67108864);
}

TEST_CASE("options: each is taken in both spellings", "[agent]") {
    const Parsed result =
        parsed({"--listen", "10.77.0.1:4790", "--token-file=/run/token", "--device", "rxe0",
                "--max-registered=2G", "--max-qps", "16", "--max-line", "64K"});
    REQUIRE(result.code == 0);
    const Options& options = result.options;
    CHECK(options.listen == "10.77.0.1:4790");
    CHECK(options.token_file == "/run/token");
    CHECK(options.device == "rxe0");
    CHECK(options.limits.registered_bytes == std::uint64_t{2} << 30);
    CHECK(options.limits.qps == 16);
    CHECK(options.limits.line_bytes == 65536);
}

TEST_CASE("options: a limit beyond its type is the most that it holds", "[agent]") {
    const Parsed result = parsed({"--max-qps", "8G"});
    REQUIRE(result.code == 0);
    CHECK(result.options.limits.qps == 0xFFFFFFFF);
}

TEST_CASE("options: what is wrong is named", "[agent]") {
    struct Row {
        Words words;
        std::string message;
    };
    const std::string number = ": expected a number such as 512, 64K, 16M or 1G, got ";
    const std::array rows{
        Row{{"--listn", "x"}, "unknown option '--listn'; did you mean '--listen'?"},
        Row{{"now"}, "unexpected argument 'now'; see --help"},
        Row{{"--listen"}, "--listen needs a value"},
        Row{{"--device="}, "--device needs a value"},
        Row{{"--device", ""}, "--device: expected a value, got ''"},
        Row{{"--max-qps", "many"}, "--max-qps" + number + "'many'"},
        Row{{"--max-qps=0"}, "--max-qps" + number + "'0'"},
        Row{{"--max-registered", "1T"}, "--max-registered" + number + "'1T'"},
        Row{{"--max-registered", "99999999999G"}, "--max-registered" + number + "'99999999999G'"},
    };
    for (const auto& row : rows) {
        const Parsed result = parsed(row.words);
        CHECK(result.code == 2);
        CHECK(result.err == "veriroce-agent: " + row.message + "\n");
        CHECK(run_words(row.words) == 2);
    }
}

TEST_CASE("options: every one stands in the help", "[agent]") {
    const Parsed help = parsed({"--help"});
    CHECK(help.code == 0);
    for (const auto* name : {"--listen", "--token-file", "--backend", "--device", "--address",
                             "--interface", "--check", "--max-connections", "--max-registered",
                             "--max-qps", "--max-queued", "--max-line"}) {
        INFO(name);
        CHECK(help.out.find(std::string("\n  ") + name + ' ') != std::string::npos);
        CHECK(parsed({name, "1"}).code == 0);
    }
    CHECK(help.out.find("The token and the data are not encrypted") != std::string::npos);
}

TEST_CASE("token: the first line of a file that nobody else reads", "[agent]") {
    CHECK(read_token(TokenFile("sesame\nrest", 0600).path()) == "sesame");
    CHECK(read_token(TokenFile("sesame", 0400).path()) == "sesame");
    for (const mode_t mode : {0640U, 0604U, 0620U, 0666U}) {
        const TokenFile file("sesame\n", mode);
        CHECK(read_token(file.path()).error() ==
              "others can read the token file " + file.path() + ": chmod 600 it");
    }
    for (const auto& content : {std::string(), std::string("\n"), std::string(1024, 'x')}) {
        const TokenFile file(content, 0600);
        CHECK(read_token(file.path()).error() ==
              "the token file " + file.path() +
                  " must have a token of 1 to 1023 bytes in its first line");
    }
    CHECK(read_token("/nonexistent/token").error() ==
          "cannot read the token file /nonexistent/token: No such file or directory");
}

TEST_CASE("agent: it does not start where it should not", "[agent]") {
    CHECK(run_words({"--listen", "0.0.0.0:0"}) == 3); // no token
    CHECK(run_words({"--listen", "[::]:0"}) == 3);    // no token
    CHECK(run_words({"--listen", "localhost"}) == 3); // no port
    CHECK(run_words({"--backend", "verb"}) == 3);     // no such backend
    const TokenFile open("sesame\n", 0644);
    CHECK(run_words({"--listen", "0.0.0.0:0", "--token-file", open.path().c_str()}) == 3);
}
