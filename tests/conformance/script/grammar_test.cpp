// The TextMate grammar for editors is made of the language's own tables, so that it cannot grow
// old. VERIROCE_UPDATE_GOLDEN=1 test_script "grammar: *" writes it again.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "conformance/script/fault_line.hpp"
#include "conformance/script/mad_fields.hpp"
#include "conformance/script/script.hpp"
#include "conformance/script/words.hpp"
#include "dissector/wire/opcode.hpp"
#include "tests/text.hpp"

namespace veriroce::script::test {
namespace {

const std::string grammar_path =
    std::string(VERIROCE_SOURCE_DIR) + "/conformance/script/roce.tmLanguage.json";

// Words whose tables are rows of a parser. A new command has a new alternative in its variant,
// and belongs here as well.
constexpr std::string_view commands[] = {
    "post",  "recv",      "mr",       "mw",      "dereg",   "write",      "cq",
    "srq",   "arm",       "rearm",    "modify",  "done",    "state",      "event",
    "quiet", "reconnect", "notified", "counter", "answers", "congestion", "cm"};
static_assert(std::size(commands) == std::variant_size_v<Command::variant>);

using WordSet = std::set<std::string_view>;

template <typename... Lists>
WordSet joined(const Lists&... lists) {
    WordSet words;
    (words.insert(std::begin(lists), std::end(lists)), ...);
    return words;
}

// Kinds of packets, operations and whole messages: one colour.
WordSet kinds() {
    WordSet words =
        joined(message_names(), wire::kNamesOf<wire::WrOpcode>,
               WordSet{"ACK", "NAK", "RNR_NAK", "RAW", "FRAGMENT", "PFC"}, management_names());
    for (const wire::Service service : {wire::Service::Rc, wire::Service::Uc, wire::Service::Ud})
        words.merge(joined(opcode_names(service)));
    return words;
}

WordSet enumerators() {
    WordSet words =
        joined(wire::kNamesOf<wire::QpState>, completion_statuses(), wire::kNamesOf<wire::WcOpcode>,
               wire::kNamesOf<wire::EventType>, wire::kNamesOf<wire::ConnectionEvent>);
    for (const wire::NakCode code :
         {wire::NakCode::PsnSequence, wire::NakCode::InvalidRequest, wire::NakCode::RemoteAccess,
          wire::NakCode::RemoteOperational, wire::NakCode::InvalidRdRequest})
        words.insert(name_of(code));
    for (const std::string_view word : {"RC", "UC", "UD", "MUST", "SHOULD", "INFO"})
        words.insert(word);
    for (const std::string_view kind : kinds())
        words.erase(kind);
    return words;
}

// A regular expression for whole words, as a JSON string holds it. The longest comes first: of
// `ip` and `ip.ttl` an editor takes what comes first.
std::string pattern(const WordSet& words, std::string_view before, std::string_view behind) {
    std::vector<std::string_view> ordered(words.begin(), words.end());
    std::ranges::sort(ordered, {}, [](std::string_view word) {
        return std::pair(-static_cast<std::ptrdiff_t>(word.size()), word);
    });
    std::string text(before);
    for (const std::string_view word : ordered) {
        if (word != ordered.front()) text += '|';
        for (const char c : word)
            text += c == '.' ? std::string(R"(\\.)") : std::string(1, c);
    }
    return text + std::string(behind);
}

std::string rule(std::string_view scope, std::string_view match) {
    return "    {\"name\": \"" + std::string(scope) + ".roce\", \"match\": \"" +
           std::string(match) + "\"}";
}

std::string words_rule(std::string_view scope, const WordSet& words,
                       std::string_view before = R"(\\b(?:)") {
    return rule(scope, pattern(words, before, R"re()(?![\\w.]))re"));
}

WordSet fields() {
    WordSet words = joined(field_names());
    for (const std::string_view message : management_names())
        words.merge(joined(mad_field_names(*management_attribute(message))));
    return words;
}

std::string grammar() {
    const WordSet values = joined(capabilities(), traits(), case_tags(), access_words(),
                                  wire::kNamesOf<PatternKind>, wire::kNamesOf<wire::DeviceCounter>,
                                  opcode_classes(), WordSet{"responder", "requester", "both"});
    WordSet clauses =
        joined(attribute_names(false),
               WordSet{"within", "after", "measure", "as", "exact", "when", "also", "until",
                       "refuses", "warn", "in", "rnr", "timeout", "listen", "accept", "reject",
                       "disconnect", "responder_resources", "initiator_depth"});
    const std::vector<std::string> rules{
        rule("comment.line.number-sign", "#.*$"),
        rule("string.quoted.double", R"re((?:hex)?\"[^\"]*\")re"),
        rule("keyword.operator.direction", R"(^\\s*(?:[a-z]\\w*(?:\\[\\w+\\])?\\s+)?[<>](?=\\s))"),
        words_rule("keyword.control.header", joined(header_words()), R"(^(?:)"),
        words_rule("keyword.control.statement", joined(statement_words()), R"(^\\s*(?:)"),
        words_rule("support.function.command", joined(commands, fault_action_names()),
                   R"((?<=dut|tester|fault|refuses)\\s+(?:)"),
        words_rule("entity.name.type.packet", kinds()),
        words_rule("constant.language.enumerator", enumerators()),
        rule("constant.numeric",
             R"(\\b(?:0x[0-9A-Fa-f]+|[0-9]+(?:\\.[0-9]+)?(?:ns|us|ms|s|KiB|MiB)?)\\b)"),
        rule("entity.name.tag.rule", R"(\\b[A-Z]{1,3}-[0-9]{2}\\b)"),
        words_rule("variable.parameter.field", fields()),
        words_rule("keyword.other.clause", clauses),
        words_rule("constant.other.word", values),
        rule("variable.other.binding", R"(\\{[a-z]\\w*\\})"),
    };
    std::string text = "{\n  \"name\": \"RoCE test\",\n  \"scopeName\": \"source.roce\",\n"
                       "  \"fileTypes\": [\"roce\", \"faults\"],\n  \"patterns\": [\n";
    for (const std::string& one : rules)
        text += one + (&one == &rules.back() ? "\n" : ",\n");
    return text + "  ]\n}\n";
}

} // namespace

TEST_CASE("grammar: the TextMate grammar is what the tables of words give", "[script]") {
    const std::string now = grammar();
    if (std::getenv("VERIROCE_UPDATE_GOLDEN") != nullptr) std::ofstream(grammar_path) << now;
    CHECK(house::read_text(grammar_path) == now);
}

TEST_CASE("grammar: it is JSON, its expressions are sound and find the words", "[script]") {
    // Python's expressions are those of editors but for look-behind of several lengths.
    const std::string command = "python3 - '" + grammar_path + R"(' <<'END'
import json, re, sys
grammar = json.load(open(sys.argv[1]))
def of(line):
    found = set()
    for rule in grammar['patterns']:
        match = rule['match'].replace('(?<=dut|tester|fault|refuses)', '')
        if re.search(match, line):
            found.add(rule['name'].split('.')[-2])
    return found
assert 'packet' in of('> SEND_ONLY  psn=0'), of('> SEND_ONLY  psn=0')
assert 'direction' in of('b[1] < ACK psn=0')
assert 'field' in of('> ACK ip.ttl=1')
assert 'header' in of('rule   RSP-02') and 'rule' in of('rule   RSP-02')
assert 'command' in of('dut    post SEND id=1')
assert 'enumerator' in of('dut    state ERR')
assert 'numeric' in of('wait 10ms')
assert of('# nothing') >= {'number-sign'}
assert 'packet' not in of('dut recv id=1')
END)";
    CHECK(std::system(command.c_str()) == 0);
}

} // namespace veriroce::script::test
