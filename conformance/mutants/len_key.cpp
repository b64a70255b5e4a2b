// Defects in lengths and keys.
#include "conformance/mutants/drift.hpp"
#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants {

namespace {

using engine::RequestCheck;
using engine::RequestVerdict;
using engine::RequestView;
namespace right = engine::request_check;

RequestVerdict short_middle(const RequestView& view) {
    const bool fits = view.packet.payload().size() <= wire::bytes_of(view.connection.mtu);
    if (view.info.carries_payload() && !view.info.ends_message() && fits) {
        return RequestVerdict::Accept;
    }
    return right::payload_length(view);
}

// LEN-07: ceil(0 / PMTU) is 0. The engine's PSN goes on with the READ; the device's does not.
bool executed_empty_read(const wire::Packet& packet, Told told) {
    return is_read_response(packet) && packet.info().starts_message() &&
           packet.info().ends_message() && packet.payload().empty() && told.fresh;
}

template <engine::RequestFunction Check>
RequestVerdict as_invalid_request(const RequestView& view) {
    return Check(view) == RequestVerdict::Accept ? RequestVerdict::Accept
                                                 : RequestVerdict::NakInvalidRequest;
}

RequestVerdict any_domain(const RequestView& /*view*/) {
    return RequestVerdict::Accept;
}

RequestVerdict drop_out_of_range(const RequestView& view) {
    return right::key_range(view) == RequestVerdict::Accept ? RequestVerdict::Accept
                                                            : RequestVerdict::Drop;
}

constexpr std::array mutants{
    Mutant{.name = "short_middle_accepted",
           .rule = "LEN-01",
           .passive = false,
           .description = "FIRST and MIDDLE of less than one PMTU are accepted as long as they are "
                          "not longer.",
           .checks = engine::kStandardChecks.with(RequestCheck::PayloadLength, short_middle)},
    Mutant{.name = "zero_read_moves_no_psn",
           .rule = "LEN-07",
           .passive = true,
           .description =
               "A READ of length 0 is answered, but ePSN does not go on: the next request "
               "draws a sequence NAK.",
           .make_filter = make<Drifts<executed_empty_read>>},
    Mutant{.name = "unknown_key_is_invalid_request",
           .rule = "KEY-02",
           .passive = false,
           .description =
               "An R_Key that names nothing draws NAK Invalid Request in place of Remote "
               "Access.",
           .checks = engine::kStandardChecks
                         .with(RequestCheck::KeyKnown, as_invalid_request<right::key_known>)
                         .with(RequestCheck::KeyVariant, as_invalid_request<right::key_variant>)},
    Mutant{.name = "protection_domain_not_compared",
           .rule = "KEY-03",
           .passive = false,
           .description = "A WRITE or atomic by an R_Key of another protection domain is executed.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyDomain, any_domain)},
    Mutant{.name = "access_out_of_range_dropped",
           .rule = "KEY-05",
           .passive = false,
           .description =
               "A request beyond the end of its region is dropped in silence; there is no "
               "NAK and the QP lives on.",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, drop_out_of_range)},
};

} // namespace

std::span<const Mutant> len_key() {
    return mutants;
}

} // namespace veriroce::mutants
