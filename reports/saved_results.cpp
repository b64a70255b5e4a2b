#include "reports/saved_results.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "dissector/wire/safe_text.hpp"

namespace veriroce::reports {
namespace {

namespace json = boost::json;
using interpreter::CaseResult;
using interpreter::Finding;
using interpreter::FindingKind;
using interpreter::Verdict;

constexpr std::uint64_t kLongestFrame = 1U << 16;
constexpr std::uint64_t kMostLines = 1'000'000; // of a script

struct Wrong {
    std::string text;
};

std::string safe(const json::string& text) {
    return wire::safe_text({text.data(), text.size()}, true);
}

// An object of the file, and where it stands: "cases[3].". Throws `Wrong`, which does not leave
// this file.
class Members {
  public:
    Members(const json::object& object, std::string path)
        : object_(&object), path_(std::move(path)) {}

    [[nodiscard]] bool has(std::string_view name) const {
        const json::value* found = find(name);
        return found != nullptr && !found->is_null();
    }
    [[nodiscard]] std::string text(std::string_view name) const {
        return safe(need(name, find(name) == nullptr ? nullptr : find(name)->if_string()));
    }
    [[nodiscard]] std::string text_or_none(std::string_view name) const {
        return has(name) ? text(name) : std::string();
    }
    [[nodiscard]] bool flag(std::string_view name) const {
        return need(name, find(name) == nullptr ? nullptr : find(name)->if_bool());
    }
    [[nodiscard]] std::int64_t number(std::string_view name) const {
        return need(name, find(name) == nullptr ? nullptr : find(name)->if_int64());
    }
    [[nodiscard]] std::int64_t number_or(std::string_view name, std::int64_t none) const {
        return has(name) ? number(name) : none;
    }
    [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t most) const {
        const std::int64_t value = number_or(name, 0);
        if (value < 0 || static_cast<std::uint64_t>(value) > most)
            wrong(name, fmt::format("expected 0 to {}, got {}", most, value));
        return static_cast<std::uint64_t>(value);
    }
    [[nodiscard]] Members object(std::string_view name) const {
        return {need(name, find(name) == nullptr ? nullptr : find(name)->if_object()),
                fmt::format("{}{}.", path_, name)};
    }
    [[nodiscard]] const json::object& raw() const { return *object_; }

    // Each object of a list; none if the list is missing.
    template <typename Each>
    void each(std::string_view name, Each visit) const {
        const json::array* list = list_of(name);
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
            const auto* object = (*list)[i].if_object();
            if (object == nullptr) wrong(fmt::format("{}[{}]", name, i), "expected an object");
            visit(Members(*object, fmt::format("{}{}[{}].", path_, name, i)));
        }
    }
    [[nodiscard]] std::vector<std::string> texts(std::string_view name) const {
        std::vector<std::string> all;
        const json::array* list = list_of(name);
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
            const auto* text = (*list)[i].if_string();
            if (text == nullptr) wrong(fmt::format("{}[{}]", name, i), "expected a string");
            all.push_back(safe(*text));
        }
        return all;
    }
    [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view name) const {
        std::vector<std::int64_t> all;
        const json::array* list = list_of(name);
        for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
            const auto* number = (*list)[i].if_int64();
            if (number == nullptr) wrong(fmt::format("{}[{}]", name, i), "expected an integer");
            all.push_back(*number);
        }
        return all;
    }
    [[noreturn]] void wrong(std::string_view name, std::string_view why) const {
        throw Wrong{fmt::format("{}{}: {}", path_, name, why)};
    }

  private:
    [[nodiscard]] const json::value* find(std::string_view name) const {
        return object_->if_contains(json::string_view(name.data(), name.size()));
    }
    [[nodiscard]] const json::array* list_of(std::string_view name) const {
        if (!has(name)) return nullptr;
        return &need(name, find(name)->if_array());
    }
    template <typename T>
    const T& need(std::string_view name, const T* value) const {
        if (value == nullptr)
            throw Wrong{fmt::format("{}{} is missing or has another type", path_, name)};
        return *value;
    }

    const json::object* object_;
    std::string path_;
};

// The enumerator of this name, from the first to the last.
template <typename Enum>
Enum named(const Members& members, std::string_view key, std::string_view what, Enum last) {
    const std::string name = members.text(key);
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    }
    members.wrong(key, fmt::format("expected {}, got \"{}\"", what, name));
}

rules::Level level(const Members& members) {
    const std::string name = members.text("level");
    const auto found = rules::level_named(name);
    if (!found) members.wrong("level", fmt::format("expected a level, got \"{}\"", name));
    return *found;
}

// --- a case -----------------------------------------------------------------------------------

interpreter::RecordedPacket packet_of(const Members& from) {
    interpreter::RecordedPacket packet;
    const std::string side = from.text("from");
    if (side != "tester" && side != "dut")
        from.wrong("from", fmt::format("expected tester or dut, got \"{}\"", side));
    packet.from = side == "tester" ? interpreter::Side::Tester : interpreter::Side::Dut;
    packet.script = from.text("text");
    packet.remarks = from.texts("remarks");
    packet.frame.resize(from.count("bytes", kLongestFrame));
    packet.on_wire = from.flag("on_wire");
    packet.line = static_cast<std::uint32_t>(from.count("line", kMostLines));
    const Members timing = from.object("timing");
    packet.at = {wire::Instant(wire::Duration(timing.number("earliest_ns"))),
                 wire::Instant(wire::Duration(timing.number("latest_ns")))};
    return packet;
}

interpreter::HostStep step_of(const Members& from) {
    constexpr std::uint64_t most = 1'000'000'000;
    return {.before = from.count("before", most),
            .at = wire::Instant(wire::Duration(from.object("timing").number("at_ns"))),
            .text = from.text("text")};
}

interpreter::RecordedQp qp_of(const Members& from) {
    constexpr std::uint64_t most = (1U << 24) - 1;
    const auto number = [&](std::string_view name) {
        return static_cast<std::uint32_t>(from.count(name, most));
    };
    return {.name = from.text("name"),
            .tester = wire::Qpn{number("tester_qpn")},
            .dut = wire::Qpn{number("dut_qpn")},
            .tester_psn = wire::Psn(number("tester_first_psn")),
            .dut_psn = wire::Psn(number("dut_first_psn"))};
}

Finding finding_of(const Members& from, std::size_t packets) {
    Finding finding;
    finding.kind = named(from, "kind", "a kind of finding", FindingKind::Internal);
    finding.line = static_cast<std::uint32_t>(from.count("line", 1'000'000'000));
    from.each("differences", [&](const Members& one) {
        finding.differences.push_back(
            {one.text("field"), one.text("expected"), one.text("actual")});
    });
    if (from.has("packet")) {
        finding.packet = from.count("packet", packets);
        if (*finding.packet == packets) finding.packet.reset(); // a packet that was not kept
    }
    finding.rules = from.texts("rules");
    finding.subject = from.text("subject");
    finding.expected = from.text("expected");
    finding.actual = from.text("actual");
    if (from.has("time_ns")) finding.time = wire::Duration(from.number("time_ns"));
    finding.detail = from.text("detail");
    return finding;
}

interpreter::Violation violation_of(const Members& from, std::size_t packets) {
    interpreter::Violation violation;
    violation.rule = from.text("rule");
    violation.level = level(from);
    violation.certain = from.text("certainty") == "certain";
    for (const std::int64_t place : from.numbers("packets")) {
        if (place < 0 || static_cast<std::uint64_t>(place) >= packets)
            from.wrong("packets", fmt::format("the case has no packet {}", place));
        violation.packets.push_back(static_cast<std::size_t>(place));
    }
    violation.measured = from.text("measured");
    violation.allowed = from.text("allowed");
    return violation;
}

// Another play's summary is all that the file has of its findings: one that says it as it stands.
void add_plays(CaseResult& result, const Members& from) {
    if (!from.has("plays")) return;
    const Members plays = from.object("plays");
    result.seen_in = static_cast<std::uint32_t>(plays.count("seen_in", 1'000'000));
    plays.each("others", [&](const Members& one) {
        interpreter::OtherPlay play;
        play.verdict = named(one, "verdict", "a verdict", Verdict::Error);
        if (std::string why = one.text("summary"); !why.empty())
            play.findings = {{.kind = FindingKind::Internal, .detail = std::move(why)}};
        result.other_plays.push_back(std::move(play));
    });
}

void add_measures(CaseResult& result, const Members& from) {
    if (!from.has("measures")) return;
    const Members measures = from.object("measures");
    for (const auto& member : measures.raw()) {
        const Members one = measures.object({member.key().data(), member.key().size()});
        auto& samples = result.measures[wire::safe_text({member.key().data(), //
                                                         member.key().size()})];
        for (const std::int64_t sample : one.numbers("samples"))
            samples.emplace_back(sample);
    }
}

void add_faults(CaseResult& result, const Members& from) {
    if (!from.has("faults")) return;
    const Members faults = from.object("faults");
    for (const auto& member : faults.raw()) {
        const std::string_view name(member.key().data(), member.key().size());
        result.faults.push_back({wire::safe_text(name, true),
                                 faults.count(name, std::numeric_limits<std::int64_t>::max())});
    }
}

CaseResult case_of(const Members& from) {
    CaseResult result;
    result.id = from.text("id");
    result.verdict = named(from, "verdict", "a verdict", Verdict::Error);
    result.title = from.text_or_none("title");
    result.rules = from.texts("rules");
    if (from.has("level")) result.level = level(from);
    result.file = from.text_or_none("file");
    result.command = from.text_or_none("command");
    from.each("packets", [&](const Members& one) { result.packets.push_back(packet_of(one)); });
    from.each("qps", [&](const Members& one) { result.qps.push_back(qp_of(one)); });
    from.each("host", [&](const Members& one) { result.host.push_back(step_of(one)); });
    from.each("findings", [&](const Members& one) {
        result.findings.push_back(finding_of(one, result.packets.size()));
    });
    from.each("violations", [&](const Members& one) {
        result.violations.push_back(violation_of(one, result.packets.size()));
    });
    add_plays(result, from);
    add_measures(result, from);
    add_faults(result, from);
    result.tolerated_retransmissions =
        static_cast<std::uint32_t>(from.count("tolerated_retransmissions", 1'000'000'000));
    return result;
}

// --- the run ----------------------------------------------------------------------------------

testbed::DeviceFacts device_of(const Members& from) {
    testbed::DeviceFacts device;
    device.name = from.text("name");
    device.device = from.text("device");
    device.firmware = from.text("firmware");
    device.driver = from.text("driver");
    device.kernel = from.text("kernel");
    device.backend = from.text("backend");
    device.capabilities = from.texts("capabilities");
    device.traits = from.texts("traits");
    const Members limits = from.object("limits");
    for (const auto& member : limits.raw()) {
        const std::string_view name(member.key().data(), member.key().size());
        device.limits[wire::safe_text(name)] =
            limits.count(name, std::numeric_limits<std::int64_t>::max());
    }
    return device;
}

testbed::RunInfo run_of(const Members& from) {
    testbed::RunInfo run;
    run.program = from.text_or_none("program");
    run.mutant = from.text_or_none("mutant");
    run.dut = from.text("dut");
    if (from.has("seed")) {
        const std::string seed = from.text("seed");
        const char* end = seed.data() + seed.size();
        const auto read = std::from_chars(seed.data(), end, run.seed);
        if (read.ec != std::errc{} || read.ptr != end)
            from.wrong("seed", fmt::format("expected digits, got \"{}\"", seed));
    }
    if (from.has("device")) run.device = device_of(from.object("device"));
    run.link = from.text_or_none("link");
    run.profile = from.text_or_none("profile");
    run.dut_host = from.text_or_none("dut_host");
    run.host = from.text_or_none("host");
    run.complete = from.flag("complete");
    run.notes = from.texts("notes");
    return run;
}

plan::Timing timing_of(const Members& from) {
    plan::Timing timing;
    timing.started = from.text("started");
    timing.wall = wire::Duration(from.number("wall_ns"));
    timing.round_trip_p99 = wire::Duration(from.number_or("round_trip_p99_ns", 0));
    timing.sleep_p99 = wire::Duration(from.number_or("sleep_p99_ns", 0));
    timing.settle = wire::Duration(from.number_or("settle_ns", 0));
    from.each("cases", [&](const Members& one) {
        timing.cases.push_back({one.text("id"), wire::Duration(one.number("wall_ns"))});
    });
    return timing;
}

sheet::DataSheet sheet_of(const Members& from) {
    sheet::DataSheet sheet;
    from.each("quantities", [&](const Members& one) {
        const std::string unit = one.text("unit");
        const auto known = sheet::unit_named(unit);
        if (!known) one.wrong("unit", fmt::format("expected a unit, got \"{}\"", unit));
        sheet::Quantity& quantity = sheet.quantities.emplace_back();
        quantity = {one.text("name"), one.text("title"), *known, {}};
        one.each("series", [&](const Members& series) {
            quantity.series.push_back(
                {series.text("label"),
                 series.has("asked") ? std::optional(series.number("asked")) : std::nullopt,
                 series.numbers("samples")});
        });
    });
    from.each("behaviours", [&](const Members& one) {
        sheet.behaviours.push_back(
            {one.text("name"), one.text("title"), one.text("kind"), one.text("evidence")});
    });
    return sheet;
}

plan::RunResults read(const json::object& object) {
    const Members file(object, "");
    if (const std::string schema = file.text("schema"); schema != "veriroce/results/2")
        throw Wrong{fmt::format("expected schema veriroce/results/2, got \"{}\"", schema)};
    plan::RunResults results;
    results.run = run_of(file.object("run"));
    if (!file.has("cases")) throw Wrong{"cases is missing or has another type"};
    file.each("cases", [&](const Members& one) { results.cases.push_back(case_of(one)); });
    if (file.has("timing")) results.timing = timing_of(file.object("timing"));
    if (file.has("sheet")) results.sheet = sheet_of(file.object("sheet"));
    return results;
}

} // namespace

std::expected<plan::RunResults, std::string> read_results(std::string_view text) {
    boost::system::error_code error;
    const json::value file = json::parse(json::string_view(text.data(), text.size()), error);
    if (error) return std::unexpected("this is not JSON: " + error.message());
    const auto* object = file.if_object();
    if (object == nullptr) return std::unexpected("expected an object, as results.json is");
    try {
        return read(*object);
    } catch (const Wrong& wrong) {
        return std::unexpected(wrong.text);
    }
}

bool has_bytes(const interpreter::RecordedPacket& packet) {
    return std::ranges::any_of(packet.frame, [](std::byte one) { return one != std::byte{0}; });
}

} // namespace veriroce::reports
