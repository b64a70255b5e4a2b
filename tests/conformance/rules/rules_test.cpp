// The catalogue's file format, and the catalogue that is built into the program.
#include "conformance/rules/embedded.hpp"
#include "conformance/rules/rules.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace veriroce::rules;
using Catch::Matchers::Contains;

const std::string good_line =
    "RSP-02\tMUST\tresponder\tpassive\tC9-92 CA17-24\tA title\tA text, with words.\n";

// The error of a catalogue whose third line is the one given.
Error error_of(const std::string& line) {
    const std::string text = "# a comment\n\n" + line;
    const auto parsed = parse(text);
    REQUIRE_FALSE(parsed.has_value());
    return parsed.error();
}

// good_line with one column replaced.
std::string with_column(std::size_t column, std::string_view value) {
    std::string line;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < 7; ++i) {
        const auto end = good_line.find_first_of("\t\n", begin);
        line += i == column ? std::string(value) : good_line.substr(begin, end - begin);
        line += i == 6 ? '\n' : '\t';
        begin = end + 1;
    }
    return line;
}

struct BadLine {
    std::string line;
    std::string_view message;
};

// Typed from the list of rules, not from the catalogue. Every later catalogue must have these
// rules.
struct Group {
    std::string_view name;
    unsigned rules;
};
constexpr std::array<Group, 20> groups{{
    {"ENC", 16}, {"CRC", 10}, {"BTH", 20}, {"STA", 12}, {"RSP", 16}, {"OPC", 10},  {"LEN", 13},
    {"KEY", 14}, {"RNR", 15}, {"RDR", 15}, {"ATM", 11}, {"ACK", 12}, {"REQ", 35},  {"TMO", 8},
    {"CNP", 13}, {"CM", 14},  {"EXT", 6},  {"ROB", 9},  {"N", 38},   {"CA17", 46},
}};

std::string id_in(std::string_view group, unsigned number) {
    const bool padded = number < 10 && group != "CA17";
    return std::string(group) + (padded ? "-0" : "-") + std::to_string(number);
}

} // namespace

TEST_CASE("rules: a line becomes a rule with all its columns", "[rules]") {
    const auto parsed = parse(good_line);
    REQUIRE(parsed.has_value());
    REQUIRE(parsed->rules().size() == 1);
    const Rule& rule = parsed->at("RSP-02");
    CHECK(rule.level == Level::Must);
    CHECK(rule.role == Role::Responder);
    CHECK(rule.observer == Observer::Passive);
    CHECK(rule.clause == "C9-92 CA17-24");
    CHECK(rule.title == "A title");
    CHECK(rule.text == "A text, with words.");
    CHECK(rule.group() == "RSP");
}

TEST_CASE("rules: a hyphen means no clause, and the last line end may be missing", "[rules]") {
    const std::string line = with_column(4, "-");
    const auto parsed = parse(std::string_view(line).substr(0, line.size() - 1));
    REQUIRE(parsed.has_value());
    CHECK(parsed->at("RSP-02").clause.empty());
    CHECK(parsed->at("RSP-02").text == "A text, with words.");
}

TEST_CASE("rules: every kind of malformed line is rejected with its number and reason", "[rules]") {
    const std::string long_title(91, 'x');
    const std::vector<BadLine> bad_lines{
        {"RSP-02\tMUST\n", "expected 7 columns separated by tabs, got 2"},
        {with_column(6, "one\ttwo"), "expected 7 columns separated by tabs, got 8"},
        {with_column(0, ""), "the column 'id' is empty"},
        {with_column(5, ""), "the column 'title' is empty"},
        {with_column(6, ""), "the column 'text' is empty"},
        {with_column(0, "RSP"), "the id 'RSP' is not of the form GROUP-number"},
        {with_column(0, "-02"), "the id '-02' is not of the form GROUP-number"},
        {with_column(0, "RSP-"), "the id 'RSP-' is not of the form GROUP-number"},
        {with_column(0, "rsp-02"), "the id 'rsp-02' is not of the form GROUP-number"},
        {with_column(0, "RSP-2x"), "the id 'RSP-2x' is not of the form GROUP-number"},
        {with_column(1, "MSUT"), "unknown level 'MSUT', did you mean 'MUST'?"},
        {with_column(1, "whatever"), "unknown level 'whatever'"},
        {with_column(2, "respond"), "unknown role 'respond', did you mean 'responder'?"},
        {with_column(3, "activ"), "unknown observer 'activ', did you mean 'active'?"},
        {with_column(4, "C9-999"), "the clause 'C9-999' is not in the list of certain clauses"},
        {with_column(4, "CA17-47"), "the clause 'CA17-47' is not in the list of certain clauses"},
        {with_column(4, "CA17-07"), "the clause 'CA17-07' is not in the list of certain clauses"},
        {with_column(4, "CA17-7x"), "the clause 'CA17-7x' is not in the list of certain clauses"},
        {with_column(4, "CA17-7  CA17-8"), "the clause '' is not in the list of certain clauses"},
        {with_column(5, long_title), "the title of RSP-02 has 91 bytes, at most 90 are allowed"},
        {good_line.substr(0, good_line.size() - 1) + "\r\n",
         "the line ends with a carriage return"},
    };
    for (const auto& [line, message] : bad_lines) {
        const Error error = error_of(line);
        CHECK(error.message == message);
        CHECK(error.line == 3);
    }
}

TEST_CASE("rules: a duplicate id is rejected at its second line", "[rules]") {
    const Error error = error_of(good_line + good_line);
    CHECK(error.message == "duplicate id 'RSP-02'");
    CHECK(error.line == 4);
}

TEST_CASE("rules: a catalogue without rules is an error", "[rules]") {
    CHECK(parse("").error().message == "the catalogue contains no rules");
    CHECK(error_of("# nothing\n").message == "the catalogue contains no rules");
}

TEST_CASE("rules: each word names its value, and each value has its word", "[rules]") {
    for (const auto level : {Level::Must, Level::Should, Level::Info})
        CHECK(level_named(word(level)) == level);
    for (const auto role : {Role::Responder, Role::Requester, Role::Both, Role::NotificationPoint,
                            Role::ReactionPoint, Role::Cm})
        CHECK(role_named(word(role)) == role);
    for (const auto observer : {Observer::Passive, Observer::Active, Observer::Host})
        CHECK(observer_named(word(observer)) == observer);
    CHECK_FALSE(level_named("must").has_value());
}

TEST_CASE("rules: the built-in catalogue has no error", "[rules]") {
    const auto parsed = parse(embedded_catalogue());
    if (!parsed) FAIL("line " << parsed.error().line << ": " << parsed.error().message);
    CHECK(parsed->rules().size() == catalogue().rules().size());
}

TEST_CASE("rules: every group has its rules, numbered without gaps", "[rules]") {
    std::vector<std::string_view> names;
    unsigned total = 0;
    for (const auto& [group, rules] : groups) {
        names.push_back(group);
        total += rules;
        for (unsigned number = 1; number <= rules; ++number) {
            INFO(id_in(group, number));
            CHECK(catalogue().contains(id_in(group, number)));
        }
        const auto found = std::ranges::count(catalogue().rules(), group, &Rule::group);
        CHECK(catalogue().contains(id_in(group, static_cast<unsigned>(found))));
        CHECK_FALSE(catalogue().contains(id_in(group, static_cast<unsigned>(found) + 1)));
        CHECK(found >= rules);
    }
    CHECK(total == 249 + 38 + 46);
    CHECK(catalogue().groups() == names);
}

TEST_CASE("rules: ids and titles are unique and texts are sentences", "[rules]") {
    std::set<std::string_view> ids;
    std::set<std::string_view> titles;
    for (const Rule& rule : catalogue().rules()) {
        INFO(rule.id);
        CHECK(ids.insert(rule.id).second);
        CHECK(titles.insert(rule.title).second);
        CHECK(rule.text.size() > 30);
        CHECK(rule.text.ends_with('.'));
        CHECK_FALSE(rule.title.ends_with('.'));
        CHECK(&catalogue().at(rule.id) == &rule);
    }
}

TEST_CASE("rules: every statement of Annex A17 has its own rule", "[rules]") {
    for (unsigned number = 1; number <= 46; ++number) {
        const auto id = "CA17-" + std::to_string(number);
        const auto rule = catalogue().find(id);
        REQUIRE(rule.has_value());
        CHECK(rule->get().clause == id);
    }
    CHECK(catalogue().at("CA17-46").level == Level::Should);
}

TEST_CASE("rules: a text refers only to rules that exist", "[rules]") {
    const std::regex reference(R"(\b[A-Z]+[0-9]*-[0-9]+\b)");
    std::size_t references = 0;
    for (const Rule& rule : catalogue().rules()) {
        const std::string text(rule.text);
        for (std::sregex_iterator match(text.begin(), text.end(), reference), end; match != end;
             ++match) {
            const std::string id = match->str();
            if (id == "CRC-32") continue; // the checksum
            INFO(rule.id << " names " << id);
            CHECK(catalogue().contains(id));
            CHECK(id != rule.id);
            ++references;
        }
    }
    CHECK(references > 15);
}

// Where a first reading of the standard would fail good hardware, the catalogue must not.
TEST_CASE("rules: corrected levels stay corrected", "[rules]") {
    const auto level = [](std::string_view id) { return catalogue().at(id).level; };
    for (const auto* id : {"RDR-06", "REQ-05", "REQ-15", "REQ-33", "ATM-07", "STA-05"}) {
        INFO(id);
        CHECK(level(id) == Level::Info);
    }
    for (const auto* id : {"RNR-04", "RDR-10", "RDR-13", "RDR-15", "CNP-03", "CNP-04", "ACK-10",
                           "REQ-29", "STA-06"}) {
        INFO(id);
        CHECK(level(id) == Level::Should);
    }
    for (const auto* id : {"BTH-17", "RNR-15", "RSP-10", "ENC-07", "ENC-09", "RSP-03", "TMO-03"}) {
        INFO(id);
        CHECK(level(id) == Level::Must);
    }
}

TEST_CASE("rules: corrected texts stay corrected", "[rules]") {
    const auto text = [](std::string_view id) { return std::string(catalogue().at(id).text); };
    CHECK_THAT(text("RSP-10"), Contains("SHOULD: a plain ACK does not carry the PSN of a READ"));
    CHECK_THAT(text("RSP-10"), Contains("resent READ response"));
    CHECK_THAT(text("RDR-06"), Contains("MIDDLE or LAST"));
    CHECK_THAT(text("KEY-14"), Contains("outside the range"));
    CHECK_THAT(text("KEY-14"), Contains("INFO: the content of the target buffer"));
    CHECK_THAT(text("REQ-02"), Contains("8,388,608"));
    CHECK_THAT(text("CNP-02"), Contains("P_Key of the marked packet"));
    CHECK_THAT(text("CNP-02"), Contains("SHOULD: BECN is 1"));
    CHECK_THAT(text("CM-03"), Contains("REP.initiator_depth is at most REQ.responder_resources"));
    CHECK_THAT(text("CM-05"), Contains("Silence, MRA and REJ 10"));
    CHECK_THAT(text("RDR-03"), Contains("in FIRST may leave out the READ itself"));
    CHECK_THAT(text("CRC-02"), Contains("IP may drop a packet with a wrong header checksum"));
    CHECK_THAT(text("BTH-12"), Contains("NAK Invalid Request"));
}

TEST_CASE("rules: the clauses of the standard are cited at their rules", "[rules]") {
    const auto clause = [](std::string_view id) { return catalogue().at(id).clause; };
    CHECK(clause("LEN-08") == "C9-88");
    CHECK(clause("LEN-05") == "C9-94");
    CHECK(clause("RSP-10") == "C9-105");
    CHECK(clause("RDR-15") == "C9-110");
    CHECK(clause("TMO-01") == "C9-140");
    CHECK(clause("RDR-03") == "C9-148");
    CHECK(clause("EXT-04") == "oA19-14 oA19-15");
    CHECK(clause("RSP-03").empty());
}

TEST_CASE("rules: an unknown id is not found, and the nearest id is suggested", "[rules]") {
    CHECK_FALSE(catalogue().contains("RSP-99"));
    CHECK_FALSE(catalogue().find("").has_value());
    CHECK(catalogue().nearest("RSP-99") == "RSP-09");
    CHECK(catalogue().nearest("rsp-02") == "RSP-02");
    CHECK(catalogue().nearest("RPS-11") == "RSP-11");
    CHECK(catalogue().nearest("CA17-52") == "CA17-2");
    CHECK_FALSE(catalogue().nearest("something else").has_value());
    CHECK(unknown_rule("RSP-99") == "unknown rule 'RSP-99'; did you mean 'RSP-09'?");
    CHECK(unknown_rule("something else") == "unknown rule 'something else'");
}
