// The canonical layout.
#include "tests/conformance/script/examples.hpp"
#include "tests/conformance/script/text.hpp"

namespace veriroce::script::tests {
namespace {

std::string laid_out(std::string_view text) {
    const auto result = format("group/x.roce", text);
    if (!result) FAIL(all_text(result.error()));
    return *result;
}

std::string without_blanks(std::string_view text) {
    std::string rest;
    for (const char c : text) {
        if (c != ' ' && c != '\n') rest += c;
    }
    return rest;
}

// A small generator, the same on every machine; printed with a failure.
std::uint32_t next(std::uint32_t& state) {
    state = state * 1'664'525U + 1'013'904'223U;
    return state >> 16;
}

// Blanks where blanks are, more of them, and blank lines and indentation that mean nothing.
std::string shaken(std::string_view text, std::uint32_t seed) {
    std::string result;
    bool quoted = false;
    bool comment = false;
    bool header = true;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"') quoted = !quoted;
        if (c == '#' && !quoted) comment = true;
        if (c == '\n') {
            quoted = comment = false;
            if (i + 1 < text.size() && text[i + 1] == '\n') header = false;
        }
        result += c;
        const bool blank = c == ' ' && !quoted && !comment;
        if (blank && next(seed) % 8 == 0) result += ' ';
        if (c == '\n' && !header && next(seed) % 8 == 0) result += '\n';
    }
    return result;
}

} // namespace

TEST_CASE("format: columns as people align them", "[script]") {
    CHECK(laid_out("rule RSP-02 RSP-03\ntitle \"A  title\"\nrole responder\nlet a = 3\n"
                   "let bc = 4 # four\nfor n in 0 1\nfor longer in requests\nqp timeout=20\n\n\n\n"
                   "dut recv id=1..3\n> SEND_ONLY psn=0 ackreq # first\n< ACK psn=0   msn=1 "
                   "within 10ms exact\nfault drop when from=dut\n\nany\n> {longer}\nno NAK\nor\n"
                   "# nothing\nrepeat 2\nquiet 1s\nend\nend # over\n\n") ==
          "rule   RSP-02 RSP-03\n"
          "title  \"A  title\"\n"
          "role   responder\n"
          "let    a      = 3\n"
          "let    bc     = 4                                  # four\n"
          "for    n      in 0 1\n"
          "for    longer in requests\n"
          "qp     timeout=20\n"
          "\n"
          "dut    recv id=1..3\n"
          "> SEND_ONLY  psn=0 ackreq                          # first\n"
          "< ACK        psn=0 msn=1  within 10ms  exact\n"
          "fault  drop when from=dut\n"
          "\n"
          "any\n"
          "  > {longer}\n"
          "  no NAK\n"
          "or\n"
          "  # nothing\n"
          "  repeat 2\n"
          "    quiet 1s\n"
          "  end\n"
          "end                                                # over\n");
}

TEST_CASE("format: laying out twice changes nothing, and the case stays the same", "[script]") {
    std::vector<std::string_view> texts;
    const auto suite_files = suite();
    for (const Example& example : design_examples)
        texts.push_back(example.text);
    for (const auto& file : suite_files)
        texts.push_back(file.text);
    for (const std::string_view text : texts) {
        const std::string once = laid_out(text);
        INFO(once);
        CHECK(laid_out(once) == once);
        CHECK(without_blanks(once) == without_blanks(text));
        const auto before = runs_of(text);
        const auto after = runs_of(once);
        REQUIRE(before.size() == after.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            CHECK(before[i].suffix == after[i].suffix);
            CHECK(before[i].title == after[i].title);
            CHECK(before[i].body.size() == after[i].body.size());
        }
    }
}

TEST_CASE("format: however blanks are strewn, the layout is the same", "[script]") {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        const Example& example = design_examples[seed % 5];
        const std::string text = shaken(example.text, seed);
        const auto first = format("group/x.roce", text);
        INFO("seed " << seed << "\n" << text);
        if (!first) {
            // More blanks may push a line over the edge; that is said, not cut.
            CHECK_THAT(all_text(first.error()), Catch::Contains("100 columns"));
            continue;
        }
        const auto second = format("group/x.roce", *first);
        REQUIRE(second);
        CHECK(*second == *first);
        CHECK(without_blanks(*first) == without_blanks(text));
    }
}

TEST_CASE("format: what does not load is not laid out", "[script]") {
    const auto refused = format("x.roce", "rule NONE-1\n");
    REQUIRE_FALSE(refused);
    CHECK_FALSE(refused.error().empty());
}

TEST_CASE("format: a plan keeps its comments and has one blank between words", "[script]") {
    const auto laid_out =
        format_plan("x.faults", "\n# loss\n\n\ndrop   when  from=a  psn=3 # one\n");
    REQUIRE(laid_out.has_value());
    CHECK(*laid_out == "# loss\n\ndrop when from=a psn=3" + std::string(29, ' ') + "# one\n");
    CHECK(format_plan("x.faults", *laid_out).value() == *laid_out);
    CHECK_FALSE(format_plan("x.faults", "dorp when from=a\n").has_value());
}

} // namespace veriroce::script::tests
