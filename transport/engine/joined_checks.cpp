#include "transport/engine/joined_checks.hpp"

#include <utility>

namespace veriroce::engine {

namespace {

// What a list says: the verdict of its first function that does not say `pass`, and which one that
// is; `pass` and the length of the list if all do.
template <typename Verdict>
struct Said {
    Verdict verdict;
    std::size_t by;
};

template <typename Functions, typename View, typename Verdict>
Said<Verdict> ask(const Functions& functions, const View& view, Verdict pass) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const Verdict verdict = functions[i](view);
        if (verdict != pass) return {verdict, i};
    }
    return {pass, functions.size()};
}

// The same for a list that is known to the compiler: calls without a table, and into one another
// where they look at the same things.
template <const auto& Functions, typename View, typename Verdict, std::size_t... I>
[[gnu::flatten]] Said<Verdict> ask_joined(const View& view, Verdict pass,
                                          std::index_sequence<I...> /*of the list*/) {
    Said<Verdict> said{pass, Functions.size()};
    const auto passes = [&](std::size_t i, Verdict verdict) {
        if (verdict == pass) return true;
        said = {verdict, i};
        return false;
    };
    (void)(passes(I, Functions[I](view)) && ...);
    return said;
}

template <const auto& Functions, typename View, typename Verdict>
Said<Verdict> ask_joined(const View& view, Verdict pass) {
    return ask_joined<Functions>(view, pass, std::make_index_sequence<Functions.size()>());
}

template <typename Check, typename Verdict>
std::optional<Check> check_of(const Said<Verdict>& said, Verdict pass) {
    if (said.verdict == pass) return std::nullopt;
    return static_cast<Check>(said.by);
}

// KEY-10: the checks of keys come before those of receives and lengths.
constexpr std::array<std::size_t, kRequestChecks> keys_first = [] {
    constexpr auto first_key = static_cast<std::size_t>(RequestCheck::KeyKnown);
    constexpr auto last_key = static_cast<std::size_t>(RequestCheck::KeyRange);
    constexpr auto moved_before = static_cast<std::size_t>(RequestCheck::ReceiveReady);
    std::array<std::size_t, kRequestChecks> order{};
    std::size_t at = 0;
    for (std::size_t i = 0; i < moved_before; ++i)
        order[at++] = i;
    for (std::size_t i = first_key; i <= last_key; ++i)
        order[at++] = i;
    for (std::size_t i = moved_before; i < kRequestChecks; ++i) {
        if (i < first_key || i > last_key) order[at++] = i;
    }
    return order;
}();

RequestRuling ask_keys_first(const Checks& checks, const RequestView& view) {
    for (const std::size_t i : keys_first) {
        const RequestVerdict verdict = checks.request[i](view);
        if (verdict != RequestVerdict::Accept) {
            return {.verdict = verdict, .by = static_cast<RequestCheck>(i)};
        }
    }
    return {};
}

} // namespace

JoinedChecks::JoinedChecks(const Checks& checks)
    : checks_(checks), packet_joined_(checks.packet == kStandardChecks.packet),
      request_joined_(checks.request == kStandardChecks.request),
      response_joined_(checks.response == kStandardChecks.response) {}

std::optional<PacketCheck> JoinedChecks::refused_by(const PacketView& view) const {
    const auto said = packet_joined_ ? ask_joined<kStandardChecks.packet>(view, true)
                                     : ask(checks_.packet, view, true);
    return check_of<PacketCheck>(said, true);
}

std::optional<DatagramCheck> JoinedChecks::refused_by(const DatagramView& view) const {
    return check_of<DatagramCheck>(ask(checks_.datagram, view, true), true);
}

RequestRuling JoinedChecks::judge(const RequestView& view) const {
    constexpr auto pass = RequestVerdict::Accept;
    if (view.behaviour.fault_order == FaultOrder::KeysFirst) return ask_keys_first(checks_, view);
    const auto said = request_joined_ ? ask_joined<kStandardChecks.request>(view, pass)
                                      : ask(checks_.request, view, pass);
    if (said.verdict == pass) return {};
    return {.verdict = said.verdict, .by = static_cast<RequestCheck>(said.by)};
}

bool JoinedChecks::answers_duplicate(const RequestView& view) const {
    for (const DuplicateFunction check : checks_.duplicate) {
        if (!check(view)) return false;
    }
    // What was executed once is only answered again, whatever has become of its key (EXT-04).
    if (view.info.operation != wire::Operation::RdmaReadRequest) return true;
    for (auto i = static_cast<std::size_t>(RequestCheck::KeyKnown); i < kRequestChecks; ++i) {
        if (checks_.request[i](view) != RequestVerdict::Accept) return false;
    }
    return true;
}

ResponseRuling JoinedChecks::judge(const ResponseView& view) const {
    constexpr auto pass = ResponseVerdict::Take;
    const auto said = response_joined_ ? ask_joined<kStandardChecks.response>(view, pass)
                                       : ask(checks_.response, view, pass);
    return {.verdict = said.verdict, .by = check_of<ResponseCheck>(said, pass)};
}

} // namespace veriroce::engine
