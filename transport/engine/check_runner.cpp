#include "transport/engine/check_runner.hpp"

#include <utility>

namespace veriroce::engine {

namespace {

// The verdict of the first function of a list that does not say `pass`, and its place in the list;
// `pass` and the length of the list if all say so.
template <typename Verdict>
struct Found {
    Verdict verdict;
    std::size_t at;
};

template <typename Functions, typename View, typename Verdict>
Found<Verdict> call_each(const Functions& functions, const View& view, Verdict pass) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const Verdict verdict = functions[i](view);
        if (verdict != pass) return {verdict, i};
    }
    return {pass, functions.size()};
}

// A constant of its own: g++ inlines a call through it, and not one through the row.
template <const auto& Rows, std::size_t I>
inline constexpr auto kFunctionOf = Rows[I].function;

// The standard list, which the compiler knows: direct calls, inlined into this function.
template <const auto& Rows, typename View, typename Verdict, std::size_t... I>
[[gnu::flatten]] Found<Verdict> call_inlined(const View& view, Verdict pass,
                                             std::index_sequence<I...> /*of the rows*/) {
    Found<Verdict> found{pass, Rows.size()};
    const auto passes = [&](std::size_t i, Verdict verdict) {
        if (verdict == pass) return true;
        found = {verdict, i};
        return false;
    };
    (void)(passes(I, kFunctionOf<Rows, I>(view)) && ...);
    return found;
}

template <const auto& Rows, typename View, typename Verdict>
Found<Verdict> call_inlined(const View& view, Verdict pass) {
    return call_inlined<Rows>(view, pass, std::make_index_sequence<Rows.size()>());
}

template <typename Check, typename Verdict>
std::optional<Check> check_of(const Found<Verdict>& found, Verdict pass) {
    if (found.verdict == pass) return std::nullopt;
    return static_cast<Check>(found.at);
}

constexpr bool of_key(std::size_t check) {
    return kRequestRows[check].group == CheckGroup::Key;
}

// FaultOrder::KeysFirst (KEY-10): the key checks come before those of receives and lengths.
constexpr std::array<std::size_t, kRequestRows.size()> kKeysFirst = [] {
    constexpr auto moved_before = static_cast<std::size_t>(RequestCheck::ReceiveReady);
    std::array<std::size_t, kRequestRows.size()> order{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < moved_before; ++i)
        order[at++] = i;
    for (std::size_t i = moved_before; i < order.size(); ++i) {
        if (of_key(i)) order[at++] = i;
    }
    for (std::size_t i = moved_before; i < order.size(); ++i) {
        if (!of_key(i)) order[at++] = i;
    }
    return order;
}();

template <typename Functions>
RequestRuling judge_keys_first(const Functions& functions, const RequestView& view) {
    for (const std::size_t i : kKeysFirst) {
        const RequestVerdict verdict = functions[i](view);
        if (verdict != RequestVerdict::Accept) {
            return {.verdict = verdict, .by = static_cast<RequestCheck>(i)};
        }
    }
    return {};
}

template <CheckEnum Check>
bool is_standard(const Checks& checks) {
    return checks.of<Check>() == kStandardChecks.of<Check>();
}

} // namespace

CheckRunner::CheckRunner(const Checks& checks)
    : checks_(checks), packet_standard_(is_standard<PacketCheck>(checks)),
      request_standard_(is_standard<RequestCheck>(checks)),
      response_standard_(is_standard<ResponseCheck>(checks)) {}

std::optional<PacketCheck> CheckRunner::refused_by(const PacketView& view) const {
    const auto found = packet_standard_ ? call_inlined<kPacketRows>(view, true)
                                        : call_each(functions<PacketCheck>(), view, true);
    return check_of<PacketCheck>(found, true);
}

std::optional<DatagramCheck> CheckRunner::refused_by(const DatagramView& view) const {
    return check_of<DatagramCheck>(call_each(functions<DatagramCheck>(), view, true), true);
}

RequestRuling CheckRunner::judge(const RequestView& view) const {
    constexpr auto pass = RequestVerdict::Accept;
    if (view.behaviour.fault_order == FaultOrder::KeysFirst) {
        return judge_keys_first(functions<RequestCheck>(), view);
    }
    const auto found = request_standard_ ? call_inlined<kRequestRows>(view, pass)
                                         : call_each(functions<RequestCheck>(), view, pass);
    if (found.verdict == pass) return {};
    return {.verdict = found.verdict, .by = static_cast<RequestCheck>(found.at)};
}

std::optional<RefusedBy> CheckRunner::duplicate_refused_by(const RequestView& view) const {
    const auto found = call_each(functions<DuplicateCheck>(), view, true);
    if (const auto check = check_of<DuplicateCheck>(found, true)) return *check;
    // An executed request is only answered again, even if its key is no longer valid (EXT-04).
    if (view.info.operation != wire::Operation::RdmaReadRequest) return std::nullopt;
    for (std::size_t i = 0; i < kRequestRows.size(); ++i) {
        if (!of_key(i)) continue;
        const auto check = static_cast<RequestCheck>(i);
        if (checks_.function(check)(view) != RequestVerdict::Accept) return check;
    }
    return std::nullopt;
}

ResponseRuling CheckRunner::judge(const ResponseView& view) const {
    constexpr auto pass = ResponseVerdict::Take;
    const auto found = response_standard_ ? call_inlined<kResponseRows>(view, pass)
                                          : call_each(functions<ResponseCheck>(), view, pass);
    return {.verdict = found.verdict, .by = check_of<ResponseCheck>(found, pass)};
}

} // namespace veriroce::engine
