#include "reports/saved_run.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "conformance/plan/run_name.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::Verdict;

constexpr std::array kFromBestToWorst{Verdict::Pass,  Verdict::Info, Verdict::Skip,  Verdict::Error,
                                      Verdict::Xfail, Verdict::Warn, Verdict::Xpass, Verdict::Fail};

struct Wrong {
    std::string text;
};

// The value as this type; null if it has another one.
template <typename T>
const T* as(const json::value& value) {
    if constexpr (std::is_same_v<T, json::string>) {
        return value.if_string();
    } else if constexpr (std::is_same_v<T, json::array>) {
        return value.if_array();
    } else if constexpr (std::is_same_v<T, json::object>) {
        return value.if_object();
    } else {
        return value.if_bool();
    }
}

// The member of this type; throws `Wrong`, which does not leave this file.
template <typename T>
const T& member(const json::object& object, std::string_view name, std::string_view path) {
    const json::value* found = object.if_contains(json::string_view(name.data(), name.size()));
    const T* value = found == nullptr ? nullptr : as<T>(*found);
    if (value == nullptr)
        throw Wrong{fmt::format("{}{} is missing or has another type", path, name)};
    return *value;
}

std::string text_of(const json::object& object, std::string_view name, std::string_view path) {
    const auto& text = member<json::string>(object, name, path);
    return wire::safe_text({text.data(), text.size()});
}

Verdict verdict_of(const json::object& object, std::string_view path) {
    const std::string name = text_of(object, "verdict", path);
    const auto found = std::ranges::find_if(
        kFromBestToWorst, [&](Verdict one) { return interpreter::name_of(one) == name; });
    if (found == kFromBestToWorst.end())
        throw Wrong{fmt::format("{}verdict: expected a verdict, got \"{}\"", path, name)};
    return *found;
}

void add_measures(SavedCase& one, const json::object& measures, std::string_view path) {
    for (const auto& [name, measure] : measures) {
        const auto* object = measure.if_object();
        if (object == nullptr) throw Wrong{fmt::format("{}measures: expected objects", path)};
        auto& samples = one.measures[wire::safe_text({name.data(), name.size()})];
        for (const json::value& sample : member<json::array>(*object, "samples", path)) {
            const auto* number = sample.if_int64();
            if (number == nullptr)
                throw Wrong{fmt::format("{}measures: a sample is an integer", path)};
            samples.emplace_back(*number);
        }
    }
}

SavedRun read(std::string name, const json::object& file) {
    if (const std::string schema = text_of(file, "schema", ""); schema != "veriroce/results/2")
        throw Wrong{fmt::format("expected schema veriroce/results/2, got \"{}\"", schema)};
    SavedRun run{.name = std::move(name)};
    const auto& about = member<json::object>(file, "run", "");
    run.dut = text_of(about, "dut", "run.");
    run.profile = text_of(about, "profile", "run.");
    run.complete = member<bool>(about, "complete", "run.");
    std::map<std::string, SavedCase> cases;
    const auto& list = member<json::array>(file, "cases", "");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string path = fmt::format("cases[{}].", i);
        const auto* object = list[i].if_object();
        if (object == nullptr) throw Wrong{fmt::format("cases[{}]: expected an object", i)};
        std::string id = plan::without_round(text_of(*object, "id", path));
        const Verdict verdict = verdict_of(*object, path);
        const auto [place, added] = cases.try_emplace(id);
        SavedCase& one = place->second;
        if (added || gravity(verdict) > gravity(one.verdict)) {
            one.id = std::move(id);
            one.verdict = verdict;
            one.summary = text_of(*object, "summary", path);
        }
        add_measures(one, member<json::object>(*object, "measures", path), path);
    }
    for (auto& [id, one] : cases)
        run.cases.push_back(std::move(one));
    return run;
}

} // namespace

int gravity(Verdict verdict) {
    return static_cast<int>(std::ranges::find(kFromBestToWorst, verdict) -
                            kFromBestToWorst.begin());
}

std::expected<SavedRun, std::string> read_saved_run(std::string name, std::string_view text) {
    boost::system::error_code error;
    const json::value file = json::parse(json::string_view(text.data(), text.size()), error);
    if (error) return std::unexpected("this is not JSON: " + error.message());
    const auto* object = file.if_object();
    if (object == nullptr) return std::unexpected("expected an object, as results.json is");
    try {
        return read(std::move(name), *object);
    } catch (const Wrong& wrong) {
        return std::unexpected(wrong.text);
    }
}

} // namespace veriroce::reports
