#include "conformance/rules/rules.hpp"

#include "conformance/rules/embedded.hpp"
#include "dissector/wire/nearest_word.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <ranges>
#include <set>
#include <utility>

namespace veriroce::rules {

namespace {

template <typename Enum>
struct Named {
    Enum value;
    std::string_view word;
};

constexpr std::array<Named<Level>, 3> kLevels{{
    {.value = Level::Must, .word = "MUST"},
    {.value = Level::Should, .word = "SHOULD"},
    {.value = Level::Info, .word = "INFO"},
}};

constexpr std::array<Named<Role>, 6> kRoles{{
    {.value = Role::Responder, .word = "responder"},
    {.value = Role::Requester, .word = "requester"},
    {.value = Role::Both, .word = "both"},
    {.value = Role::NotificationPoint, .word = "np"},
    {.value = Role::ReactionPoint, .word = "rp"},
    {.value = Role::Cm, .word = "cm"},
}};

constexpr std::array<Named<Observer>, 3> kObservers{{
    {.value = Observer::Passive, .word = "passive"},
    {.value = Observer::Active, .word = "active"},
    {.value = Observer::Host, .word = "host"},
}};

// The statements whose numbers are certain. The catalogue may cite no others.
constexpr std::array<std::string_view, 10> kCertainClauses{
    "C9-88",  "C9-92",  "C9-94",      "C9-105",  "C9-110",
    "C9-140", "C9-148", "C10-93.1.1", "oA19-14", "oA19-15",
};
constexpr std::string_view kAnnexPrefix = "CA17-";
constexpr unsigned kAnnexStatements = 46;

constexpr std::array<std::string_view, 7> kColumns{
    "id", "level", "role", "observer", "clause", "title", "text",
};
using Fields = std::array<std::string_view, kColumns.size()>;

template <typename Enum, std::size_t N>
std::string_view word_in(const std::array<Named<Enum>, N>& table, Enum value) {
    const auto row = std::ranges::find(table, value, &Named<Enum>::value);
    assert(row != table.end());
    return row->word;
}

template <typename Enum, std::size_t N>
std::optional<Enum> value_in(const std::array<Named<Enum>, N>& table, std::string_view word) {
    const auto row = std::ranges::find(table, word, &Named<Enum>::word);
    if (row == table.end()) return std::nullopt;
    return row->value;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

// GROUP-number: capitals and digits that begin with a capital, a hyphen, digits.
bool is_id(std::string_view word) {
    const auto hyphen = word.find('-');
    if (hyphen == std::string_view::npos || hyphen == 0 || hyphen + 1 == word.size()) return false;
    const auto group = word.substr(0, hyphen);
    return is_capital(group.front()) &&
           std::ranges::all_of(group, [](char c) { return is_capital(c) || is_digit(c); }) &&
           std::ranges::all_of(word.substr(hyphen + 1), is_digit);
}

bool is_certain(std::string_view clause) {
    if (std::ranges::find(kCertainClauses, clause) != kCertainClauses.end()) return true;
    if (!clause.starts_with(kAnnexPrefix)) return false;
    clause.remove_prefix(kAnnexPrefix.size());
    if (clause.empty() || clause.front() == '0') return false;
    unsigned number = 0;
    const auto [end, error] = std::from_chars(clause.data(), clause.data() + clause.size(), number);
    return error == std::errc{} && end == clause.data() + clause.size() && number >= 1 &&
           number <= kAnnexStatements;
}

std::string quoted(std::string_view word) {
    return "'" + std::string(word) + "'";
}

// "unknown level 'MSUT', did you mean 'MUST'?"
template <typename Enum, std::size_t N>
std::string unknown(std::string_view column, std::string_view word,
                    const std::array<Named<Enum>, N>& table) {
    std::string message = "unknown " + std::string(column) + " " + quoted(word);
    const auto meant = wire::nearest_word(word, table | std::views::transform(&Named<Enum>::word));
    if (meant) message += ", did you mean " + quoted(*meant) + "?";
    return message;
}

std::expected<Fields, std::string> split(std::string_view line) {
    Fields fields;
    std::size_t found = 0;
    for (const auto part : std::views::split(line, '\t')) {
        if (found < fields.size()) fields[found] = std::string_view(part.begin(), part.end());
        ++found;
    }
    if (found != fields.size()) {
        return std::unexpected("expected " + std::to_string(fields.size()) +
                               " columns separated by tabs, got " + std::to_string(found));
    }
    for (std::size_t i = 0; i < fields.size(); ++i) {
        if (fields[i].empty()) {
            return std::unexpected("the column " + quoted(kColumns[i]) + " is empty");
        }
    }
    return fields;
}

std::expected<std::string_view, std::string> clause_of(std::string_view word) {
    if (word == "-") return std::string_view{};
    for (const auto part : std::views::split(word, ' ')) {
        const std::string_view clause(part.begin(), part.end());
        if (!is_certain(clause)) {
            return std::unexpected("the clause " + quoted(clause) +
                                   " is not in the list of certain clauses");
        }
    }
    return word;
}

std::expected<Rule, std::string> rule_of(std::string_view line) {
    const auto fields = split(line);
    if (!fields) return std::unexpected(fields.error());
    const auto& [id, level_word, role_word, observer_word, clause_word, title, text] = *fields;
    if (!is_id(id)) {
        return std::unexpected("the id " + quoted(id) + " is not of the form GROUP-number");
    }
    const auto level = level_named(level_word);
    if (!level) return std::unexpected(unknown("level", level_word, kLevels));
    const auto role = role_named(role_word);
    if (!role) return std::unexpected(unknown("role", role_word, kRoles));
    const auto observer = observer_named(observer_word);
    if (!observer) return std::unexpected(unknown("observer", observer_word, kObservers));
    const auto clause = clause_of(clause_word);
    if (!clause) return std::unexpected(clause.error());
    if (title.size() > kMaxTitleBytes) {
        return std::unexpected("the title of " + std::string(id) + " has " +
                               std::to_string(title.size()) + " bytes, at most " +
                               std::to_string(kMaxTitleBytes) + " are allowed");
    }
    return Rule{.id = id,
                .level = *level,
                .role = *role,
                .observer = *observer,
                .clause = *clause,
                .title = title,
                .text = text};
}

} // namespace

std::string_view word(Level level) {
    return word_in(kLevels, level);
}
std::string_view word(Role role) {
    return word_in(kRoles, role);
}
std::string_view word(Observer observer) {
    return word_in(kObservers, observer);
}

std::optional<Level> level_named(std::string_view word) {
    return value_in(kLevels, word);
}
std::optional<Role> role_named(std::string_view word) {
    return value_in(kRoles, word);
}
std::optional<Observer> observer_named(std::string_view word) {
    return value_in(kObservers, word);
}

Catalogue::Catalogue(std::vector<Rule> rules) : rules_(std::move(rules)) {
    const auto id = [this](std::size_t index) { return rules_[index].id; };
    by_id_.reserve(rules_.size());
    for (std::size_t index = 0; index < rules_.size(); ++index)
        by_id_.push_back(index);
    std::ranges::sort(by_id_, {}, id);
    assert(std::ranges::adjacent_find(by_id_, {}, id) == by_id_.end());
}

std::optional<std::reference_wrapper<const Rule>> Catalogue::find(std::string_view id) const {
    const auto found = std::ranges::lower_bound(
        by_id_, id, {}, [this](std::size_t index) { return rules_[index].id; });
    if (found == by_id_.end() || rules_[*found].id != id) return std::nullopt;
    return std::cref(rules_[*found]);
}

const Rule& Catalogue::at(std::string_view id) const {
    const auto found = find(id);
    assert(found && "the catalogue has this rule");
    return *found;
}

std::optional<std::string_view> Catalogue::nearest(std::string_view id) const {
    return wire::nearest_word(id, rules_ | std::views::transform(&Rule::id));
}

std::vector<std::string_view> Catalogue::groups() const {
    std::vector<std::string_view> groups;
    for (const auto& rule : rules_) {
        if (std::ranges::find(groups, rule.group()) == groups.end()) {
            groups.push_back(rule.group());
        }
    }
    return groups;
}

std::expected<Catalogue, Error> parse(std::string_view text) {
    std::vector<Rule> rules;
    std::set<std::string_view> seen;
    std::size_t number = 0;
    while (!text.empty()) {
        ++number;
        const auto end = text.find('\n');
        const auto line = text.substr(0, end);
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.empty() || line.starts_with('#')) continue;
        if (line.ends_with('\r')) {
            return std::unexpected(
                Error{.line = number, .message = "the line ends with a carriage return"});
        }
        const auto rule = rule_of(line);
        if (!rule) return std::unexpected(Error{.line = number, .message = rule.error()});
        if (!seen.insert(rule->id).second) {
            return std::unexpected(
                Error{.line = number, .message = "duplicate id " + quoted(rule->id)});
        }
        rules.push_back(*rule);
    }
    if (rules.empty())
        return std::unexpected(Error{.line = number, .message = "the catalogue contains no rules"});
    return Catalogue(std::move(rules));
}

const Catalogue& catalogue() {
    static const Catalogue built = [] {
        auto parsed = parse(embedded_catalogue());
        assert(parsed && "the catalogue was checked by test_rules before it was released");
        return std::move(*parsed);
    }();
    return built;
}

std::string unknown_rule(std::string_view id) {
    std::string text = "unknown rule '" + std::string(id) + "'";
    if (const auto near = catalogue().nearest(id)) {
        text += "; did you mean '" + std::string(*near) + "'?";
    }
    return text;
}

} // namespace veriroce::rules
