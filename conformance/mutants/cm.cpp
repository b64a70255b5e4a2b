// Defects at QP 1: in the messages of connection management, and in what it takes for one; and what
// a host without listeners may do otherwise than the engine's.
#include <algorithm>
#include <set>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/management_filters.hpp"

namespace veriroce::mutants::of_cm {
namespace {

using namespace of_qp1;

// --- in what is sent

void transaction_forgotten(wire::MutableBytes message) {
    std::ranges::fill(message.subspan(kTransactionAt, 8), std::byte{0});
}
void transaction_of_32_bits(wire::MutableBytes message) {
    std::ranges::fill(message.subspan(kTransactionAt, 4), std::byte{0});
}
void consumer_rejects(wire::MutableBytes message) {
    constexpr std::uint16_t consumer = 28;
    if (attribute_of(message) == kRej) wire::store_be<2>(message, kRejReasonAt, consumer);
}
void ids_not_exchanged(wire::MutableBytes message) {
    const std::uint16_t attribute = attribute_of(message);
    if (attribute != kRej && attribute != kDrep) return;
    std::swap_ranges(message.begin() + kLocalIdAt, message.begin() + kRemoteIdAt,
                     message.begin() + kRemoteIdAt);
}
void request_id_forgotten(wire::MutableBytes message) {
    if (attribute_of(message) == kSidrRep) wire::store_be<4>(message, kLocalIdAt, 0U);
}
void response_bit_set(wire::MutableBytes message) {
    message[3] |= std::byte{0x80};
}

void to_another_qp(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn)
        packet.bth.dest_qp = {2};
}
void from_another_qp(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn)
        packet.deth.source_qp = {2};
}
void without_the_well_known_key(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn)
        packet.deth.qkey = {0x11111111};
}

// N-31: a storm of them.
class AnswersComeFourTimes final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::size_t more = 3;
        if (is_for_qp1(datagram.bytes)) out.insert(out.end(), more, datagram);
        out.push_back(std::move(datagram));
    }
};

// --- in what is heard

void any_base_version(wire::MutableBytes message) {
    message[0] = std::byte{1};
}
void any_class(wire::MutableBytes message) {
    message[1] = std::byte{7};
}
void any_class_version(wire::MutableBytes message) {
    message[2] = std::byte{2};
}
void response_bit_ignored(wire::MutableBytes message) {
    message[3] &= std::byte{0x7F};
}
// What is no REQ but begins with the ids of a connection is rejected as one.
void whatever_comes_rejected(wire::MutableBytes message) {
    const std::uint16_t attribute = attribute_of(message);
    if (attribute > kReq && attribute < kDrep - 1) wire::store_be<2>(message, kAttributeAt, kReq);
}
void replies_to_nobody_rejected(wire::MutableBytes message) {
    if (attribute_of(message) == kRep) wire::store_be<2>(message, kAttributeAt, kReq);
}

void any_queue_key(wire::Packet& packet) {
    if (packet.info().service == wire::Service::Ud && packet.bth.dest_qp == wire::kGsiQpn)
        packet.deth.qkey = wire::kGsiQkey;
}

// The rest of a short message is what the buffer holds.
class ShortOnesCompleted final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        constexpr std::size_t least = 24;
        constexpr std::size_t whole = kHeaderBytes + wire::kMadBytes;
        auto packet = wire::decode_packet(datagram.bytes);
        const bool mine = is_for_qp1(datagram.bytes) && packet;
        if (mine && packet->payload().size() >= least && datagram.bytes.size() < whole) {
            datagram.bytes.resize(whole);
        } else if (mine && packet->bth.pad != 0 && datagram.bytes.size() == whole) {
            packet->bth.pad = 0;
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }
};

class LongOnesCut final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_for_qp1(datagram.bytes) && packet->payload().size() > wire::kMadBytes) {
            packet->body = packet->body.first(wire::kMadBytes);
            packet->bth.pad = 0;
            datagram.bytes = bytes_of(*packet);
        }
        in.push_back(std::move(datagram));
    }
};

// N-31: whatever is malformed ends QP 1.
class DeafAfterAMalformedOne final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (is_for_qp1(datagram.bytes)) {
            const auto message = datagram_in(datagram);
            deaf_ = deaf_ || message.empty() || message[0] != std::byte{1};
            if (deaf_) return;
        }
        in.push_back(std::move(datagram));
    }

  private:
    bool deaf_ = false;
};

// CA17-34, CA17-35: a device that routes by LIDs.
bool has_lids(wire::Bytes request) {
    return wire::load_u32(request, req::kPrimaryLidsAt) != 0 ||
           wire::load_u32(request, req::kAlternateLidsAt) != 0;
}

bool is_request_with_lids(const engine::OwnedDatagram& datagram) {
    if (datagram.bytes.size() < kHeaderBytes + wire::kMadBytes || !is_for_qp1(datagram.bytes))
        return false;
    const wire::Bytes message = wire::Bytes(datagram.bytes).subspan(kHeaderBytes);
    return attribute_of(message) == kReq && has_lids(message);
}

class LidsRejected final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (is_for_qp1(datagram.bytes)) with_lids_ = is_request_with_lids(datagram);
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::uint16_t invalid_lid = 13;
        const auto message = datagram_in(datagram);
        if (with_lids_ && !message.empty() && attribute_of(message) == kRej)
            wire::store_be<2>(message, kRejReasonAt, invalid_lid);
        out.push_back(std::move(datagram));
    }

  private:
    bool with_lids_ = false; // the request that came last
};

// CM-05: the second of two equal requests is taken for the first one's confirmation.
class RepeatedRequestAccepted final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto message = datagram_in(datagram);
        if (!message.empty() && attribute_of(message) == kReq) {
            const std::uint64_t transaction = wire::load_u64(message, kTransactionAt);
            repeated_ = last_ == transaction;
            last_ = transaction;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto message = datagram_in(datagram);
        if (repeated_ && !message.empty()) wire::store_be<2>(message, kAttributeAt, kRep);
        out.push_back(std::move(datagram));
    }

  private:
    std::optional<std::uint64_t> last_; // transaction
    bool repeated_ = false;
};

// CA17-37: an alternate path is refused for its LIDs.
class AlternateLidsRejected final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto message = datagram_in(datagram);
        path_ = !message.empty() && attribute_of(message) == kLap;
        if (path_) wire::store_be<2>(message, kAttributeAt, kReq);
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        constexpr std::size_t status_at = kRejReasonAt - 1;
        constexpr std::byte lid_rejected{7};
        const auto message = datagram_in(datagram);
        if (path_ && !message.empty()) {
            wire::store_be<2>(message, kAttributeAt, kApr);
            wire::store_be<2>(message, kRejReasonAt, 0);
            message[status_at] = lid_rejected;
        }
        out.push_back(std::move(datagram));
    }

  private:
    bool path_ = false; // what came last was a LAP
};

constexpr std::array kMutants{
    Mutant{.name = "repeated_request_accepted",
           .rule = "CM-05",
           .description = "A REQ that comes again gets a REP.",
           .cases = "cm/repeated-request",
           .make_filter = make<RepeatedRequestAccepted>},
    Mutant{.name = "alternate_lids_rejected",
           .rule = "CA17-37",
           .description = "A LAP gets an APR with status 7, LID rejected.",
           .cases = "cm/lids-of-alternate-path",
           .make_filter = make<AlternateLidsRejected>},
    Mutant{.name = "transaction_not_repeated",
           .rule = "N-30",
           .description = "Answers at QP 1 have transaction id 0.",
           .cases = "cm/answer-form cm/unknown-service",
           .make_filter = make<EditsSentMessage<transaction_forgotten>>},
    Mutant{.name = "half_a_transaction_repeated",
           .rule = "N-30",
           .description = "Answers at QP 1 repeat the lower half of the transaction id alone.",
           .cases = "cm/answer-form cm/unknown-service",
           .make_filter = make<EditsSentMessage<transaction_of_32_bits>>},
    Mutant{.name = "unknown_service_rejected_by_the_consumer",
           .rule = "CM-06",
           .description = "A REQ for an unknown service gets REJ 28, consumer reject.",
           .cases = "cm/several-requests cm/unknown-service",
           .make_filter = make<EditsSentMessage<consumer_rejects>>},
    Mutant{.name = "connection_ids_not_exchanged",
           .rule = "CM-09",
           .description =
               "REJ and DREP have the ids of the message that they answer, in its order.",
           .cases = "cm/unknown-connection cm/unknown-service",
           .make_filter = make<EditsSentMessage<ids_not_exchanged>>},
    Mutant{.name = "request_id_not_repeated",
           .rule = "N-30",
           .description = "SIDR_REP has request id 0.",
           .cases = "cm/unknown-datagram-service",
           .make_filter = make<EditsSentMessage<request_id_forgotten>>},
    Mutant{.name = "answers_with_the_response_bit",
           .rule = "N-30",
           .description = "Messages of connection management leave with the response bit set.",
           .cases = "cm/answer-form",
           .make_filter = make<EditsSentMessage<response_bit_set>>},
    Mutant{.name = "management_answers_to_another_qp",
           .rule = "N-30",
           .description = "Answers of QP 1 go to QP 2.",
           .cases = "cm/answer-form cm/unknown-service",
           .make_filter = make<EditsOutbound<to_another_qp>>},
    Mutant{.name = "management_answers_from_another_qp",
           .rule = "N-30",
           .description = "Answers of QP 1 name QP 2 as their source.",
           .cases = "cm/answer-form cm/unknown-service",
           .make_filter = make<EditsOutbound<from_another_qp>>},
    Mutant{.name = "management_answers_with_another_key",
           .rule = "N-30",
           .description = "Answers of QP 1 have Q_Key 0x11111111.",
           .cases = "cm/answer-form cm/unknown-service",
           .make_filter = make<EditsOutbound<without_the_well_known_key>>},
    Mutant{.name = "management_answers_four_times",
           .rule = "N-31",
           .description = "Each answer of QP 1 leaves four times.",
           .cases = "cm/several-requests cm/unknown-service",
           .make_filter = make<AnswersComeFourTimes>},
    Mutant{.name = "base_version_not_checked",
           .rule = "N-31",
           .description = "Datagrams to QP 1 are taken whatever their base version is.",
           .cases = "cm/versions",
           .make_filter = make<EditsHeardMessage<any_base_version>>},
    Mutant{.name = "class_version_not_checked",
           .rule = "CM-11",
           .description = "Messages of any class version are served.",
           .cases = "cm/versions",
           .make_filter = make<EditsHeardMessage<any_class_version>>},
    Mutant{.name = "management_class_not_checked",
           .rule = "N-31",
           .description = "Datagrams of any class are taken for connection management.",
           .cases = "cm/class-and-method",
           .make_filter = make<EditsHeardMessage<any_class>>},
    Mutant{.name = "response_bit_not_checked",
           .rule = "N-31",
           .description = "Messages with the response bit are served like others.",
           .cases = "cm/class-and-method",
           .make_filter = make<EditsHeardMessage<response_bit_ignored>>},
    Mutant{.name = "queue_key_of_management_not_checked",
           .rule = "CM-11",
           .description = "QP 1 takes datagrams with any Q_Key.",
           .cases = "cm/queue-key",
           .make_filter = make<EditsInbound<any_queue_key>>},
    Mutant{.name = "short_datagrams_completed",
           .rule = "CM-11",
           .description = "What a short message lacks is read as zeros.",
           .cases = "cm/short-datagrams",
           .make_filter = make<ShortOnesCompleted>},
    Mutant{.name = "long_datagrams_cut",
           .rule = "CM-11",
           .description = "Of a longer datagram the first 256 bytes are served.",
           .cases = "cm/long-datagrams",
           .make_filter = make<LongOnesCut>},
    Mutant{.name = "deaf_after_a_malformed_datagram",
           .rule = "N-31",
           .description = "After a malformed datagram QP 1 hears nothing any more.",
           .cases = "cm/short-datagrams cm/versions",
           .make_filter = make<DeafAfterAMalformedOne>},
    Mutant{.name = "requests_with_lids_dropped",
           .rule = "CA17-34",
           .description = "A REQ with LIDs gets no answer.",
           .cases = "cm/lids",
           .make_filter = make<DropsInbound<is_request_with_lids>>},
    Mutant{.name = "lids_rejected",
           .rule = "N-33",
           .description = "A REQ with LIDs gets REJ 13.",
           .cases = "cm/lids",
           .make_filter = make<LidsRejected>},
    Mutant{.name = "stray_messages_rejected",
           .rule = "N-32",
           .level = "SHOULD",
           .description = "MRA, REJ, REP and RTU of no connection get REJ 8.",
           .cases = "cm/behind-many-ignored cm/stray-messages",
           .make_filter = make<EditsHeardMessage<whatever_comes_rejected>>},
    Mutant{.name = "stray_reply_rejected_as_request",
           .rule = "N-31",
           .description = "A REP of no connection gets REJ 8.",
           .cases = "cm/stray-reply",
           .make_filter = make<EditsHeardMessage<replies_to_nobody_rejected>>},
};

// --- what a host may do as well

// Serves a message as a REQ and gives another reason, where Unusual says so.
template <bool (*Unusual)(wire::MutableBytes), std::uint16_t Reason>
class RejectsForAnotherReason final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto message = datagram_in(datagram);
        unusual_ = !message.empty() && Unusual(message);
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto message = datagram_in(datagram);
        if (unusual_ && !message.empty() && attribute_of(message) == kRej)
            wire::store_be<2>(message, kRejReasonAt, Reason);
        out.push_back(std::move(datagram));
    }

  private:
    bool unusual_ = false; // the message that came last
};

bool mend_class_version(wire::MutableBytes message) {
    const bool wrong = message[2] != std::byte{2};
    if (attribute_of(message) == kReq) any_class_version(message);
    return wrong;
}
bool mend_stray_reply(wire::MutableBytes message) {
    const bool reply = attribute_of(message) == kRep;
    replies_to_nobody_rejected(message);
    return reply;
}

// A connection is known by the number that a REP gave it.
class UnknownEndsInSilence final : public MessageFilter {
    bool hears(wire::MutableBytes message) override {
        return attribute_of(message) != kDreq ||
               known_.contains(wire::load_u32(message, kRemoteIdAt));
    }
    bool sends(wire::MutableBytes message) override {
        if (attribute_of(message) == kRep) known_.insert(wire::load_u32(message, kLocalIdAt));
        return true;
    }

    std::set<std::uint32_t> known_;
};

constexpr std::array kOddities{
    Mutant{.name = "unknown_connections_end_in_silence",
           .rule = "CM-09",
           .description = "A DREQ for an unknown connection gets no answer.",
           .make_filter = make<UnknownEndsInSilence>},
    Mutant{.name = "datagram_services_unanswered",
           .rule = "N-30",
           .description = "A SIDR_REQ gets no answer.",
           .make_filter = make<DropsInbound<carries<kSidrReq>>>},
    Mutant{.name = "wrong_class_version_rejected",
           .rule = "CM-11",
           .description = "A REQ of another class version gets REJ 31.",
           .make_filter = make<RejectsForAnotherReason<mend_class_version, 31>>},
    Mutant{.name = "stray_reply_rejected",
           .rule = "N-31",
           .description = "A REP of no connection gets REJ 6, invalid communication id.",
           .make_filter = make<RejectsForAnotherReason<mend_stray_reply, 6>>},
};

} // namespace
} // namespace veriroce::mutants::of_cm

namespace veriroce::mutants {

std::span<const Mutant> cm() {
    return of_cm::kMutants;
}

std::span<const Mutant> lawful_cm() {
    return of_cm::kOddities;
}

} // namespace veriroce::mutants
