#include "conformance/agent/options.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include <array>
#include <vector>

#include "conformance/agent/serve.hpp"
#include "tests/conformance/agent/fake_backend.hpp"
#include "tests/temporary_folder.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::agent;

using Words = std::vector<std::string_view>;

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
    return run_command_line(words, backends);
}

} // namespace

TEST_CASE("options: without any, loopback and the contract's limits", "[agent]") {
    const auto options = parse_options({});
    REQUIRE(options);
    CHECK(options->listen == "127.0.0.1:4790");
    CHECK(options->token_file.empty());
    CHECK(options->limits == dut::AgentLimits{});
    CHECK(options->limits.connections == 8);
    CHECK(options->limits.registered_bytes == 1073741824);
    CHECK(options->limits.qps == 4096);
    CHECK(options->limits.queued_bytes == 67108864);
}

TEST_CASE("options: each is taken in both spellings", "[agent]") {
    const auto options =
        parse_options(Words{"--listen", "10.77.0.1:4790", "--token-file=/run/token", "--device",
                            "rxe0", "--max-registered=2G", "--max-qps", "16", "--max-line", "64K"});
    REQUIRE(options);
    CHECK(options->listen == "10.77.0.1:4790");
    CHECK(options->token_file == "/run/token");
    CHECK(options->device == "rxe0");
    CHECK(options->limits.registered_bytes == std::uint64_t{2} << 30);
    CHECK(options->limits.qps == 16);
    CHECK(options->limits.line_bytes == 65536);
}

TEST_CASE("options: what is wrong is named", "[agent]") {
    struct Row {
        Words words;
        std::string message;
    };
    const std::array rows{
        Row{{"--listn", "x"}, "unknown option \"--listn\": see --help"},
        Row{{"now"}, "unknown option \"now\": see --help"},
        Row{{"--listen"}, "--listen needs a value: see --help"},
        Row{{"--device="}, "--device cannot be \"\": see --help"},
        Row{{"--max-qps", "many"}, "--max-qps cannot be \"many\": see --help"},
        Row{{"--max-qps=0"}, "--max-qps cannot be \"0\": see --help"},
        Row{{"--max-registered", "1T"}, "--max-registered cannot be \"1T\": see --help"},
        Row{{"--max-registered", "99999999999G"},
            "--max-registered cannot be \"99999999999G\": see --help"},
    };
    for (const auto& row : rows) {
        const auto options = parse_options(row.words);
        REQUIRE_FALSE(options);
        CHECK(options.error() == row.message);
        CHECK(run_words(row.words) == 2);
    }
}

TEST_CASE("options: every one stands in the help", "[agent]") {
    for (const auto* name :
         {"--listen", "--token-file", "--backend", "--device", "--address", "--max-connections",
          "--max-registered", "--max-qps", "--max-queued", "--max-line"}) {
        INFO(name);
        CHECK(usage().find(std::string("\n  ") + name + ' ') != std::string_view::npos);
        CHECK(parse_options(Words{name, "1"}));
    }
    CHECK(parse_options(Words{"--help"})->help);
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
                  " must hold a token of 1 to 1023 bytes in its first line");
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
    CHECK(run_words({"--listen", "0.0.0.0:0", "--token-file", open.path()}) == 3);
}
