#include "reports/safe_text.hpp"

#include <catch2/catch.hpp>

namespace veriroce::reports::test {

TEST_CASE("safe text: what can be shown stays as it is", "[reports]") {
    for (const std::string_view text :
         {"", "plain ASCII ~", "\xC2\xB5s", "\xE2\x86\x92", "\xF0\x9F\x98\x80", "\xC2\xA0"}) {
        CHECK(safe_text(text) == text);
        CHECK(safe_text(text, true) == text);
    }
}

TEST_CASE("safe text: what a terminal obeys, and what is not UTF-8, becomes visible", "[reports]") {
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

TEST_CASE("safe text: lines are kept for formats that escape them", "[reports]") {
    CHECK(safe_text("a\n\tb") == "a\\n\\tb");
    CHECK(safe_text("a\n\tb", true) == "a\n\tb");
    CHECK(safe_text("a\rb", true) == "a\\x0db");
}

} // namespace veriroce::reports::test
