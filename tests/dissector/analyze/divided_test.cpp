// Several analyzers that divide the packets say what one says.
#include "dissector/analyze/divided_analyzer.hpp"
#include "tests/dissector/analyze/history.hpp"

namespace veriroce::analyze::test {
namespace {

constexpr std::size_t places = 3;

// A DividedAnalyzer whose messages are kept, as text.
class Told {
  public:
    Told(const Options& options, std::size_t shares) : divided_(options, shares, places) {}

    void prepare(std::size_t place, std::span<const decode::Dissection> frames) {
        divided_.prepare(place, frames);
    }
    void observe(std::size_t share, std::size_t place, std::span<const decode::Dissection> frames) {
        divided_.observe(share, place, frames);
    }
    void merge(std::size_t place) {
        divided_.merge(place);
        append_messages_csv(text_, divided_.messages());
    }
    std::string text() {
        divided_.finish();
        append_json(text_, report_of(divided_.conversations(), divided_.totals(), {}));
        return text_;
    }
    [[nodiscard]] const DividedAnalyzer& divided() const { return divided_; }

  private:
    DividedAnalyzer divided_;
    std::string text_;
};

std::string text_of_one(std::span<const decode::Dissection> frames) {
    Analyzer analyzer({.flow = {}, .messages = true});
    std::string text;
    for (const decode::Dissection& frame : frames) {
        analyzer.observe({&frame, 1});
        append_messages_csv(text, analyzer.messages());
    }
    analyzer.finish();
    append_json(text, report_of(analyzer, {}));
    return text;
}

} // namespace

TEST_CASE("divided analysis: every number of shares says what one analyzer says", "[analyze]") {
    const auto captured = flow::test::crowded();
    const auto frames = flow::test::dissected(captured);
    const std::string expected = text_of_one(frames);
    REQUIRE((expected.size() > 10'000));
    for (const std::size_t shares : {1U, 2U, 3U, 8U}) {
        INFO(shares << " shares");
        Told told({.flow = {}, .messages = true}, shares);
        flow::test::observe_divided(told, frames, shares, places);
        CHECK(told.divided().exact());
        CHECK((told.text() == expected));
    }
}

TEST_CASE("divided analysis: it is not exact where one analyzer would reach a limit", "[analyze]") {
    const auto captured = flow::test::crowded();
    const auto frames = flow::test::dissected(captured);
    Analyzer unlimited;
    unlimited.observe(frames);
    const Need need = unlimited.need();
    REQUIRE((need.flow.connections > 8));
    const auto exact = [&](const Options& options) {
        Told told(options, 3);
        flow::test::observe_divided(told, frames, 3, places);
        Analyzer one(options);
        one.observe(frames);
        CHECK_FALSE((one.limited() && told.divided().exact()));
        return told.divided().exact();
    };
    const auto connections = static_cast<std::uint32_t>(need.flow.connections);
    CHECK(exact({.flow = {.connections = 2 * connections}}));
    CHECK_FALSE(exact({.flow = {.connections = connections - 1}}));
    CHECK_FALSE(exact({.flow = {.extents = need.flow.extents - 1}}));
    CHECK_FALSE(exact({.flow = {}, .conversations = need.conversations - 1}));
}

} // namespace veriroce::analyze::test
