// Defects in lengths and keys.
#include <map>
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/psn_shift.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_len_key {
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

bool empty_send(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && packet->info().operation == wire::Operation::Send && packet->body.empty();
}

void empty_write_as_one_byte(wire::Packet& packet) {
    if (packet.info().operation == wire::Operation::RdmaWrite && packet.reth.dma_length == 0) {
        packet.reth.dma_length = 1;
    }
}

void last_as_middle(wire::Packet& packet) {
    if (packet.bth.opcode == *wire::opcode_by_name("SEND_LAST")) {
        packet.bth.opcode = *wire::opcode_by_name("SEND_MIDDLE");
    }
}

// OPC-09: the rights of the QP are looked at where the key is, which a READ of no bytes has none
// of.
RequestVerdict rights_of_bytes_alone(const RequestView& view) {
    const bool empty_read =
        view.info.operation == wire::Operation::RdmaReadRequest && view.packet.reth.dma_length == 0;
    return empty_read ? RequestVerdict::Accept : right::rights(view);
}

// KEY-09: a LOCAL_INV closes the window before it is seen that another QP has bound it.
class ForeignInvalidateCloses final : public QpFilter<Nothing> {
  public:
    void posting_send(wire::Qpn qpn, engine::SendRequest& request) override {
        if (request.opcode == engine::WrOpcode::BindMw) owners_[request.rkey] = qpn;
        if (request.opcode != engine::WrOpcode::LocalInv) return;
        const auto owner = owners_.find(request.invalidate_rkey);
        if (owner != owners_.end() && owner->second != qpn) closed_.insert(owner->first);
    }

  protected:
    void arrives(Qp& /*qp*/, Passage& passage) override {
        wire::Rkey& rkey = passage.packet.reth.rkey;
        if (closed_.contains(rkey)) rkey.value ^= 0xFF;
    }

  private:
    std::map<wire::Rkey, wire::Qpn> owners_;
    std::set<wire::Rkey> closed_;
};

// A device that takes keys of windows for invalid too early.
class LosesWindows : public engine::SurfaceFilter {
  public:
    void posting_send(wire::Qpn /*qpn*/, engine::SendRequest& request) override {
        if (request.opcode != engine::WrOpcode::BindMw) return;
        bound_.insert(request.rkey);
        lost_.erase(request.rkey);
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet) look_at(*packet);
        const bool names_key = packet && packet->headers.has(wire::Header::Reth);
        if (names_key && lost_.contains(packet->reth.rkey)) {
            packet->reth.rkey = {};
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }

  protected:
    virtual void look_at(const wire::Packet& /*packet*/) {}

    std::set<wire::Rkey> bound_;
    std::set<wire::Rkey> lost_;
};

// KEY-09: RESET of any QP walks over all windows.
class LosesWindowsWithAnyQp final : public LosesWindows {
  public:
    void modifying(wire::Qpn /*qpn*/, engine::QpAttributes& attributes) override {
        if (attributes.state == engine::QpState::Reset) lost_ = bound_;
    }
};

// RSP-10: a SEND with Invalidate that comes again is carried out again.
class InvalidatesAgain final : public LosesWindows {
    void look_at(const wire::Packet& packet) override {
        if (!packet.info().invalidates()) return;
        const bool first = seen_.insert({packet.bth.dest_qp, packet.bth.psn.value()}).second;
        if (!first) lost_.insert(packet.ieth.rkey);
    }

    std::set<std::pair<wire::Qpn, std::uint32_t>> seen_;
};

constexpr std::array kMutants{
    Mutant{.name = "short_middle_accepted",
           .rule = "LEN-01",
           .passive = false,
           .description = "FIRST and MIDDLE of less than one PMTU are accepted as long as they are "
                          "not longer.",
           .cases = "len/first len/middle",
           .checks = engine::kStandardChecks.with(RequestCheck::PayloadLength, short_middle)},
    Mutant{.name = "zero_read_moves_no_psn",
           .rule = "LEN-07",
           .passive = true,
           .description = "A READ of length 0 is answered, but ePSN does not advance: the next "
                          "request gets a sequence NAK.",
           .cases = "len/zero-length-read",
           .make_filter = make<ShiftsPsns<executed_empty_read>>},
    Mutant{.name = "unknown_key_is_invalid_request",
           .rule = "KEY-02",
           .passive = false,
           .description = "An unknown R_Key gets NAK Invalid Request instead of Remote Access.",
           .cases = "ext/atomic-write-keys key/deregistered key/other-key-writes "
                    "key/region-lost-inside-a-write key/send-with-invalidate key/unknown-rkey "
                    "key/window-bound-to-nothing key/window-destroyed key/window-invalidated",
           .checks = engine::kStandardChecks
                         .with(RequestCheck::KeyKnown, as_invalid_request<right::key_known>)
                         .with(RequestCheck::KeyVariant, as_invalid_request<right::key_variant>)},
    Mutant{.name = "protection_domain_not_compared",
           .rule = "KEY-03",
           .passive = false,
           .description = "A WRITE or atomic by an R_Key of another protection domain is executed.",
           .cases = "key/other-domain",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyDomain, any_domain)},
    Mutant{.name = "access_out_of_range_dropped",
           .rule = "KEY-05",
           .passive = false,
           .description =
               "A request beyond the end of its region is dropped in silence; there is no "
               "NAK and the QP lives on.",
           .cases = "key/address-bits key/every-end-of-a-read key/length-bits "
                    "key/out-of-range key/window-zero-based-alone",
           .checks = engine::kStandardChecks.with(RequestCheck::KeyRange, drop_out_of_range)},
    Mutant{.name = "empty_send_dropped",
           .rule = "LEN-03",
           .description = "SENDs without payload are dropped.",
           .cases = "len/only-good",
           .make_filter = make<DropsInbound<empty_send>>},
    Mutant{.name = "empty_write_needs_a_key",
           .rule = "LEN-08",
           .description = "A WRITE of zero bytes is judged as one of one byte.",
           .cases = "len/zero-length-write",
           .make_filter = make<EditsInbound<empty_write_as_one_byte>>},
    Mutant{.name = "last_sent_as_middle",
           .rule = "LEN-10",
           .description = "The last packet of a SEND leaves as SEND MIDDLE.",
           .cases = "len/segments req/whole-packets",
           .make_filter = make<EditsOutbound<last_as_middle>>},
    Mutant{.name = "foreign_window_closed_by_local_invalidate",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "A local invalidate of a window that another QP has bound fails, and "
                          "closes the window.",
           .cases = "key/window-invalidated-from-another-qp",
           .make_filter = make<ForeignInvalidateCloses>},
    Mutant{.name = "empty_read_ignores_the_rights_of_the_qp",
           .rule = "OPC-09",
           .description = "A READ of zero bytes is answered on a QP that allows no READs.",
           .cases = "key/qp-rights-of-empty-requests",
           .checks = engine::kStandardChecks.with(RequestCheck::Rights, rights_of_bytes_alone)},
    Mutant{.name = "windows_lost_with_any_qp",
           .rule = "KEY-09",
           .level = "SHOULD",
           .description = "RESET of a QP takes the windows of all QPs.",
           .cases = "key/window-while-another-qp-is-reset",
           .make_filter = make<LosesWindowsWithAnyQp>},
    Mutant{.name = "duplicate_invalidates_again",
           .rule = "RSP-10",
           .description = "A SEND with Invalidate that comes again takes its key again.",
           .cases = "rsp/duplicate-invalidate-of-a-key-bound-again",
           .make_filter = make<InvalidatesAgain>},
};

} // namespace
} // namespace veriroce::mutants::of_len_key

namespace veriroce::mutants {

std::span<const Mutant> len_key() {
    return of_len_key::kMutants;
}

} // namespace veriroce::mutants
