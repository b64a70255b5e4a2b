// Defects of connection management while a program listens: in the REQ as it is read, in the REP,
// and in what ends a connection; and what it may do otherwise than the engine's.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management_filters.hpp"

namespace veriroce::mutants::of_connections {
namespace {

using namespace of_qp1;

// --- the REQ as it is read

void psn_read_too_high(wire::MutableBytes message) {
    if (attribute_of(message) != kReq) return;
    const std::uint32_t psn = wire::load_u24(message, req::kPsnAt);
    wire::store_be<3>(message, req::kPsnAt, (psn + 1) & wire::kMask24);
}
void qpn_read_without_its_middle(wire::MutableBytes message) {
    if (attribute_of(message) == kReq) message[req::kQpnAt + 1] = std::byte{0};
}
void always_1024(wire::MutableBytes message) {
    constexpr std::byte rest{0x0F};
    constexpr std::byte code{0x30};
    if (attribute_of(message) == kReq) message[req::kMtuAt] = (message[req::kMtuAt] & rest) | code;
}
void resources_exchanged(wire::MutableBytes message) {
    if (attribute_of(message) == kReq)
        std::swap(message[req::kResponderResourcesAt], message[req::kInitiatorDepthAt]);
}

// CM-05: each REQ is a new one.
class EachRequestIsNew final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        if (attribute_of(message) != kReq) return true;
        const std::uint64_t transaction = wire::load_u64(message, kTransactionAt);
        const bool again = std::ranges::find(seen_, transaction) != seen_.end();
        seen_.push_back(transaction);
        if (again) message[kTransactionAt] ^= static_cast<std::byte>(seen_.size());
        return true;
    }

    std::vector<std::uint64_t> seen_;
};

std::uint32_t qpn_in(wire::Bytes request) {
    return wire::load_u24(request, req::kQpnAt);
}
std::uint32_t communication_in(wire::Bytes request) {
    return wire::load_u32(request, kLocalIdAt);
}

// The first adapter that has used a number is taken for all that do.
template <std::uint32_t (*number_in)(wire::Bytes)>
class AdapterFoundBy final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        if (attribute_of(message) != kReq) return true;
        const std::uint64_t adapter = wire::load_u64(message, req::kGuidAt);
        const auto known = adapters_.try_emplace(number_in(message), adapter).first;
        wire::store_be<8>(message, req::kGuidAt, known->second);
        return true;
    }

    std::map<std::uint32_t, std::uint64_t> adapters_;
};

// --- the REP

void psn_told_too_low(wire::MutableBytes message) {
    if (attribute_of(message) != kRep) return;
    const std::uint32_t psn = wire::load_u24(message, rep::kPsnAt);
    wire::store_be<3>(message, rep::kPsnAt, (psn - 1) & wire::kMask24);
}
void another_qpn_told(wire::MutableBytes message) {
    if (attribute_of(message) == kRep) message[rep::kQpnAt + 2] ^= std::byte{1};
}
void depth_of_16_told(wire::MutableBytes message) {
    if (attribute_of(message) == kRep) message[rep::kInitiatorDepthAt] = std::byte{16};
}
void rejected_as_unknown(wire::MutableBytes message) {
    constexpr std::uint16_t unknown_service = 8;
    if (attribute_of(message) == kRej) wire::store_be<2>(message, kRejReasonAt, unknown_service);
}

// Whether the message leaves again, by its transaction.
class Latest {
  public:
    bool comes_again(wire::Bytes message) {
        const std::uint64_t transaction = wire::load_u64(message, kTransactionAt);
        return std::exchange(latest_, transaction) == transaction;
    }

  private:
    std::optional<std::uint64_t> latest_;
};

template <std::uint16_t Attribute>
class LeavesOnce final : public MessageFilter {
    bool sends(wire::MutableBytes message) override {
        return attribute_of(message) != Attribute || !latest_.comes_again(message);
    }

    Latest latest_;
};

// CM-01: what its REPs have used up of a connection's retries its DREQs lack.
class RetriesOfAllMessages final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        if (attribute_of(message) == kReq) left_ = wire::load_u8(message, req::kRepeatsAt) >> 4;
        return true;
    }
    bool sends(wire::MutableBytes message) override {
        const std::uint16_t attribute = attribute_of(message);
        if (attribute == kRep && replies_.comes_again(message)) --left_;
        return attribute != kDreq || !ends_.comes_again(message) || left_-- > 0;
    }

    Latest replies_;
    Latest ends_;
    int left_ = 0;
};

// CM-05: a REP that comes again names another PSN.
class NewPsnInEachReply final : public MessageFilter {
    bool sends(wire::MutableBytes message) override {
        if (attribute_of(message) == kRep && latest_.comes_again(message))
            message[rep::kPsnAt + 2] ^= std::byte{1};
        return true;
    }

    Latest latest_;
};

// --- the end

template <std::uint16_t Attribute>
class NeverLeaves final : public MessageFilter {
    bool sends(wire::MutableBytes message) override { return attribute_of(message) != Attribute; }
};

// Knows the QP of the connection that it accepted last.
class KnowsItsQp : public MessageFilter {
  protected:
    bool sends(wire::MutableBytes message) override {
        if (attribute_of(message) == kRep) qpn_ = {wire::load_u24(message, rep::kQpnAt)};
        return true;
    }
    void name_own_qp(wire::MutableBytes message) const {
        if (attribute_of(message) == kDreq) wire::store_be<3>(message, kDreqQpnAt, qpn_.value);
    }

  private:
    wire::Qpn qpn_;
};

// CM-09: a DREQ is obeyed whatever QP it names.
class AnyQpEnds final : public KnowsItsQp {
    bool hears(wire::MutableBytes message) override {
        name_own_qp(message);
        return true;
    }
};

// CM-09: a DREQ names the device's QP and not the peer's.
class OwnQpEnds final : public KnowsItsQp {
    bool sends(wire::MutableBytes message) override {
        name_own_qp(message);
        return KnowsItsQp::sends(message);
    }
};

void another_connection_ended(wire::MutableBytes message) {
    if (attribute_of(message) == kDreq) message[kRemoteIdAt + 3] ^= std::byte{1};
}

constexpr std::array kMutants{
    Mutant{.name = "start_psn_of_the_request_read_too_high",
           .rule = "CM-02",
           .description = "A QP begins to send at the PSN after that of the REQ.",
           .cases = "cm/accept cm/resources",
           .make_filter = make<EditsHeardMessage<psn_read_too_high>>},
    Mutant{.name = "qpn_of_the_request_without_its_middle",
           .rule = "CM-02",
           .description = "Of the QPN in a REQ the middle byte is read as 0.",
           .cases = "cm/accept cm/resources",
           .make_filter = make<EditsHeardMessage<qpn_read_without_its_middle>>},
    Mutant{.name = "path_mtu_of_the_request_ignored",
           .rule = "CM-02",
           .description = "The path MTU is 1024, whatever the REQ asks for.",
           .cases = "cm/accept",
           .make_filter = make<EditsHeardMessage<always_1024>>},
    Mutant{.name = "resources_of_the_request_exchanged",
           .rule = "CM-03",
           .description = "The initiator depth of a REQ is taken for its responder resources.",
           .cases = "cm/resources",
           .make_filter = make<EditsHeardMessage<resources_exchanged>>},
    Mutant{.name = "each_request_is_a_new_connection",
           .rule = "CM-05",
           .description = "A REQ that comes again asks the program once more.",
           .cases = "cm/request-again",
           .make_filter = make<EachRequestIsNew>},
    Mutant{.name = "start_psn_of_the_reply_too_low",
           .rule = "CM-02",
           .description = "A REP names the PSN before the one that its QP waits for.",
           .cases = "cm/accept cm/fewer-resources",
           .make_filter = make<EditsSentMessage<psn_told_too_low>>},
    Mutant{.name = "reply_names_another_qp",
           .rule = "CM-02",
           .description = "A REP names a neighbouring QPN.",
           .cases = "cm/accept cm/fewer-resources",
           .make_filter = make<EditsSentMessage<another_qpn_told>>},
    Mutant{.name = "reply_with_the_greatest_depth",
           .rule = "CM-03",
           .description = "The initiator depth of a REP is 16, whatever the REQ allows.",
           .cases = "cm/fewer-resources cm/resources",
           .make_filter = make<EditsSentMessage<depth_of_16_told>>},
    Mutant{.name = "reply_leaves_once",
           .rule = "CM-01",
           .description = "A REP that no RTU follows does not leave again.",
           .cases = "cm/reply-without-rtu",
           .make_filter = make<LeavesOnce<kRep>>},
    Mutant{.name = "repeated_reply_names_another_psn",
           .rule = "CM-05",
           .description = "A REP that leaves again names another PSN.",
           .cases = "cm/reply-without-rtu",
           .make_filter = make<NewPsnInEachReply>},
    Mutant{.name = "ready_to_use_ignored",
           .rule = "CM-01",
           .description = "An RTU changes nothing: the REP goes on leaving.",
           .cases = "cm/accept",
           .make_filter = make<DropsInbound<carries<kRtu>>>},
    Mutant{.name = "mra_ignored",
           .rule = "CM-10",
           .level = "SHOULD",
           .description = "An MRA makes no REP wait.",
           .cases = "cm/mra-before-rtu",
           .make_filter = make<DropsInbound<carries<kMra>>>},
    Mutant{.name = "each_reject_says_unknown_service",
           .rule = "CM-07",
           .level = "SHOULD",
           .description = "Each REJ has reason 8, whatever the reason is.",
           .cases = "cm/peer-forgot cm/refused-by-the-program",
           .make_filter = make<EditsSentMessage<rejected_as_unknown>>},
    Mutant{.name = "end_of_a_connection_unanswered",
           .rule = "CM-09",
           .description = "A DREQ gets no DREP.",
           .cases = "cm/ended-by-the-peer",
           .make_filter = make<NeverLeaves<kDrep>>},
    Mutant{.name = "end_of_any_qp_obeyed",
           .rule = "CM-09",
           .description = "A DREQ ends the connection even if it names another QP.",
           .cases = "cm/end-of-another-qp",
           .make_filter = make<AnyQpEnds>},
    Mutant{.name = "disconnect_request_names_own_qp",
           .rule = "CM-09",
           .description = "A DREQ names the QP of its sender and not the receiver's.",
           .cases = "cm/ended-by-the-program cm/retries-of-each-message",
           .make_filter = make<OwnQpEnds>},
    Mutant{.name = "disconnect_request_leaves_once",
           .rule = "CM-01",
           .description = "A DREQ without a DREP does not leave again.",
           .cases = "cm/ended-by-the-program",
           .make_filter = make<LeavesOnce<kDreq>>},
    Mutant{.name = "stale_connection_found_by_qpn_alone",
           .rule = "CM-08",
           .level = "SHOULD",
           .description =
               "A REQ of another adapter that names a connected QPN ends that connection.",
           .cases = "cm/same-qpn-of-another-adapter",
           .make_filter = make<AdapterFoundBy<qpn_in>>},
    Mutant{.name = "requests_told_apart_without_their_adapter",
           .rule = "CM-05",
           .description = "A REQ with the IDs of another adapter's REQ is taken for that one.",
           .cases = "cm/new-from-another-adapter",
           .make_filter = make<AdapterFoundBy<communication_in>>},
    Mutant{.name = "retries_of_a_connection_not_of_a_message",
           .rule = "CM-01",
           .description = "A DREQ is repeated only as often as the connection's REPs have left.",
           .cases = "cm/retries-of-each-message",
           .make_filter = make<RetriesOfAllMessages>},
    Mutant{.name = "disconnect_request_names_another_connection",
           .rule = "CM-09",
           .description = "A DREQ names a connection that the peer does not have.",
           .cases = "cm/ended-by-the-program",
           .make_filter = make<EditsSentMessage<another_connection_ended>>},
};

// --- what it may do as well

class RepeatedRequestsUnanswered final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        if (attribute_of(message) != kReq) return true;
        if (std::ranges::equal(latest_, message)) return false;
        latest_.assign(message.begin(), message.end());
        return true;
    }

    std::vector<std::byte> latest_;
};

// N-34: a peer that does not answer hears no REJ.
class GivesUpInSilence final : public MessageFilter {
    bool sends(wire::MutableBytes message) override {
        return attribute_of(message) != kRej || message[kMessageAt] == std::byte{0};
    }
};

constexpr std::array kOddities{
    Mutant{.name = "repeated_requests_unanswered",
           .rule = "CM-05",
           .description = "A REQ that comes again gets no answer.",
           .make_filter = make<RepeatedRequestsUnanswered>},
    Mutant{.name = "gives_up_in_silence",
           .rule = "N-34",
           .description = "A connection for which no RTU comes ends without a REJ.",
           .make_filter = make<GivesUpInSilence>},
};

} // namespace
} // namespace veriroce::mutants::of_connections

namespace veriroce::mutants {

std::span<const Mutant> connections() {
    return of_connections::kMutants;
}

std::span<const Mutant> lawful_connections() {
    return of_connections::kOddities;
}

} // namespace veriroce::mutants
