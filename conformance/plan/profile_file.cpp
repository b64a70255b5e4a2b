// The text of a profile: YAML to values, every wrong word with its place.
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "conformance/plan/own_case.hpp"
#include "conformance/plan/profile.hpp"
#include "conformance/rules/rules.hpp"
#include "conformance/script/words.hpp"
#include "dissector/wire/nearest_word.hpp"

namespace veriroce::plan {

using interpreter::FindingKind;

namespace {

using namespace std::string_view_literals;
using Words = std::span<const std::string_view>;

constexpr std::array kProfileKeys{"profile"sv,    "unverified"sv, "drivers"sv,   "capabilities"sv,
                                  "lacks"sv,      "traits"sv,     "ack_timer"sv, "counters"sv,
                                  "time_scale"sv, "deviations"sv};
constexpr std::array kDeviationKeys{"rule"sv,   "case"sv,   "kind"sv,     "line"sv,
                                    "field"sv,  "reason"sv, "link"sv,     "firmware"sv,
                                    "kernel"sv, "until"sv,  "sometimes"sv};
constexpr std::array kExcusable{FindingKind::Missing,     FindingKind::Unexpected,
                                FindingKind::Mismatch,    FindingKind::Late,
                                FindingKind::Refused,     FindingKind::Violation,
                                FindingKind::Discouraged, FindingKind::Unanswering};
constexpr double kLargestScale = 100'000;
// A profile is a map of lists of maps: what nests deeper is none, and could exhaust the stack.
constexpr std::size_t kMaxNesting = 16;

// The words of a line of a script with one blank between them, without its comment.
std::string words_of(std::string_view line) {
    std::istringstream stream{std::string(line.substr(0, line.find(" #")))};
    std::string text;
    for (std::string word; stream >> word;)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

class Parser {
  public:
    explicit Parser(std::string_view path) : path_(path) {}

    std::expected<Profile, std::string> parse(std::string_view text) {
        if (text.size() > kMaxProfileBytes) {
            return std::unexpected(
                fmt::format("{}: longer than {} bytes\n", path_, kMaxProfileBytes));
        }
        if (const std::size_t at = too_deep(text); at != 0) {
            return std::unexpected(fmt::format("{}:{}: nested too deeply\n", path_, at));
        }
        try {
            whole(YAML::Load(std::string(text)));
        } catch (const YAML::Exception& error) {
            fail(error.mark, error.msg);
        }
        if (!errors_.empty()) return std::unexpected(std::move(errors_));
        return std::move(profile_);
    }

  private:
    // The first line on which brackets or dashes nest deeper than any profile; 0 if none.
    static std::size_t too_deep(std::string_view text) {
        std::size_t line = 1;
        std::size_t brackets = 0;
        std::size_t openers = 0; // "- - -" and "? ? ?" nest in one line
        for (std::size_t i = 0; i < text.size(); ++i) {
            const char c = text[i];
            if (c == '\n') {
                ++line;
                openers = 0;
            }
            if (c == '[' || c == '{') ++brackets;
            if ((c == ']' || c == '}') && brackets > 0) --brackets;
            const bool blank_behind =
                i + 1 < text.size() && (text[i + 1] == ' ' || text[i + 1] == '\t');
            if ((c == '-' || c == '?' || c == ':') && blank_behind) ++openers;
            if (brackets > kMaxNesting || openers > 4 * kMaxNesting) return line;
        }
        return 0;
    }

    void fail(const YAML::Mark& mark, std::string_view what) {
        errors_ += mark.is_null()
                       ? fmt::format("{}: {}\n", path_, what)
                       : fmt::format("{}:{}:{}: {}\n", path_, mark.line + 1, mark.column + 1, what);
    }
    void fail_word(const YAML::Node& node, std::string_view what, std::string_view word,
                   const std::vector<std::string_view>& known) {
        const auto near = wire::nearest_word(word, known);
        fail(node.Mark(), fmt::format("unknown {} '{}'{}", what, word,
                                      near ? fmt::format("; did you mean '{}'?", *near) : ""));
    }

    // Text of a node that has one; nothing, and an error, otherwise.
    std::optional<std::string> text_in(const YAML::Node& node, std::string_view key) {
        if (node.IsScalar() && !node.Scalar().empty()) return node.Scalar();
        fail(node.Mark(), fmt::format("'{}': expected text", key));
        return std::nullopt;
    }

    // Each key of a map once, and only those that are known.
    void each_key(const YAML::Node& map, Words known, std::string_view what,
                  const std::function<void(const std::string&, const YAML::Node&)>& take) {
        std::vector<std::string> seen;
        for (const auto& entry : map) {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (std::ranges::find(known, key) == known.end()) {
                fail_word(entry.first, what, key, {known.begin(), known.end()});
            } else if (std::ranges::find(seen, key) != seen.end()) {
                fail(entry.first.Mark(), fmt::format("duplicate key '{}'", key));
            } else {
                seen.push_back(key);
                take(key, entry.second);
            }
        }
    }

    void whole(const YAML::Node& root) {
        if (!root.IsMap())
            return fail(
                root.Mark(),
                "expected a map with the key 'profile'; see conformance/profiles/template.yaml");
        each_key(root, kProfileKeys, "key", [&](const std::string& key, const YAML::Node& value) {
            if (key == "profile") profile_.name = text_in(value, key).value_or("");
            if (key == "unverified") profile_.unverified = text_in(value, key).value_or("");
            if (key == "drivers") {
                each_value(value, key, [&](const YAML::Node& one) {
                    profile_.drivers.push_back(one.Scalar());
                });
            }
            if (key == "capabilities")
                words(value, profile_.capabilities, "capability", "capabilities", capabilities());
            if (key == "lacks")
                words(value, profile_.lacks, "capability", "capabilities", capabilities());
            if (key == "traits") words(value, profile_.traits, "trait", "traits", script::traits());
            if (key == "ack_timer") ack_timer(value);
            if (key == "counters") counters(value);
            if (key == "time_scale") time_scale(value);
            if (key == "deviations") deviations(value);
        });
        for (const std::string& word : profile_.lacks) {
            if (std::ranges::find(profile_.capabilities, word) == profile_.capabilities.end())
                continue;
            fail(root["lacks"].Mark(), fmt::format("'{}' is also in 'capabilities'", word));
        }
        if (profile_.name.empty() && errors_.empty()) {
            fail(root.Mark(), "the key 'profile' (the device's name) is missing");
        }
    }

    // What the testbed finds out about the link is not the device's.
    static std::vector<std::string_view> capabilities() {
        std::vector<std::string_view> all(script::capabilities().begin(),
                                          script::capabilities().end());
        std::erase_if(all, [](std::string_view one) {
            return one == "raw" || one == "hwtime" || script::contains(script::amounts(), one);
        });
        return all;
    }

    void words(const YAML::Node& list, std::vector<std::string>& into, std::string_view what,
               std::string_view many, Words known) {
        if (list.IsNull()) return;
        if (!list.IsSequence())
            return fail(list.Mark(), fmt::format("expected a list of {}", many));
        for (const YAML::Node& one : list) {
            const std::string word = one.IsScalar() ? one.Scalar() : "";
            if (std::ranges::find(known, word) == known.end()) {
                fail_word(one, what, word, {known.begin(), known.end()});
            } else {
                into.push_back(word);
            }
        }
    }

    void counters(const YAML::Node& map) {
        if (map.IsNull()) return;
        if (!map.IsMap())
            return fail(map.Mark(),
                        "expected a map from the contract's counter names to the device's");
        each_key(map, wire::kNamesOf<wire::DeviceCounter>, "counter",
                 [&](const std::string& key, const YAML::Node& value) {
                     const auto counter = wire::enum_by_name<wire::DeviceCounter>(key);
                     if (auto name = text_in(value, key)) profile_.counters[*counter] = *name;
                 });
    }

    // `adaptive` and `ignored` are traits; a map holds the floor.
    void ack_timer(const YAML::Node& node) {
        constexpr int largest = 31;
        int code = 0;
        if (node.IsScalar() && node.Scalar() == "adaptive") {
            profile_.traits.emplace_back("adaptive_retransmission");
        } else if (node.IsScalar() && node.Scalar() == "ignored") {
            profile_.traits.emplace_back("ack_timer_ignored");
        } else if (node.IsMap() && node.size() == 1 && node["floor"] &&
                   YAML::convert<int>::decode(node["floor"], code) && code >= 1 &&
                   code <= largest) {
            profile_.ack_timer_floor = static_cast<std::uint8_t>(code);
        } else {
            fail(node.Mark(), "'ack_timer' is adaptive, ignored, or {floor: N}, N a timeout code "
                              "from 1 to 31");
        }
    }

    void time_scale(const YAML::Node& node) {
        double value = 0;
        const bool number = YAML::convert<double>::decode(node, value);
        if (number && value >= 0.1 && value <= kLargestScale) {
            profile_.time_scale = value;
        } else {
            fail(node.Mark(),
                 fmt::format("'time_scale': expected a number from 0.1 to {}", kLargestScale));
        }
    }

    void deviations(const YAML::Node& list) {
        if (list.IsNull()) return;
        if (!list.IsSequence()) return fail(list.Mark(), "expected a list of deviations");
        for (const YAML::Node& one : list) {
            if (one.IsMap())
                deviation(one);
            else
                fail(one.Mark(), "expected a map with 'reason' and either 'rule' or 'case'");
        }
    }

    void deviation(const YAML::Node& map) {
        Deviation entry;
        const std::size_t before = errors_.size();
        entry.line = static_cast<std::uint32_t>(map.Mark().line + 1);
        std::vector<YAML::Node> lines; // looked up when the case is known
        each_key(map, kDeviationKeys, "key", [&](const std::string& key, const YAML::Node& value) {
            if (key == "sometimes") {
                const bool is = YAML::convert<bool>::decode(value, entry.sometimes);
                return is ? void() : fail(value.Mark(), "'sometimes': expected true or false");
            }
            if (key == "line")
                return each_value(value, key, [&](const YAML::Node& one) { lines.push_back(one); });
            if (key == "field")
                return each_value(value, key, [&](const YAML::Node& one) {
                    entry.fields.push_back(one.Scalar());
                });
            const auto text = text_in(value, key);
            if (!text) return;
            if (key == "kind") kind(value, entry);
            if (key == "kernel") entry.kernel = versions(value, key);
            if (key == "rule") rule(value, entry);
            if (key == "case") case_id(value, entry);
            if (key == "reason") entry.reason = *text;
            if (key == "link") entry.link = *text;
            if (key == "firmware") entry.firmware = versions(value, key);
            if (key == "until") until(value, entry);
        });
        for (const YAML::Node& one : lines)
            line(one, entry);
        if (errors_.size() != before) return;
        if (entry.rule.empty() == entry.case_id.empty()) {
            fail(map.Mark(), "a deviation names either a 'rule' or a 'case'");
        }
        if (entry.reason.find_first_not_of(" \t\n") == std::string::npos) {
            fail(map.Mark(),
                 "a deviation needs a 'reason': one sentence about what the device does wrong");
        }
        if (!entry.kind && !(entry.lines.empty() && entry.fields.empty())) {
            fail(map.Mark(), "'line' and 'field' need a 'kind' of finding");
        }
        const auto twin = std::ranges::find_if(profile_.deviations, [&](const Deviation& other) {
            return other.rule == entry.rule && other.case_id == entry.case_id &&
                   other.kind == entry.kind && other.lines == entry.lines &&
                   other.fields == entry.fields && other.firmware == entry.firmware &&
                   other.kernel == entry.kernel && other.until == entry.until;
        });
        if (twin != profile_.deviations.end()) {
            fail(map.Mark(), fmt::format("duplicate of the deviation on line {}", twin->line));
        }
        profile_.deviations.push_back(std::move(entry));
    }

    void rule(const YAML::Node& node, Deviation& entry) {
        entry.rule = node.Scalar();
        if (rules::catalogue().contains(entry.rule)) return;
        fail(node.Mark(), rules::unknown_rule(entry.rule));
    }

    // The program's own cases; a file of somebody's own is named as it is given to `test`.
    void case_id(const YAML::Node& node, Deviation& entry) {
        entry.case_id = node.Scalar();
        const std::size_t bracket = entry.case_id.find('[');
        std::string name = entry.case_id.substr(0, bracket);
        if (bracket != std::string::npos && !entry.case_id.ends_with(']')) {
            return fail(node.Mark(), "expected a run's id as reports show it: GROUP/NAME[VALUES]");
        }
        if (own_case(name)) return;
        std::vector<std::string_view> known;
        for (const cases::EmbeddedFile& file : own_cases())
            known.push_back(file.id());
        const auto near = wire::nearest_word(name, known);
        if (near)
            fail_word(node, "case", name, known);
        else if (name.find('/') == std::string::npos) {
            fail(node.Mark(), fmt::format("expected a case's id, GROUP/NAME, got '{}'", name));
        }
    }

    // A value, or a list of them.
    void each_value(const YAML::Node& node, std::string_view key,
                    const std::function<void(const YAML::Node&)>& take) {
        const auto one = [&](const YAML::Node& value) {
            if (text_in(value, key)) take(value);
        };
        if (!node.IsSequence()) return one(node);
        for (const YAML::Node& value : node)
            one(value);
    }

    void kind(const YAML::Node& node, Deviation& entry) {
        const auto found = std::ranges::find_if(kExcusable, [&](FindingKind one) {
            return interpreter::name_of(one) == node.Scalar();
        });
        if (found != kExcusable.end()) {
            entry.kind = *found;
            return;
        }
        std::vector<std::string_view> known;
        for (const FindingKind one : kExcusable)
            known.push_back(interpreter::name_of(one));
        fail_word(node, "kind of finding", node.Scalar(), known);
    }

    void line(const YAML::Node& node, Deviation& entry) {
        std::uint32_t number = 0;
        if (YAML::convert<std::uint32_t>::decode(node, number) && number > 0) {
            entry.lines.push_back(number);
        } else {
            line_of(node, entry);
        }
    }

    // A text keeps its line when others come above it; a number does not.
    void line_of(const YAML::Node& node, Deviation& entry) {
        const std::string name = entry.case_id.substr(0, entry.case_id.find('['));
        const auto* file = own_case(name);
        if (!file) {
            return fail(node.Mark(), "'line' is the number of a line of the script, or with a "
                                     "'case' of the program's own its text");
        }
        const std::string wanted = words_of(node.Scalar());
        std::vector<std::string> all;
        const std::size_t before = entry.lines.size();
        std::istringstream stream{std::string(file->text)};
        for (std::string text; std::getline(stream, text);) {
            all.push_back(words_of(text));
            if (!wanted.empty() && all.back() == wanted) {
                entry.lines.push_back(static_cast<std::uint32_t>(all.size()));
            }
        }
        if (entry.lines.size() > before) return;
        const auto near = wire::nearest_word(wanted, all);
        fail(node.Mark(), fmt::format("{} has no line '{}'{}", name, wanted,
                                      near ? fmt::format("; did you mean '{}'?", *near) : ""));
    }

    std::optional<VersionRange> versions(const YAML::Node& node, std::string_view key) {
        const std::string& text = node.Scalar();
        const std::size_t dots = text.find("..");
        VersionRange range{text, text};
        if (dots != std::string::npos) range = {text.substr(0, dots), text.substr(dots + 2)};
        const auto wrong = [](const std::string& end) {
            return !end.empty() && end.find_first_of("0123456789") == std::string::npos;
        };
        if (wrong(range.first) || wrong(range.last) || (range.first + range.last).empty()) {
            fail(node.Mark(),
                 fmt::format("'{}' is a version or a range: 6.1, 6.1..6.6, ..6.6", key));
            return std::nullopt;
        }
        if (!range.first.empty() && !range.last.empty() && !range.contains(range.first)) {
            fail(node.Mark(), fmt::format("'{}' ends before it begins", key));
            return std::nullopt;
        }
        return range;
    }

    void until(const YAML::Node& node, Deviation& entry) {
        const std::string& text = node.Scalar();
        bool day = text.size() == 10;
        for (std::size_t i = 0; day && i < text.size(); ++i)
            day = i == 4 || i == 7 ? text[i] == '-' : text[i] >= '0' && text[i] <= '9';
        const auto number = [&](std::size_t at, std::size_t digits) {
            unsigned value = 0;
            for (const char digit : text.substr(at, digits))
                value = value * 10 + static_cast<unsigned>(digit - '0');
            return value;
        };
        using namespace std::chrono;
        if (!day || !year_month_day(year(static_cast<int>(number(0, 4))), month(number(5, 2)),
                                    std::chrono::day(number(8, 2)))
                         .ok()) {
            return fail(node.Mark(), "'until': expected a date such as 2027-03-31");
        }
        entry.until = text;
    }

    std::string path_;
    Profile profile_;
    std::string errors_;
};

} // namespace

bool excusable(FindingKind kind) {
    return std::ranges::find(kExcusable, kind) != kExcusable.end();
}

std::expected<Profile, std::string> parse_profile(std::string_view path, std::string_view text) {
    return Parser(path).parse(text);
}

} // namespace veriroce::plan
