// The engine without one of its checks: whatever the check would refuse is accepted.
#include <algorithm>
#include <deque>
#include <string>

#include "conformance/mutants/mutants.hpp"

namespace veriroce::mutants::of_missing_checks {
namespace {

using namespace engine;

// Lists other than the requests' are named: some checks have the same name in several lists.
constexpr std::string_view list_of(RequestCheck /*check*/) {
    return "";
}
constexpr std::string_view list_of(PacketCheck /*check*/) {
    return "packet";
}
constexpr std::string_view list_of(DuplicateCheck /*check*/) {
    return "duplicate";
}
constexpr std::string_view list_of(DatagramCheck /*check*/) {
    return "datagram";
}
constexpr std::string_view list_of(ResponseCheck /*check*/) {
    return "response";
}
constexpr std::string_view list_of(SendCheck /*check*/) {
    return "send";
}

RequestVerdict accept(const RequestView& /*view*/) {
    return RequestVerdict::Accept;
}
ResponseVerdict take(const ResponseView& /*view*/) {
    return ResponseVerdict::Take;
}
template <typename View>
bool pass(const View& /*view*/) {
    return true;
}
constexpr auto without(RequestCheck check) {
    return kStandardChecks.with(check, accept);
}
constexpr auto without(ResponseCheck check) {
    return kStandardChecks.with(check, take);
}
constexpr auto without(PacketCheck check) {
    return kStandardChecks.with(check, pass<PacketView>);
}
constexpr auto without(DuplicateCheck check) {
    return kStandardChecks.with(check, pass<RequestView>);
}
constexpr auto without(DatagramCheck check) {
    return kStandardChecks.with(check, pass<DatagramView>);
}
constexpr auto without(SendCheck check) {
    return kStandardChecks.with(check, pass<SendView>);
}

// Keeps the texts that are made of the checks' rows.
std::string_view keep(std::string text) {
    static std::deque<std::string> texts;
    return texts.emplace_back(std::move(text));
}

template <CheckEnum Check>
Mutant missing(Check check, std::string_view cases, std::string_view level = "MUST") {
    const std::string_view list = list_of(check);
    std::string name = "without_" + std::string(list) + (list.empty() ? "" : "_");
    name += name_of(check);
    std::ranges::replace(name, '-', '_');
    const std::string_view rules = rules_of(check);
    std::string description = "The " + std::string(list.empty() ? "request" : list) + " check ";
    description += std::string(name_of(check)) + " (" + std::string(rules) + ") is not made.";
    return {.name = keep(std::move(name)),
            .rule = rules.substr(0, rules.find(',')),
            .level = level,
            .description = keep(std::move(description)),
            .cases = cases,
            .checks = without(check)};
}

const std::vector<Mutant>& rows() {
    static const std::vector<Mutant> mutants{
        missing(RequestCheck::State, "sta/error-is-silent"),
        missing(RequestCheck::OneNak, "rnr/lost-retry rnr/pipeline rsp/fault-ahead"),
        missing(RequestCheck::ExpectedPsn,
                "atm/other-duplicate ext/atomic-write-duplicate rdr/duplicate "
                "rsp/behind-by-every-power rsp/duplicate-in-a-message rsp/far-behind "
                "rsp/fault-in-duplicate rsp/ghosts rsp/lost-twice"),
        missing(RequestCheck::KnownOpcode, "bth/reserved-opcode"),
        missing(RequestCheck::OpcodeSequence,
                "opc/inside-a-send opc/inside-a-write opc/matrix opc/without-first"),
        missing(RequestCheck::Rights, "key/qp-atomic-alone key/qp-atomic-right key/qp-read-alone "
                                      "key/qp-rights key/qp-write-alone key/rights-changed-in-rts"),
        missing(RequestCheck::ReplyResources, "rdr/no-resources"),
        missing(RequestCheck::ReceiveReady,
                "n/gap-then-no-receive rnr/no-receive rnr/shared-queue rnr/write-with-immediate"),
        missing(RequestCheck::PadCount, "bth/pad-too-large"),
        missing(RequestCheck::PayloadLength, "len/first len/last len/middle len/only"),
        missing(RequestCheck::MessageLength,
                "len/announced-bits len/message-length len/message-length-last"),
        missing(RequestCheck::AtomicAlignment,
                "atm/each-misaligned atm/misaligned ext/atomic-write-misaligned"),
        missing(RequestCheck::ReceiveRoom, "len/receive-of-each-size len/receive-too-small"),
        missing(RequestCheck::ReceiveMemory, "key/receive-lkey"),
        missing(RequestCheck::KeyKnown, ""),
        missing(RequestCheck::KeyVariant, "key/rkey-bits key/rkey-bits-of-an-atomic key/variant "
                                          "key/window-key-bits key/window-old-keys"),
        missing(RequestCheck::KeyDomain, "key/other-domain"),
        missing(RequestCheck::KeyRights,
                "key/missing-right key/no-atomic-right key/region-atomic-alone "
                "key/region-read-alone key/region-write-alone key/window-right"),
        missing(RequestCheck::KeyRange,
                "ack/refused-not-counted key/address-bits-of-an-atomic "
                "key/address-wrap key/every-begin key/every-end-of-a-write "
                "key/out-of-range key/window-atomics key/window-every-border "
                "key/window-type-1 key/window-type-2 key/window-zero-based"),
        missing(RequestCheck::FlushKind, ""),
        missing(RequestCheck::InvalidateKey, "key/invalidate-nothing"),
        missing(PacketCheck::TransportVersion, "bth/transport-version bth/version-bits"),
        missing(PacketCheck::Service, "bth/opcodes-of-other-services bth/service-class"),
        missing(PacketCheck::Pkey, "bth/key-bits bth/partition-key bth/wrong-key-other-requests"),
        missing(PacketCheck::SourceAddress,
                "enc/source-address enc/source-address-bytes enc/source-bits"),
        missing(PacketCheck::DestinationAddress, ""),
        missing(PacketCheck::Vlan, "n/vlan-membership"),
        missing(DuplicateCheck::Remembered, ""),
        missing(DuplicateCheck::WithinRead, "rdr/not-a-part"),
        missing(DuplicateCheck::SameAtomic, ""),
        missing(DatagramCheck::State, ""),
        missing(DatagramCheck::KnownOpcode, ""),
        missing(DatagramCheck::Shape, ""),
        missing(DatagramCheck::Qkey, "ext/datagram-no-receive ext/queue-key"),
        missing(DatagramCheck::ReceiveReady, ""),
        missing(DatagramCheck::ReceiveRoom, ""),
        missing(ResponseCheck::State, ""),
        missing(ResponseCheck::Shape, "req/ack-with-payload"),
        missing(ResponseCheck::KnownSyndrome, ""),
        missing(ResponseCheck::Window, ""),
        missing(ResponseCheck::ImpliedNak, ""),
        missing(ResponseCheck::FitsRequest, "req/atomic-answer-to-a-read"),
        missing(ResponseCheck::ReadOrder, "req/lost-read-response"),
        missing(ResponseCheck::ReadPosition, "req/first-twice req/last-before-first"),
        missing(ResponseCheck::ReadLength, "req/response-too-short"),
        missing(SendCheck::Window, ""),
        missing(SendCheck::RdAtomic, "req/empty-reads-take-one-place req/outstanding-reads"),
        missing(SendCheck::Fence, "req/fence"),
        missing(SendCheck::Credits, "req/immediate-writes-wait-for-credits req/waits-for-credits",
                "SHOULD"),
        missing(SendCheck::RetryLeft, "req/seven-is-seven"),
        missing(SendCheck::RnrRetryLeft, "rnr/retry-exceeded"),
    };
    return mutants;
}

} // namespace
} // namespace veriroce::mutants::of_missing_checks

namespace veriroce::mutants {

std::span<const Mutant> missing_checks() {
    return of_missing_checks::rows();
}

} // namespace veriroce::mutants
