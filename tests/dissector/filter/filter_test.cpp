// What only this dissector has, and what is said of expressions that are wrong.
#include "tests/dissector/filter/frames.hpp"

using namespace veriroce;
using namespace veriroce::filter;
using namespace veriroce::filter::test;

namespace {

std::string complaint(const std::string& expression) {
    const auto filter = Filter::compile(expression);
    if (filter) return "it is right";
    return text_of(filter.error(), expression);
}

// The column and the message, without the expression and its marks.
std::string first_line(const std::string& expression) {
    const std::string text = complaint(expression);
    return text.substr(0, text.find('\n'));
}

std::size_t count(const AllCaptures& captures, const std::string& expression) {
    INFO(expression);
    const auto filter = Filter::compile(expression);
    REQUIRE(filter);
    return captures.selected(*filter).size();
}

} // namespace

TEST_CASE("filter: our own fields, and names of values", "[filter]") {
    const AllCaptures captures;
    CHECK(count(captures, "roce.icrc.status == bad") > 0);
    CHECK(count(captures, "roce.icrc.status == \"bad\"") ==
          count(captures, "infiniband && roce.icrc.status != good"));
    CHECK(count(captures, "infiniband.bth.opcode == \"RC Acknowledge\"") ==
          count(captures, "infiniband.bth.opcode == 17"));
    CHECK(count(captures, "infiniband.bth.opcode == \"rc acknowledge\"") > 0);
    CHECK(count(captures, "infiniband.bth.opcode != \"RC Acknowledge\"") ==
          count(captures, "infiniband.bth.opcode != 17"));
    CHECK(count(captures, "infiniband.aeth.syndrome.error_code == \"Remote Access Error\"") ==
          count(captures, "infiniband.aeth.syndrome.error_code == 2"));
    CHECK(count(captures, "roce.opcode.name contains \"Write\"") ==
          count(captures, "infiniband.bth.opcode in {6..11}"));
    CHECK(count(captures, "roce.opcode.name matches \"^rc.*write\"") ==
          count(captures, "infiniband.bth.opcode in {6..11}"));
    CHECK(count(captures, "roce.payload_bytes > 0 && roce.payload_bytes < 100") > 0);
    CHECK(count(captures, "(infiniband.bth.psn & 3) == 1") ==
          count(captures, "infiniband.bth.psn & 3 == 1"));
    CHECK(count(captures, "(infiniband.bth.psn & 6) == 2") ==
          count(captures, "infiniband.bth.psn & 2 && !(infiniband.bth.psn & 4)"));
    CHECK(count(captures, "ip.dsfield.ecn < infiniband.bth.opcode < frame.len") ==
          count(captures,
                "ip.dsfield.ecn < infiniband.bth.opcode && infiniband.bth.opcode < frame.len"));
}

TEST_CASE("filter: it knows whether the ICRC has to be verified", "[filter]") {
    CHECK(Filter::compile("roce.icrc.status == bad")->needs_icrc());
    CHECK(Filter::compile("ip and (udp or not roce.icrc.expected == 5)")->needs_icrc());
    CHECK_FALSE(Filter::compile("infiniband.invariant.crc == 5")->needs_icrc());
    CHECK_FALSE(Filter::compile("")->needs_icrc());
}

TEST_CASE("filter: a wrong expression is told with its column and marks", "[filter]") {
    CHECK(complaint("ip && infiniband.bth.opcod == 4") ==
          "column 7: unknown field or protocol 'infiniband.bth.opcod'; did you mean "
          "'infiniband.bth.opcode'?\n"
          "    ip && infiniband.bth.opcod == 4\n"
          "          ^^^^^^^^^^^^^^^^^^^^");
    CHECK(complaint("frame contains \"µ\" && (udp") == "column 27: missing )\n"
                                                       "    frame contains \"µ\" && (udp\n"
                                                       "                              ^");
}

TEST_CASE("filter: what is wrong with wrong expressions", "[filter]") {
    struct Row {
        std::string expression;
        std::string message;
    };
    const std::vector<Row> rows{
        {"xyzzy", "column 1: unknown field or protocol 'xyzzy'"},
        {"upd", "column 1: unknown field or protocol 'upd'; did you mean 'udp'?"},
        {"ip.src = 10.0.0.1", "column 8: to compare, write =="},
        {"ip | udp", "column 4: for \"or\", write ||"},
        {"ip.addr#2 == 10.0.0.1", "column 8: layers by number (#) are not supported"},
        {"ip; udp", "column 3: this character has no meaning in a filter"},
        {"len(ip.src) == 4", "column 1: functions are not supported"},
        {"ip and", "column 7: unexpected end of the expression"},
        {"ip.ttl ==", "column 10: unexpected end of the expression"},
        {"ip)", "column 3: unexpected ')'"},
        {"()", "column 2: unexpected ')'"},
        {"(ip", "column 4: missing )"},
        {"ip adn udp", "column 4: unknown operator 'adn'; did you mean 'and'?"},
        {"frame.number 3", "column 14: unknown operator '3'"},
        {"ip.ttl eqq 3", "column 8: unknown operator 'eqq'; did you mean 'eq'?"},
        {"18 == frame.number", "column 1: unknown field or protocol '18'"},
        {"\"x\" == frame", "column 1: the left side of a comparison must be a field"},
        {"ip.ttl == 1 == 2", "column 11: the left side of a comparison must be a field, not '1'"},
        {"ip.ttl == 300", "column 11: '300' is too large for ip.ttl, which has 8 bits"},
        {"infiniband.bth.psn == 0x1000000",
         "column 23: '0x1000000' is too large for infiniband.bth.psn, which has 24 bits"},
        {"ip.ttl == 1x", "column 11: '1x' is not an unsigned number"},
        {"ip.ttl == -1", "column 11: '-1' is not an unsigned number"},
        {"ip.ttl == 08", "column 11: '08' is not an unsigned number"},
        {"ip.ttl == high", "column 11: 'high' is not a number"},
        {"infiniband.atomiceth.swapdt == 99999999999999999999",
         "column 32: '99999999999999999999' has more than 64 bits"},
        {"infiniband.bth.opcode == \"RC Acknowlege\"",
         "column 26: 'RC Acknowlege' is neither a number nor a name of a value of "
         "infiniband.bth.opcode; did you "
         "mean 'RC Acknowledge'?"},
        {"infiniband.aeth.syndrome.error_code > \"Reserved\"",
         "column 39: 'Reserved' stands for several numbers, which have no order"},
        {"infiniband.bth.a == yes", "column 21: 'yes' is neither true nor false"},
        {"frame.time_delta > fast", "column 20: 'fast' is not a time in seconds, such as 0.001"},
        {"ip.src == 10.0.0.300", "column 11: '10.0.0.300' is not an IPv4 address"},
        {"ip.src == fd77::1", "column 11: 'fd77::1' is not an IPv4 address"},
        {"ipv6.src == 10.0.0.1", "column 13: '10.0.0.1' is not an IPv6 address"},
        {"ip.src == 10.0.0.0/33", "column 11: the prefix of an IPv4 address has 0 to 32 bits"},
        {"ip.src == localhost", "column 11: 'localhost' is not an IPv4 address"},
        {"eth.src == 52:54", "column 12: '52:54' is not a MAC address, which has 6 bytes"},
        {"infiniband.bth == xy",
         "column 19: 'xy' is not a byte string; write aa:bb:cc, or \"text\" in quotation "
         "marks"},
        {"frame.number == udp", "column 17: 'udp' is bytes, and the left side is a number"},
        {"ip.src == eth.src",
         "column 11: 'eth.src' is bytes, and the left side is an IPv4 address"},
        {"ip.ttl[0] == 1",
         "column 1: 'ip.ttl' is a number and cannot be sliced; use & to select bits"},
        {"eth.src[0:0]", "column 8: the length of a slice must be positive"},
        {"eth.src[a]", "column 8: write a slice as [offset], [offset:length] or [first-last]"},
        {"eth.src[0:3", "column 8: missing ]"},
        {"eth.src & 1", "column 1: 'eth.src' is bytes, and & needs a number"},
        {"infiniband.bth.a & 1",
         "column 1: 'infiniband.bth.a' is true or false, and & needs a number"},
        {"ip.ttl & x", "column 10: 'x' is not an unsigned number"},
        {"ip.ttl contains 1",
         "column 1: 'ip.ttl' is a number: contains and matches need bytes or text"},
        {"frame matches abc",
         "column 15: write a regular expression in quotation marks, best as r\"...\""},
        {"frame matches \"(\"", "column 15: not a regular expression: missing closing "
                                "parenthesis (after 1 characters)"},
        {"frame matches \"\\d\"",
         "column 16: unknown escape sequence; write a regular expression as r\"...\""},
        {"frame contains \"abc", "column 16: missing closing quotation mark"},
        {"ip.ttl == 'ab'", "column 11: single quotation marks must enclose exactly one character"},
        {"ip.ttl in 1", "column 11: write a set in braces: {1, 2..5}"},
        {"ip.ttl in {1 2}", "column 14: expected a comma between the values of a set"},
        {"ip.ttl in {}", "column 12: unexpected '}'"},
        {"ip.ttl in {1,2", "column 15: unexpected end of the expression"},
        {"any ip", "column 1: any and all must be followed by a comparison"},
        {std::string(200, '('), "column 101: more than 100 nested parentheses and nots"},
        {std::string(200, '!'), "column 101: more than 100 nested parentheses and nots"},
        {std::string(70'000, ' '), "column 65537: an expression can have at most 65536 bytes"},
    };
    for (const Row& row : rows)
        CHECK(first_line(row.expression) == row.message);
}

TEST_CASE("filter: a regular expression that takes for ever is given up on, and counted",
          "[filter]") {
    const std::string bytes(20'000, 'a');
    decode::FrameFacts frame;
    frame.bytes = std::as_bytes(std::span(bytes));
    frame.original_length = static_cast<std::uint32_t>(bytes.size());
    decode::Dissection dissection;
    decode::dissect_frame(frame, {}, dissection);
    const auto hostile = Filter::compile("frame matches \"(a+)+(b|c)\"");
    REQUIRE(hostile);
    CHECK_FALSE(hostile->matches(dissection));
    CHECK(hostile->patterns_given_up() == 1);
    const auto tame = Filter::compile("frame matches \"A{100}\"");
    REQUIRE(tame);
    CHECK(tame->matches(dissection));
    CHECK(tame->patterns_given_up() == 0);
}

TEST_CASE("filter: ten thousand alternatives are no deep recursion", "[filter]") {
    std::string expression = "ip.ttl == 1";
    while (expression.size() < 60'000)
        expression += " or ip.ttl == 2";
    const auto filter = Filter::compile(expression);
    REQUIRE(filter);
    decode::Dissection dissection;
    decode::dissect_frame({}, {}, dissection);
    CHECK_FALSE(filter->matches(dissection));
}
