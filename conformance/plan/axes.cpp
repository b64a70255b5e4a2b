#include "conformance/plan/axes.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "conformance/plan/run_name.hpp"

namespace veriroce::plan {

using interpreter::StartPsn;

namespace {

struct NamedPsn {
    std::string_view name;
    StartPsn value;
};
constexpr NamedPsn kStartPsns[] = {{"low", StartPsn::Low}, {"wrap", StartPsn::Wrap}};

std::string_view name_of(StartPsn wanted) {
    for (const NamedPsn& one : kStartPsns) {
        if (one.value == wanted) return one.name;
    }
    return "any";
}

template <typename T>
void add_once(std::vector<T>& values, T value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

bool take_ip(Selection& selection, std::string_view word) {
    if (word != "4" && word != "6") return false;
    add_once(selection.ip_versions, word == "4" ? 4 : 6);
    return true;
}

bool take_psn(Selection& selection, std::string_view word) {
    for (const NamedPsn& one : kStartPsns) {
        if (one.name != word) continue;
        add_once(selection.start_psns, one.value);
        return true;
    }
    return false;
}

constexpr std::string_view kNoVlan = "none";
constexpr std::uint16_t kLastVlan = 4094;

bool take_vlan(Selection& selection, std::string_view word) {
    std::uint16_t id = 0;
    if (word != kNoVlan) {
        const char* end = word.data() + word.size();
        const auto read = std::from_chars(word.data(), end, id);
        if (read.ec != std::errc{} || read.ptr != end || id == 0 || id > kLastVlan) return false;
    }
    add_once(selection.vlans, id);
    return true;
}

bool take_migreq(Selection& selection, std::string_view word) {
    if (word != "0" && word != "1") return false;
    add_once(selection.mig_reqs, word == "1");
    return true;
}

bool take_mtu(Selection& selection, std::string_view word) {
    using enum wire::Mtu;
    for (const wire::Mtu mtu : {B256, B512, B1024, B2048, B4096}) {
        if (fmt::to_string(wire::bytes_of(mtu)) != word) continue;
        add_once(selection.mtus, mtu);
        return true;
    }
    return false;
}

struct Axis {
    std::string_view name;
    std::string_view values; // for messages
    bool (*take)(Selection&, std::string_view);
};
constexpr Axis kAxes[] = {{"ip", "4 or 6", take_ip},
                          {"psn", "low or wrap", take_psn},
                          {"vlan", "none or an ID from 1 to 4094", take_vlan},
                          {"migreq", "0 or 1", take_migreq},
                          {"mtu", "256, 512, 1024, 2048 or 4096", take_mtu}};

// Each run so far with each value of one more axis; as they are where it was not asked for.
template <typename T, typename Set>
std::vector<PlannedRun> multiplied(const std::vector<PlannedRun>& runs,
                                   const std::vector<T>& values, Set set) {
    if (values.empty()) return runs;
    std::vector<PlannedRun> all;
    for (const PlannedRun& run : runs) {
        for (const T value : values) {
            all.push_back(run);
            const std::string text = set(all.back(), value);
            all.back().axes += (run.axes.empty() ? "" : ",") + text;
        }
    }
    return all;
}

} // namespace

std::expected<void, std::string> add_axis(Selection& selection, std::string_view text) {
    const std::size_t equals = text.find('=');
    const auto axis = std::ranges::find(kAxes, text.substr(0, equals), &Axis::name);
    if (axis == std::end(kAxes) || equals == std::string_view::npos) {
        return std::unexpected(
            std::string("the axes are ip=4,6, psn=low,wrap, vlan=none,ID, migreq=0,1 and "
                        "mtu=256,512,1024,2048,4096"));
    }
    std::string_view rest = text.substr(equals + 1);
    for (;;) {
        const std::size_t comma = rest.find(',');
        const std::string_view word = rest.substr(0, comma);
        if (!axis->take(selection, word)) {
            return std::unexpected(
                fmt::format("{}: expected {}, got '{}'", axis->name, axis->values, word));
        }
        if (comma == std::string_view::npos) return {};
        rest.remove_prefix(comma + 1);
    }
}

std::expected<Shard, std::string> parse_shard(std::string_view text) {
    Shard shard;
    const char* end = text.data() + text.size();
    const auto index = std::from_chars(text.data(), end, shard.index);
    const bool slash = index.ec == std::errc{} && index.ptr != end && *index.ptr == '/';
    const auto of = slash ? std::from_chars(index.ptr + 1, end, shard.of) : index;
    if (!slash || of.ec != std::errc{} || of.ptr != end) {
        return std::unexpected(fmt::format("expected I/N, such as 2/5, got '{}'", text));
    }
    if (shard.index < 1 || shard.index > shard.of) {
        return std::unexpected(fmt::format("expected I/N with I from 1 to N, got '{}'", text));
    }
    return shard;
}

std::vector<std::string> PlannedRun::over() const {
    std::vector<std::string_view> values = values_of(axes);
    std::erase_if(values, is_round);
    return {values.begin(), values.end()};
}

namespace {

// Over each IP version in this VLAN; of the other axes the first value.
Selection in_vlan(Selection selection, std::uint16_t vlan) {
    const auto keep_first = [](auto& values) {
        if (!values.empty()) values.resize(1);
    };
    keep_first(selection.start_psns);
    keep_first(selection.mig_reqs);
    selection.vlans = {vlan};
    selection.also_in_vlan.reset();
    return selection;
}

} // namespace

std::vector<PlannedRun> axis_combinations(const Selection& selection) {
    std::vector<std::uint32_t> rounds;
    for (std::uint32_t i = 0; selection.repeat > 1 && i < selection.repeat; ++i)
        rounds.push_back(i);
    std::vector<PlannedRun> runs(1);
    runs = multiplied(runs, rounds, [](PlannedRun& run, std::uint32_t round) {
        run.round = round;
        return fmt::format("round={}", round + 1);
    });
    runs = multiplied(runs, selection.ip_versions, [](PlannedRun& run, int version) {
        run.ip_version = version;
        return fmt::format("ip={}", version);
    });
    runs = multiplied(runs, selection.start_psns, [](PlannedRun& run, StartPsn start) {
        run.start_psn = start;
        return fmt::format("psn={}", name_of(start));
    });
    runs = multiplied(runs, selection.vlans, [](PlannedRun& run, std::uint16_t vlan) {
        run.vlan = vlan;
        return vlan == 0 ? fmt::format("vlan={}", kNoVlan) : fmt::format("vlan={}", vlan);
    });
    runs = multiplied(runs, selection.mig_reqs, [](PlannedRun& run, bool mig_req) {
        run.mig_req = mig_req;
        return fmt::format("migreq={}", mig_req ? 1 : 0);
    });
    for (PlannedRun& run : runs)
        run.path_mtu = selection.usual_mtu;
    runs = multiplied(runs, selection.mtus, [](PlannedRun& run, wire::Mtu mtu) {
        run.path_mtu = mtu;
        return fmt::format("mtu={}", wire::bytes_of(mtu));
    });
    if (selection.also_in_vlan) {
        std::ranges::move(axis_combinations(in_vlan(selection, *selection.also_in_vlan)),
                          std::back_inserter(runs));
    }
    return runs;
}

} // namespace veriroce::plan
