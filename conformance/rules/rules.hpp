// The rule catalogue: what a RoCEv2 RC device must do, as data. A rule exists once, in
// catalogue.tsv; engine, judge, cases and reports cite its id.
//
// parse() reads the text of a catalogue; catalogue() is the embedded one.
// Errors: parse() rejects a malformed line with its number and the reason.
// Source: the InfiniBand transport as this project reads it; see README.md for the columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace veriroce::rules {

// How binding the rule's strongest demand is: a breach of Must fails a device, one of Should is a
// warning. Info is behaviour that the standard leaves open: it is only recorded.
enum class Level : std::uint8_t { Must, Should, Info };

// Which side of a device the rule binds. Both: every device in every role.
enum class Role : std::uint8_t {
    Responder,
    Requester,
    Both,
    NotificationPoint, // np: receives marked packets, sends CNPs
    ReactionPoint,     // rp: receives CNPs, lowers its rate
    Cm,                // cm: connection management
};

// The two sides of a test: the device, and veriroce.
enum class Side : std::uint8_t { Dut, Tester };

// What it takes to see a breach. Passive: packets between two peers show it.
// Active: a tester must create the situation. Host: only the device's host shows it, in
// completions, memory, events or configuration.
enum class Observer : std::uint8_t { Passive, Active, Host };

// The words of the catalogue: MUST, responder, passive and so on.
std::string_view word(Level level);
std::string_view word(Role role);
std::string_view word(Observer observer);
std::optional<Level> level_named(std::string_view word);
std::optional<Role> role_named(std::string_view word);
std::optional<Observer> observer_named(std::string_view word);

inline constexpr std::size_t kMaxTitleBytes = 90;

// The views point into the text that was parsed.
struct Rule {
    std::string_view id; // GROUP-number, for example RSP-02; never reused for another rule
    Level level = Level::Must;
    Role role = Role::Both;
    Observer observer = Observer::Active;
    std::string_view clause; // certain statements of the standard, separated by blanks; or empty
    std::string_view title;  // a short sentence, at most max_title_bytes
    std::string_view text;   // what a device must do, and what else is allowed

    // The id up to its last hyphen: RSP, CA17.
    std::string_view group() const { return id.substr(0, id.rfind('-')); }
};

struct Error {
    std::size_t line = 0; // counted from 1
    std::string message;
};

class Catalogue {
  public:
    // The ids differ from each other.
    explicit Catalogue(std::vector<Rule> rules);

    std::span<const Rule> rules() const { return rules_; } // in the order of the file
    bool contains(std::string_view id) const { return find(id).has_value(); }
    std::optional<std::reference_wrapper<const Rule>> find(std::string_view id) const;
    const Rule& at(std::string_view id) const; // the id is known to exist

    // The id that a mistyped one probably means, if any is close.
    std::optional<std::string_view> nearest(std::string_view id) const;

    std::vector<std::string_view> groups() const; // in the order of the file

  private:
    std::vector<Rule> rules_;
    std::vector<std::size_t> by_id_; // indices into rules_, sorted by id
};

// text must outlive the catalogue. Seven columns separated by one tab; # begins a comment line.
std::expected<Catalogue, Error> parse(std::string_view text);

// The catalogue embedded in the program, parsed at the first call.
const Catalogue& catalogue();

// What users read who mistyped an id: "unknown rule 'RSP-99'; did you mean 'RSP-09'?"
std::string unknown_rule(std::string_view id);

} // namespace veriroce::rules
