// Any packets, work requests, state changes and passing time at QPs of every type in every state.
//
//  - Memory outside the regions that packets may write stays as it was, and no byte of another
//    domain's region leaves.
//  - What leaves is whole: headers of its opcode, at most an MTU of payload, the right pad.
//  - Every work request that was posted ends exactly once, or is forgotten by a reset.
//  - Counters agree with what was handed in, and queues come to an end.
#include <algorithm>
#include <array>
#include <vector>

#include "tests/fuzz/guarded_memory.hpp"
#include "tests/fuzz/input.hpp"
#include "transport/engine/engine.hpp"

using namespace veriroce;
using namespace veriroce::engine;
using fuzz::Input;
using fuzz::open_bytes;
using fuzz::require;

namespace {

constexpr std::uint64_t base = 0x10000;
constexpr std::uint64_t secret_base = 0x90000;
constexpr std::size_t mtu = 256;
constexpr std::size_t qp_count = 5; // RC, RC, UC, UD, QP1
constexpr wire::Qpn peer{0x22};
const wire::IpAddress ours = wire::IpAddress::from_v4(0x0A000001);
const wire::IpAddress theirs = wire::IpAddress::from_v4(0x0A000002);
const wire::IpAddress ours_too = wire::IpAddress::from_v4(0x0A010001);
const wire::IpAddress theirs_too = wire::IpAddress::from_v4(0x0A010002);
constexpr Access every_right{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};

Behaviour behaviour_of(Input& input) {
    Behaviour b;
    b.ack_policy = input.one_of<AckPolicy>(5);
    b.duplicate_answer = input.one_of<DuplicateAnswer>(2);
    b.excess_read = input.one_of<ExcessRead>(2);
    b.lost_key = input.one_of<LostKey>(2);
    b.stray_payload = input.one_of<StrayPayload>(2);
    const std::uint32_t bits = input.number();
    const auto flag = [bits](unsigned at) { return (bits >> at & 1U) != 0; };
    b.duplicate_rearms_nak = flag(0);
    b.first_msn = flag(1) ? FirstMsn::Old : FirstMsn::New;
    b.response_msn = flag(2) ? ResponseMsn::Current : ResponseMsn::OfRequest;
    b.credits = flag(3);
    b.unsolicited_credits = flag(4);
    b.partial_read_reply = flag(5) ? PartialReadReply::MiddleOrLast : PartialReadReply::FirstOrOnly;
    b.duplicate_read = flag(6) ? DuplicateRead::Revalidated : DuplicateRead::OriginalOnly;
    b.other_atomic = flag(7) ? OtherAtomic::SavedAnswer : OtherAtomic::Silent;
    b.duplicate_resends_later = flag(8);
    b.remembered_extra = flag(9) ? 3 : 0;
    b.reserved_opcode = flag(10) ? ReservedOpcode::Silent : ReservedOpcode::Nak;
    b.excess_pad = flag(11) ? ExcessPad::Silent : ExcessPad::Nak;
    b.fault_order = flag(12) ? FaultOrder::KeysFirst : FaultOrder::KeysLast;
    b.write_range = flag(13) ? WriteRange::EachPacket : WriteRange::AtFirst;
    b.write_excess = flag(14) ? WriteExcess::AtLast : WriteExcess::AtOnce;
    b.refused_immediate = flag(15) ? RefusedImmediate::AccessError : RefusedImmediate::Flushed;
    b.early_resend = flag(16) ? EarlyResend::Silent : EarlyResend::NakAgain;
    b.read_restart = flag(17) ? ReadRestart::WholeRead : ReadRestart::FirstMissing;
    b.implied_nak = flag(18) ? ImpliedNak::OnTimeout : ImpliedNak::AtOnce;
    b.after_rnr = flag(19) ? AfterRnr::OneMessage : AfterRnr::WholeWindow;
    b.repeated_nak = flag(20) ? RepeatedNak::Restarts : RepeatedNak::Ignored;
    b.bad_read_length = flag(21) ? BadReadLength::Dropped : BadReadLength::Error;
    b.unexpected_response = flag(22) ? UnexpectedResponse::BadResponse : UnexpectedResponse::Ignore;
    b.acknowledged_read = flag(23) ? AcknowledgedRead::Retried : AcknowledgedRead::Ignored;
    b.drain = flag(24) ? Drain::Posted : Drain::Begun;
    b.timeout_grows = flag(25);
    b.ud_oversize = flag(26) ? UdOversize::LengthError : UdOversize::Complete;
    b.pkey_match = flag(27) ? PkeyMatch::Exact : PkeyMatch::Membership;
    b.congestion.reaction.enabled = flag(28);
    b.congestion.reaction.dcqcn.line_rate = 1'000'000'000;
    b.congestion.notification.scope = flag(29) ? CnpScope::Destination : CnpScope::Qp;
    b.congestion.notification.interval = wire::Duration(flag(30) ? 0 : 50'000);
    b.max_unacked_packets = 16;
    b.ack_every = 3;
    return b;
}

class Session {
  public:
    explicit Session(Input& input)
        : engine_({.behaviour = behaviour_of(input), .port_mtu = wire::Mtu::B256}) {
        pd_ = engine_.create_pd().value();
        other_pd_ = engine_.create_pd().value();
        cq_ = engine_.create_cq(8192).value();
        open_ = engine_.register_region(pd_, memory_.open(), base, every_right).value();
        secret_ =
            engine_.register_region(other_pd_, memory_.secret(), secret_base, every_right).value();
        constexpr std::array types{QpType::Rc, QpType::Rc, QpType::Uc, QpType::Ud, QpType::Ud};
        for (std::size_t i = 0; i < qp_count; ++i) {
            qps_[i].type = types[i];
            qps_[i].gsi = i + 1 == qp_count;
            create(qps_[i]);
            bring_up(qps_[i], QpState::Rts);
        }
    }

    void step(Input& input) {
        Qp& qp = qps_[input.byte() % qp_count];
        switch (input.byte() % 12) {
        case 0: raw_packet(input); break;
        case 1:
        case 2:
        case 3: request(input, qp); break;
        case 4:
        case 5: response(input, qp); break;
        case 6: cnp(input, qp); break;
        case 7: post_send(input, qp); break;
        case 8: post_receive(input, qp); break;
        case 9: pass_time(input); break;
        case 10: change_state(input, qp); break;
        case 11: churn(input, qp); break;
        default: break;
        }
        drain();
        require(memory_.unharmed());
        check_counters();
    }

    void finish() {
        for (Qp& qp : qps_)
            (void)engine_.modify_qp(qp.id, {.state = QpState::Err}, now_);
        drain();
        require(!engine_.overrun(cq_));
        for (const Qp& qp : qps_)
            require(qp.completed == qp.posted || in_reset(qp));
        require(!engine_.next_timeout());
        require(memory_.unharmed());
    }

  private:
    struct Qp {
        QpType type = QpType::Rc;
        bool gsi = false;
        QpId id;
        wire::Qpn qpn;
        std::uint64_t posted = 0;
        std::uint64_t completed = 0;
    };

    void create(Qp& qp) {
        qp.id = engine_
                    .create_qp({.pd = pd_,
                                .type = qp.type,
                                .send_cq = cq_,
                                .recv_cq = cq_,
                                .capacity = {.max_send = 16, .max_recv = 16},
                                .signal_all = true,
                                .gsi = qp.gsi})
                    .value();
        qp.qpn = engine_.query_qp(qp.id).value().qpn;
        qp.posted = qp.completed = 0;
    }

    [[nodiscard]] QpReport report(const Qp& qp) const { return engine_.query_qp(qp.id).value(); }
    [[nodiscard]] bool in_reset(const Qp& qp) const { return report(qp).state == QpState::Reset; }

    // From RESET up to this state.
    void bring_up(Qp& qp, QpState state) {
        QpAttributes init{.state = QpState::Init};
        QpAttributes rtr{.state = QpState::Rtr};
        QpAttributes rts{.state = QpState::Rts, .sq_psn = wire::Psn(0xFFFFF8)};
        if (qp.type == QpType::Ud) {
            if (!qp.gsi) init.qkey = wire::Qkey{0x1111};
        } else {
            init.access = every_right;
            rtr.path_mtu = wire::Mtu::B256;
            rtr.dest_qp = peer;
            rtr.rq_psn = wire::Psn(0xFFFFF0);
            rtr.address = AddressVector{.source = ours, .destination = theirs};
        }
        if (qp.type == QpType::Rc) {
            rtr.min_rnr_timer = 1;
            rtr.max_dest_rd_atomic = 2;
            rts.timeout = 1;
            rts.retry_count = 3;
            rts.rnr_retry = 2;
            rts.max_rd_atomic = 2;
        }
        for (const QpAttributes& next : {init, rtr, rts}) {
            require(engine_.modify_qp(qp.id, next, now_).has_value());
            if (next.state == state) return;
        }
    }

    void forget(Qp& qp) {
        drain();
        require(engine_.modify_qp(qp.id, {.state = QpState::Reset}, now_).has_value());
        qp.posted = qp.completed;
    }

    void change_state(Input& input, Qp& qp) {
        const auto state = input.one_of<QpState>(6);
        if (input.byte() % 2 == 0) { // whatever the table says
            QpAttributes any{.state = state};
            if (input.rarely()) any.sqd_async_notify = true;
            if (input.rarely()) any.flow_control = true;
            if (state == QpState::Reset) {
                forget(qp);
            } else {
                (void)engine_.modify_qp(qp.id, any, now_);
            }
            return;
        }
        if (input.byte() % 4 == 0 && qp.type != QpType::Ud) { // a second path
            const AlternatePath path{.address = {.source = ours_too, .destination = theirs_too},
                                     .timeout = 2};
            (void)engine_.modify_qp(
                qp.id, {.alternate = path, .path_mig_state = input.one_of<MigState>(2)}, now_);
            return;
        }
        forget(qp);
        if (state == QpState::Init || state == QpState::Rtr || state == QpState::Rts) {
            bring_up(qp, state);
        }
    }

    void churn(Input& input, Qp& qp) {
        if (input.byte() % 2 == 0) {
            require(engine_.deregister_region(open_.mr).has_value());
            drain(); // READs that are being answered lose their key
            open_ = engine_.register_region(pd_, memory_.open(), base, every_right).value();
        } else if (churns_ < 8) {
            ++churns_;
            drain();
            require(engine_.destroy_qp(qp.id).has_value());
            create(qp);
            bring_up(qp, QpState::Rts);
        }
    }

    void deliver(Input& input, wire::Bytes bytes) {
        const std::uint8_t how = input.byte();
        wire::Envelope envelope{.source = theirs, .destination = ours};
        if (how % 8 == 1) envelope = {.source = theirs_too, .destination = ours_too};
        if (how > 250) envelope.source = wire::IpAddress::from_v4(input.number());
        if (how % 4 == 2) {
            envelope.ecn = wire::kCongestionExperienced;
            ++marked_;
        }
        ++delivered_;
        engine_.handle({.envelope = envelope, .bytes = bytes}, now_);
    }

    void raw_packet(Input& input) {
        const wire::Bytes bytes = input.bytes(input.byte());
        const std::vector<std::byte> copy(bytes.begin(), bytes.end());
        deliver(input, copy);
    }

    // A packet with an honest header but for what the input chooses.
    void send(Input& input, wire::Packet& packet, wire::Qpn to, std::size_t payload_bytes) {
        packet.bth.dest_qp = input.rarely() ? wire::Qpn{input.number() & wire::kMask24} : to;
        packet.bth.ack_request = input.byte() % 4 != 0;
        packet.bth.mig_req = input.byte() % 2 != 0;
        packet.bth.pad = wire::pad_of(payload_bytes);
        if (input.rarely()) packet.bth.pad = input.byte() & 3;
        if (input.rarely()) packet.bth.pkey = {static_cast<std::uint16_t>(input.number())};
        packet.headers = packet.info().headers;
        std::vector<std::byte> bytes(wire::kMaxTransportHeaderBytes);
        bytes.resize(wire::encode_headers(packet, bytes));
        bytes.resize(bytes.size() + payload_bytes + wire::pad_of(payload_bytes), std::byte{0x5A});
        deliver(input, bytes);
    }

    static std::size_t payload_size(std::uint8_t choice) {
        constexpr std::array<std::size_t, 8> sizes{0, 1, 4, 255, 256, 257, 100, 8};
        return sizes[choice % sizes.size()];
    }

    void request(Input& input, const Qp& qp) {
        constexpr std::array<std::uint8_t, 3> services{0x00, 0x20, 0x60};
        const auto rq_psn = report(qp).attributes.rq_psn.value_or(wire::Psn(0));
        wire::Packet packet;
        packet.bth.opcode = static_cast<std::uint8_t>(services[static_cast<std::size_t>(qp.type)] |
                                                      (input.byte() & 0x1FU));
        if (input.rarely()) packet.bth.opcode = input.byte();
        packet.bth.psn = rq_psn + (input.byte() % 8 - 3);
        if (input.byte() % 2 == 0) packet.bth.psn = rq_psn;
        // Most requests fit their opcode, so that they come through to the checks of keys.
        std::size_t payload = payload_size(input.byte());
        if (!packet.info().carries_payload() && !input.rarely()) payload = 0;
        const bool writes = packet.info().operation == wire::Operation::RdmaWrite;
        const std::uint8_t where = input.byte();
        const bool stolen = where % 8 == 1;
        wire::Rkey key = stolen ? secret_.rkey : open_.rkey;
        if (where % 16 == 2) key.value ^= input.byte();
        const std::uint64_t address =
            stolen ? secret_base : base - 8 + (where < 8 ? open_bytes : where);
        std::uint32_t length = where > 250 ? input.number() : input.number() % 1024;
        if (writes && packet.info().ends_message() && !input.rarely()) {
            length = static_cast<std::uint32_t>(payload);
        }
        packet.reth = {.virtual_address = address, .rkey = key, .dma_length = length};
        packet.atomic = {.virtual_address = address & ~std::uint64_t{where > 16 ? 7U : 0U},
                         .rkey = key,
                         .swap_or_add = input.byte(),
                         .compare = input.byte()};
        packet.deth = {.qkey = {qp.gsi ? 0x80010000U : 0x1111U},
                       .source_qp = {input.number() & wire::kMask24}};
        if (input.rarely()) packet.deth.qkey.value ^= input.byte();
        send(input, packet, qp.qpn, payload);
    }

    void response(Input& input, const Qp& qp) {
        const auto sq_psn = report(qp).attributes.sq_psn.value_or(wire::Psn(0));
        wire::Packet packet;
        packet.bth.opcode = static_cast<std::uint8_t>(0x0D + input.byte() % 6);
        packet.bth.psn = sq_psn - (input.byte() & 15);
        packet.aeth = {.syndrome = {input.byte()}, .msn = {input.byte()}};
        send(input, packet, qp.qpn, payload_size(input.byte()));
    }

    void cnp(Input& input, const Qp& qp) {
        wire::Packet packet;
        packet.bth.opcode = wire::kCnpOpcode;
        packet.bth.becn = !input.rarely();
        send(input, packet, qp.qpn, input.rarely() ? payload_size(input.byte()) : 16);
    }

    Sge piece(Input& input) {
        const std::uint8_t choice = input.byte();
        Sge sge{.address = base + choice * 16, .length = input.number() % 700, .lkey = open_.lkey};
        if (choice == 0xFF) sge.lkey.value ^= 1U;
        if (choice == 0xFE) sge.address = base + open_bytes - 4;
        if (choice == 0xFD) sge = {.address = secret_base, .length = 64, .lkey = secret_.lkey};
        return sge;
    }

    void post_send(Input& input, Qp& qp) {
        std::array sges{piece(input), piece(input)};
        SendRequest request{.id = qp.posted,
                            .opcode = input.one_of<WrOpcode>(6),
                            .sges = std::span(sges).first(1 + input.byte() % 2),
                            .remote_address = input.number(),
                            .rkey = {input.number()}};
        if (request.opcode == WrOpcode::AtomicCmpAndSwp ||
            request.opcode == WrOpcode::AtomicFetchAndAdd) {
            sges[0].length = 8;
            request.sges = std::span(sges).first(1);
        }
        if (qp.type == QpType::Ud) {
            request.ud = UdDestination{.path = {.source = ours, .destination = theirs},
                                       .qpn = peer,
                                       .qkey = {input.number()}};
        }
        request.flags.fence = input.byte() % 8 == 0;
        qp.posted += engine_.post_send(qp.id, std::span(&request, 1), now_).posted;
    }

    void post_receive(Input& input, Qp& qp) {
        const std::array sges{piece(input), piece(input)};
        const ReceiveRequest request{.id = qp.posted,
                                     .sges = std::span(sges).first(1 + input.byte() % 2)};
        qp.posted += engine_.post_receive(qp.id, std::span(&request, 1)).posted;
    }

    void pass_time(Input& input) {
        now_ += std::chrono::nanoseconds(input.number() % 100'000'000);
        engine_.handle_timeout(now_);
        const auto next = engine_.next_timeout();
        require(!next || *next > now_);
    }

    void drain() {
        constexpr int bound = 100'000;
        for (int n = 0; const auto packet = engine_.poll_transmit(now_); ++n) {
            require(n < bound);
            check_packet(*packet);
        }
        while (const auto completion = engine_.poll_completion(cq_)) {
            const auto qp = std::ranges::find(qps_, completion->qp, &Qp::id);
            require(qp != qps_.end());
            ++qp->completed;
            require(qp->completed <= qp->posted);
        }
        while (engine_.poll_event()) {
        }
    }

    void check_packet(const Transmit& packet) const {
        const auto decoded = wire::decode_packet(packet.headers);
        require(decoded && decoded->body.empty());
        const bool is_cnp = decoded->bth.opcode == wire::kCnpOpcode;
        require(is_cnp || decoded->bth.dest_qp == peer);
        require(packet.payload.size() <= mtu);
        require(decoded->bth.pad == packet.pad && packet.pad < 4);
        require((packet.payload.size() + packet.pad) % 4 == 0);
        require(packet.envelope.destination_port == wire::kRocePort);
        // ROB-04: never a byte of what the peer has no right to.
        require(!memory_.touches_secret(packet.payload));
        const auto secret =
            std::ranges::search_n(packet.payload, 32, fuzz::GuardedMemory::secret_byte);
        require(secret.empty() || memory_.inside_open(packet.payload));
    }

    void check_counters() const {
        const Counters& c = engine_.counters();
        require(c.ecn_marked <= marked_ && c.cnp_sent <= c.ecn_marked);
        require(c.cnp_handled + c.dropped <= delivered_);
        require(c.bad_pkey + c.bad_qkey <= c.dropped);
        require(c.duplicate_request + c.rnr_nak_sent <= delivered_);
    }

    fuzz::GuardedMemory memory_;
    Engine engine_;
    wire::Instant now_{};
    PdId pd_;
    PdId other_pd_;
    CqId cq_;
    Engine::Region open_;
    Engine::Region secret_;
    std::array<Qp, qp_count> qps_{};
    std::uint64_t delivered_ = 0;
    std::uint64_t marked_ = 0;
    int churns_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input(data, size);
    Session session(input);
    while (!input.empty())
        session.step(input);
    session.finish();
    return 0;
}
