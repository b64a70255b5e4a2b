#include "dissector/wire/safe_text.hpp"

#include <catch2/catch.hpp>

namespace veriroce::wire::test {

TEST_CASE("safe text: what can be shown stays as it is", "[wire]") {
    for (const std::string_view text :
         {"", "plain ASCII ~", "\xC2\xB5s", "\xE2\x86\x92", "\xF0\x9F\x98\x80", "\xC2\xA0"}) {
        CHECK(safe_text(text) == text);
        CHECK(safe_text(text, true) == text);
    }
}

TEST_CASE("safe text: what a terminal obeys, and what is not UTF-8, becomes visible", "[wire]") {
    CHECK(safe_text("\x1b[2J") == "\\x1b[2J");
    CHECK(safe_text("a\rb\x7F") == "a\\x0db\\x7f");
    CHECK(safe_text("\xC2\x9B") == "\\xc2\\x9b");          // CSI in one character
    CHECK(safe_text("\xE2\x80\xAE") == "\\xe2\\x80\\xae"); // writes from right to left
    CHECK(safe_text("\xE2\x80\xA8") == "\\xe2\\x80\\xa8"); // a line separator
    CHECK(safe_text("\xFF\xC3") == "\\xff\\xc3");          // no UTF-8, and cut short
    CHECK(safe_text("\xC0\x80") == "\\xc0\\x80");          // overlong
    CHECK(safe_text("\xED\xA0\x80") == "\\xed\\xa0\\x80"); // a surrogate
    CHECK(safe_text("\xEF\xBF\xBF") == "\\xef\\xbf\\xbf"); // no character
    CHECK(safe_text(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("safe text: lines are kept for formats that escape them", "[wire]") {
    CHECK(safe_text("a\n\tb") == "a\\n\\tb");
    CHECK(safe_text("a\n\tb", true) == "a\n\tb");
    CHECK(safe_text("a\rb", true) == "a\\x0db");
}

TEST_CASE("safe text: an excerpt has whole characters, and says that it is one", "[wire]") {
    CHECK(safe_excerpt("exactly", 7) == "exactly");
    CHECK(safe_excerpt("one more", 7) == "one ...");
    CHECK(safe_excerpt("abc\xE2\x86\x92", 6) == "abc\xE2\x86\x92");
    for (const std::size_t most : {7U, 8U}) // not half an arrow
        CHECK(safe_excerpt("abc\xE2\x86\x92 and more", most) == "abc...");
    CHECK(safe_excerpt("abc\xE2\x86\x92 and more", 9) == "abc\xE2\x86\x92...");
    CHECK(safe_excerpt("\x1b\x1b\x1b", 8) == "\\x1b\\..."); // its length counts as it is shown
    CHECK(safe_excerpt(std::string(100'000, 'x'), 10) == "xxxxxxx...");
    // Doing it twice changes nothing.
    for (const std::string_view text : {"\xFF\xFE\xFD", "abc\xE2\x86\x92\xE2\x86\x92", "plain"}) {
        for (std::size_t most = 3; most < 20; ++most) {
            const auto once = safe_excerpt(text, most);
            CHECK(once.size() <= most);
            CHECK(safe_excerpt(once, most) == once);
        }
    }
}

} // namespace veriroce::wire::test
