// Every construct of the language has an example in the reference and is part of its grammar. The
// test finds the constructs by asking the compiler: it tries each word of the compiler's source at
// each place, and a word that is not reported as unknown is a construct.
#include <cctype>
#include <map>
#include <set>

#include "conformance/script/fault_line.hpp"
#include "conformance/script/words.hpp"
#include "tests/conformance/script/pages.hpp"
#include "tests/conformance/script/text.hpp"

namespace veriroce::script::tests {
namespace {

using WordSet = std::set<std::string, std::less<>>;

bool word_letter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

// Lower-case words in quotes in the compiler's source, and the fields of packets.
WordSet vocabulary() {
    WordSet words;
    for (const std::string_view field : field_names())
        words.emplace(field);
    const std::filesystem::path room =
        std::filesystem::path(VERIROCE_SOURCE_DIR) / "conformance/script";
    for (const auto& entry : std::filesystem::directory_iterator(room)) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = house::read_text(entry.path());
        for (std::size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at)) {
            const std::size_t begin = ++at;
            while (at < text.size() && word_letter(text[at]))
                ++at;
            const bool whole = at < text.size() && text[at] == '"' && at > begin &&
                               std::islower(static_cast<unsigned char>(text[begin])) != 0;
            if (whole && text[at - 1] != '.') words.insert(text.substr(begin, at - begin));
        }
    }
    return words;
}

// A place where words may appear: the text before it, the compiler's messages for an unknown word
// (`@` is the word), and the kind of lines in which to look for an example.
struct Place {
    std::string kind;   // of the lines whose words are examples
    std::string before; // of the line
    std::vector<std::string> unknown;
    bool header = false;
    bool alone = false; // a word without a value is asked about as well
};

const std::string names_there =
    "dut mr r len=64\ndut cq c depth=4\ndut srq s depth=4\n> SEND_ONLY as first\n";

bool knows(const Place& place, const std::string& word, std::string_view value = "=1") {
    const std::string line = place.before + word + std::string(value) + "\n";
    const std::string text =
        place.header ? with_header("quiet\n", line) : with_header(names_there + line);
    const auto loaded = compile("group/x.roce", text);
    const auto called_unknown = [&](std::string unknown) {
        if (const auto at = unknown.find('@'); at != std::string::npos)
            unknown.replace(at, 1, word);
        return !loaded && std::ranges::any_of(loaded.error(), [&](const Diagnostic& wrong) {
            return wrong.message.find(unknown) != std::string::npos;
        });
    };
    if (std::ranges::none_of(place.unknown, called_unknown)) return true;
    return place.alone && !value.empty() && knows(place, word, "");
}

// How a command's line begins, up to where its options may stand; commands without options are not
// here.
const std::map<std::string, std::string, std::less<>> beginnings{
    {"post", "SEND"},      {"recv", ""},      {"mr", "x"},    {"mw", "x"},
    {"cq", "x"},           {"srq", "x"},      {"rearm", "s"}, {"arm", "c"},
    {"reconnect", ""},     {"done", "send"},  {"modify", ""}, {"state", "RTS"},
    {"event", "QP_FATAL"}, {"notified", "c"}, {"quiet", "c"}, {"congestion", ""},
    {"cm", "accept"}};
const WordSet without_options{"dereg", "write", "counter", "answers", "refuses"};

std::vector<Place> places() {
    std::vector<Place> all{
        {"header", "", {"unknown header line '@'", "expected a blank line"}, true},
        {"qp", "qp ", {"'qp' has no option '@'"}, true},
        {"statement", "", {"unknown statement '@'", "'@' is a header line"}},
        {"dut", "dut ", {"the DUT has no command '@'"}},
        {"tester", "tester ", {"the tester has no command '@'"}},
        {">", "> SEND_ONLY ", {"unknown field '@'"}, false, true},
        {"<", "< SEND_ONLY ", {"unknown field '@'"}},
        {"> FRAGMENT", "> FRAGMENT of first ", {"'FRAGMENT' has no option '@'"}},
        {"> PFC", "> PFC ", {"'PFC' has no option '@'"}},
        {"fault", "fault ", {"unknown fault action '@'"}},
        {"fault duplicate", "fault duplicate ", {"not '@'"}},
        {"fault corrupt", "fault corrupt ", {"not '@'"}},
        {"when", "fault drop when ", {"unknown selector '@'"}}};
    for (const auto& [command, beginning] : beginnings) {
        const std::string what = command == "modify" ? command : "dut " + command;
        all.push_back({"dut " + command,
                       "dut " + command + " " + beginning + " ",
                       {"'" + what + "' has no option '@'"}});
    }
    return all;
}

// --- what the examples show ---

struct Shown {
    std::map<std::string, WordSet, std::less<>> words; // by the kind of line

    // A field is shown by a line in either direction, an attribute by `qp`, `modify` or
    // `reconnect`.
    [[nodiscard]] WordSet at(const std::string& kind) const {
        WordSet shown;
        const auto take = [&](const std::string& from) {
            const auto found = words.find(from);
            if (found != words.end()) shown.insert(found->second.begin(), found->second.end());
        };
        take(kind);
        if (kind == ">") take("<");
        if (kind == "<") take(">");
        if (kind == "dut modify" || kind == "dut reconnect") take("qp");
        if (kind == "dut reconnect") take("dut modify");
        if (kind == "qp") take("dut modify");
        return shown;
    }

    void note(const std::string& kind, std::string_view token) {
        std::size_t end = 0;
        while (end < token.size() && word_letter(token[end]))
            ++end;
        if (end > 0) words[kind].insert(std::string(token.substr(0, end)));
    }
};

std::vector<std::string> tokens_of(std::string_view line) {
    std::vector<std::string> tokens;
    std::string token;
    bool quoted = false;
    for (const char c : std::string(line) + ' ') {
        if (c == '#' && !quoted) break;
        if (c == '"') quoted = !quoted;
        if (c != ' ' || quoted) {
            token += c;
        } else if (!token.empty()) {
            tokens.push_back(std::exchange(token, {}));
        }
    }
    if (!token.empty()) tokens.push_back(token);
    return tokens;
}

void note_fault(Shown& shown, const std::vector<std::string>& tokens, std::size_t at) {
    shown.note("fault", tokens.at(at));
    std::string kind = "fault " + tokens.at(at).substr(0, tokens.at(at).find('='));
    for (++at; at < tokens.size(); ++at) {
        if (tokens[at] == "when") {
            shown.note(kind, tokens[at]);
            shown.note("when", tokens[at]);
        }
        if (tokens[at] == "when" || tokens[at] == "until")
            kind = "when";
        else
            shown.note(kind, tokens[at]);
    }
}

void note_line(Shown& shown, std::vector<std::string> tokens) {
    const bool other_qp = tokens.size() > 1 && (tokens[1] == ">" || tokens[1] == "<");
    if (other_qp) tokens.erase(tokens.begin());
    std::string kind = tokens.front();
    std::size_t at = 1;
    if (kind == ">" || kind == "<") {
        if (tokens.at(1) == "FRAGMENT" || tokens[1] == "PFC") kind += " " + tokens[1];
        if (tokens[1] == "=") shown.note("<", "same");
        at = 2;
    } else if (kind == "fault") {
        shown.note("statement", kind);
        return note_fault(shown, tokens, 1);
    } else if (kind == "dut" || kind == "tester") {
        const bool of_header = tokens.at(1) == "qp" || tokens[1] == "address";
        shown.note(of_header ? "header" : "statement", kind);
        shown.note(kind, tokens[1]);
        at = tokens[1] == "refuses" ? 3 : 2;
        kind = tokens[1] == "qp" ? "qp" : "dut " + tokens.at(at - 1);
    } else {
        shown.note(contains(header_words(), kind) ? "header" : "statement", kind);
    }
    for (; at < tokens.size(); ++at)
        shown.note(kind, tokens[at]);
}

Shown shown_in(const std::string& page) {
    Shown shown;
    for (const std::string& example : blocks(page, "roce")) {
        for (const auto line : house::lines(example)) {
            auto tokens = tokens_of(line);
            if (!tokens.empty()) note_line(shown, std::move(tokens));
        }
    }
    for (const std::string& plan : blocks(page, "faults")) {
        for (const auto line : house::lines(plan)) {
            const auto tokens = tokens_of(line);
            if (!tokens.empty()) note_fault(shown, tokens, 0);
        }
    }
    return shown;
}

// The words that the compiler knows at a place.
WordSet known_at(const Place& place, const WordSet& words) {
    WordSet known;
    for (const std::string& word : words) {
        if (knows(place, word)) known.insert(word);
    }
    return known;
}

} // namespace

TEST_CASE("constructs: each has an example, and stands in the grammar", "[script]") {
    const std::string page = reference();
    const Shown shown = shown_in(page);
    const auto grammars = blocks(page, "ebnf");
    REQUIRE(grammars.size() == 1);
    const WordSet words = vocabulary();
    REQUIRE(words.size() > 100);
    std::size_t constructs = 0;
    for (const Place& place : places()) {
        const WordSet known = known_at(place, words);
        CHECK_FALSE(known.empty());
        const WordSet examples = shown.at(place.kind);
        for (const std::string& word : known) {
            INFO("'" << word << "' behind '" << place.before << "'");
            CHECK(examples.contains(word));
            CHECK(grammars.front().find("\"" + word + "\"") != std::string::npos);
            ++constructs;
        }
    }
    CHECK(constructs > 200);
}

TEST_CASE("constructs: the compiler is asked about every command", "[script]") {
    const WordSet words = vocabulary();
    for (const Place& place : places()) {
        if (place.kind != "dut" && place.kind != "tester") continue;
        for (const std::string& command : known_at(place, words)) {
            INFO("say in `beginnings` how a line with '" << command << "' begins");
            CHECK((beginnings.contains(command) || without_options.contains(command)));
        }
    }
}

TEST_CASE("constructs: words that are no option have examples too", "[script]") {
    const std::string page = reference();
    std::string examples;
    for (const std::string& example : blocks(page, "roce"))
        examples += example;
    WordSet wanted{
        "ACK ",    "NAK ",  "RNR_NAK ", "CM_",  "RAW ",     "< = ",   "or warn \"", "repeat 2",
        " in 1..", "exact", "abs:",     "rnr(", "timeout(", "unused", "dut+1",      "== "};
    for (const Words list : {message_names(), Words(wire::kNamesOf<PatternKind>)}) {
        for (const std::string_view word : list)
            wanted.emplace(word);
    }
    for (const std::string_view kind : {"good", "bad", "swapped", "zero", "unmasked"})
        wanted.insert("icrc=" + std::string(kind));
    for (const std::string& word : wanted) {
        INFO(word);
        const bool icrc_in_braces =
            word.starts_with("icrc=") && examples.find(word.substr(5)) != std::string::npos;
        CHECK((icrc_in_braces || examples.find(word) != std::string::npos));
    }
}

} // namespace veriroce::script::tests
