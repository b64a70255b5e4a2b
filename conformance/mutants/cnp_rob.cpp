// Defects with packets that a careless parser takes for requests.
#include <map>

#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/qp_filter.hpp"

namespace veriroce::mutants::of_cnp_rob {
namespace {

struct NewestRequest {
    std::optional<wire::Psn> psn;
};

bool is_cnp(const wire::Packet& packet) {
    return packet.bth.opcode == wire::kCnpOpcode;
}

bool is_short_cnp(const wire::Packet& packet) {
    constexpr std::size_t cnp_body_bytes = 16;
    return is_cnp(packet) && packet.body.size() < cnp_body_bytes;
}

// CNP-12. A CNP's PSN is 0; taken as far ahead, it is a gap wherever ePSN stands.
template <bool (*taken)(const wire::Packet&)>
class CnpIsARequest final : public QpFilter<NewestRequest> {
  protected:
    void arrives(Qp& qp, Passage& passage) override {
        wire::Packet& packet = passage.packet;
        if (packet.info().request()) qp.memory.psn = packet.bth.psn;
        if (!taken(packet)) return;
        set_opcode(packet, wire::Operation::Send, wire::Position::Only);
        packet.bth.psn = qp.memory.psn.value_or(qp.first_request()) + kFarAhead;
    }
};

constexpr std::uint8_t kUsualDscp = engine::NotificationPoint{}.dscp;

// Packets that draw a CNP from a filter, whatever the engine does.
template <bool (*draws)(const wire::Packet&, std::uint8_t ecn)>
class DrawsCnp : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.dest_qp) peers_[report.qpn] = *report.attributes.dest_qp;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& answers) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && draws(*packet, datagram.envelope.ecn)) {
            const auto cnp = notification(peers_[packet->bth.dest_qp], packet->bth.pkey);
            auto& answer = answers.emplace_back();
            answer = {.envelope = back(datagram.envelope), .bytes = bytes_of(cnp)};
            answer.envelope.dscp = kUsualDscp;
        }
        in.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Qpn> peers_; // by our QPN
};

// CNP-03
bool is_capable_request(const wire::Packet& packet, std::uint8_t ecn) {
    return packet.info().request() && ecn != 0 && ecn != wire::kCongestionExperienced;
}

// CNP-04: at once, and whether or not the notification point is on.
bool is_marked_request(const wire::Packet& packet, std::uint8_t ecn) {
    return packet.info().request() && packet.info().service == wire::Service::Rc &&
           ecn == wire::kCongestionExperienced;
}
class EachMarkDrawsCnp final : public DrawsCnp<is_marked_request> {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !is_cnp(*packet)) out.push_back(std::move(datagram));
    }
};

// CNP-12, N-35
bool is_marked_cnp(const wire::Packet& packet, std::uint8_t ecn) {
    return is_cnp(packet) && ecn == wire::kCongestionExperienced;
}

// CNP-06
class CnpHasTheUsualDscp final : public engine::SurfaceFilter {
  public:
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && is_cnp(*packet)) datagram.envelope.dscp = kUsualDscp;
        out.push_back(std::move(datagram));
    }
};

// CNP-02, N-35: the CNP names the QP that received the marked datagram.
class CnpNamesReceiver final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (packet && packet->headers.has(wire::Header::Deth))
            receivers_[packet->deth.source_qp] = packet->bth.dest_qp;
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        auto packet = wire::decode_packet(datagram.bytes);
        const auto receiver = packet ? receivers_.find(packet->bth.dest_qp) : receivers_.end();
        if (receiver != receivers_.end() && is_cnp(*packet)) {
            packet->bth.dest_qp = receiver->second;
            datagram.bytes = bytes_of(*packet);
        }
        out.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::Qpn> receivers_; // by the QPN of the sender
};

// CNP-01: each mark restarts the interval, even a mark that draws no CNP.
class EachMarkBeginsInterval final : public engine::SurfaceFilter {
  public:
    void inbound(engine::OwnedDatagram datagram, wire::Instant now,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        if (datagram.envelope.ecn == wire::kCongestionExperienced) {
            too_early_ = last_ && now - *last_ < kInterval;
            last_ = now;
        }
        in.push_back(std::move(datagram));
    }
    void outbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                  std::vector<engine::OwnedDatagram>& out) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        if (!packet || !is_cnp(*packet) || !too_early_) out.push_back(std::move(datagram));
    }

  private:
    static constexpr wire::Duration kInterval = std::chrono::milliseconds(1);
    std::optional<wire::Instant> last_; // when the latest mark came
    bool too_early_ = false;            // the latest mark came within the interval
};

// CA17-45
bool holds_cnp(const engine::OwnedDatagram& datagram) {
    const auto packet = wire::decode_packet(datagram.bytes);
    return packet && is_cnp(*packet);
}

// CNP-10
class CnpOfAnybodyObeyed final : public engine::SurfaceFilter {
  public:
    void qp_changed(const engine::QpReport& report) override {
        if (report.attributes.address) peers_[report.qpn] = report.attributes.address->destination;
    }
    void inbound(engine::OwnedDatagram datagram, wire::Instant /*now*/,
                 std::vector<engine::OwnedDatagram>& in,
                 std::vector<engine::OwnedDatagram>& /*answers*/) override {
        const auto packet = wire::decode_packet(datagram.bytes);
        const auto peer = packet ? peers_.find(packet->bth.dest_qp) : peers_.end();
        if (peer != peers_.end() && is_cnp(*packet)) datagram.envelope.source = peer->second;
        in.push_back(std::move(datagram));
    }

  private:
    std::map<wire::Qpn, wire::IpAddress> peers_; // by our QPN
};

// ROB-02: payload bytes less pad bytes, in 32 bits. The packet goes in as an empty SEND, whose
// immediate value tells the completion how much less.
constexpr std::uint32_t kMarked = 0x5AD0F000;
constexpr std::uint32_t kMarkBits = 0xFFFFFFFC; // a pad count has two bits

void mark_underflow(wire::Packet& packet) {
    const wire::OpcodeInfo& info = packet.info();
    if (info.operation != wire::Operation::Send || info.position != wire::Position::Only ||
        info.invalidates() || !packet.pad_exceeds_body()) {
        return;
    }
    const auto less = static_cast<std::uint32_t>(packet.bth.pad - packet.body.size());
    set_opcode(packet, wire::Operation::Send, wire::Position::Only, true);
    packet.imm.value = kMarked | less;
    packet.bth.pad = 0;
    packet.body = {};
}

class PadUnderflows final : public EditsInbound<mark_underflow> {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& completion) override {
        engine::Completion seen = completion;
        if (seen.imm && (*seen.imm & kMarkBits) == kMarked) {
            seen.byte_len = 0U - (*seen.imm & ~kMarkBits);
            seen.imm.reset();
        }
        return seen;
    }
};

class StaysPaused final : public engine::SurfaceFilter {
  public:
    std::optional<engine::OwnedDatagram> admit(wire::Bytes frame, wire::Instant /*now*/) override {
        constexpr std::size_t ether_type_at = 12;
        constexpr std::uint16_t mac_control = 0x8808;
        paused_ = paused_ || wire::load_u16(frame, ether_type_at) == mac_control;
        return paused_ ? std::optional(engine::OwnedDatagram{}) : std::nullopt;
    }

  private:
    bool paused_ = false;
};

constexpr std::array kMutants{
    Mutant{.name = "cnp_taken_for_a_request",
           .rule = "CNP-12",
           .passive = true,
           .description =
               "A CNP goes through the sequence check of its QP and gets a sequence NAK.",
           .cases = "cnp/among-requests cnp/not-answered",
           .make_filter = make<CnpIsARequest<is_cnp>>},
    Mutant{.name = "cnp_for_every_capable_packet",
           .rule = "CNP-03",
           .description = "Requests marked ECT draw a CNP, as if they were marked CE.",
           .cases = "cnp/without-mark",
           .make_filter = make<DrawsCnp<is_capable_request>>},
    Mutant{.name = "each_mark_draws_a_cnp",
           .rule = "CNP-04",
           .level = "SHOULD",
           .description =
               "Every marked request draws a CNP, whatever the interval, and even if the "
               "notification point is off.",
           .cases = "cnp/configured-interval cnp/switched-off",
           .make_filter = make<EachMarkDrawsCnp>},
    Mutant{.name = "cnp_dscp_is_not_set",
           .rule = "CNP-06",
           .level = "SHOULD",
           .description = "CNPs have DSCP 48, whatever is configured.",
           .cases = "cnp/configured-dscp",
           .make_filter = make<CnpHasTheUsualDscp>},
    Mutant{.name = "short_cnp_taken_for_a_request",
           .rule = "CNP-12",
           .description = "A CNP of fewer than 16 bytes gets a sequence NAK.",
           .cases = "cnp/malformed",
           .make_filter = make<CnpIsARequest<is_short_cnp>>},
    Mutant{.name = "marked_cnp_draws_a_cnp",
           .rule = "CNP-12",
           .level = "SHOULD",
           .description =
               "A marked CNP draws a CNP, so two such devices exchange CNPs without end.",
           .cases = "cnp/marked-cnp",
           .make_filter = make<DrawsCnp<is_marked_cnp>>},
    Mutant{.name = "cnp_names_the_datagrams_receiver",
           .rule = "CNP-02",
           .description = "A CNP for a marked datagram names the QP that received the datagram.",
           .cases = "cnp/datagram",
           .make_filter = make<CnpNamesReceiver>},
    Mutant{.name = "each_mark_begins_the_cnp_interval",
           .rule = "CNP-01",
           .description = "Marks that are less than 1 ms apart draw one CNP alone, however long "
                          "they go on.",
           .cases = "cnp/as-long-as-marks-come",
           .make_filter = make<EachMarkBeginsInterval>},
    Mutant{.name = "cnps_do_not_slow_a_sender",
           .rule = "CA17-45",
           .description = "The device says that it is a reaction point, and ignores CNPs.",
           .judge_cases = "cnp/slows-the-sender",
           .make_filter = make<DropsInbound<holds_cnp>>},
    Mutant{.name = "cnps_of_anybody_obeyed",
           .rule = "CNP-10",
           .description = "A CNP from any address slows down the QP that it names.",
           .cases = "cnp/strangers-do-not-slow",
           .make_filter = make<CnpOfAnybodyObeyed>},
    Mutant{.name = "pad_count_underflows_the_length",
           .rule = "ROB-02",
           .passive = false,
           .description = "A SEND ONLY without payload and with PadCnt 3 completes a receive with "
                          "byte length 0xFFFFFFFD.",
           .cases = "bth/pad-too-large",
           .make_filter = make<PadUnderflows>},
    Mutant{.name = "stays_paused",
           .rule = "ROB-01",
           .description = "After a MAC PAUSE frame, the device accepts no packets any more.",
           .cases = "rob/other-frames rob/paused",
           .make_filter = make<StaysPaused>},
};

} // namespace
} // namespace veriroce::mutants::of_cnp_rob

namespace veriroce::mutants {

std::span<const Mutant> cnp_rob() {
    return of_cnp_rob::kMutants;
}

} // namespace veriroce::mutants
