// Any sequence of packets, work requests and passing time at a connected QP: memory outside the
// region that the peer may write stays as it was, what leaves is whole and comes from our own
// memory, and every work request that was posted ends exactly once.
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
constexpr std::uint32_t message_limit = 4096;
const wire::IpAddress ours = wire::IpAddress::from_v4(0x0A000001);
const wire::IpAddress theirs = wire::IpAddress::from_v4(0x0A000002);
constexpr Access open_access{
    .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};

class Session {
  public:
    explicit Session(Input& input) : engine_(config_of(input)) {
        pd_ = engine_.create_pd().value();
        cq_ = engine_.create_cq(4096).value();
        open_ = engine_.register_region(pd_, memory_.open(), base, open_access).value();
        secret_ = engine_.register_region(pd_, memory_.secret(), 0x90000, {}).value();
        qp_ = engine_.create_qp({.pd = pd_, .send_cq = cq_, .recv_cq = cq_}).value();
        connect(input.byte());
    }

    void step(Input& input) {
        switch (input.byte() % 8) {
        case 0: raw_packet(input); break;
        case 1:
        case 2: request(input); break;
        case 3:
        case 4: response(input); break;
        case 5: post_send(input); break;
        case 6: post_receive(input); break;
        case 7: pass_time(input); break;
        default: break;
        }
        drain();
        require(memory_.unharmed());
    }

    void finish() {
        (void)engine_.modify_qp(qp_, {.state = QpState::Err}, now_);
        drain();
        while (const auto completion = engine_.poll_completion(cq_)) {
            require(completion->qp == qp_);
            ++completed_;
        }
        require(!engine_.overrun(cq_));
        require(completed_ == posted_); // all are signalled
        require(!engine_.next_timeout());
        require(memory_.unharmed());
    }

  private:
    static Config config_of(Input& input) {
        const std::uint8_t choice = input.byte();
        Config config;
        config.behaviour = {.ack_policy = static_cast<AckPolicy>(choice % 3),
                            .read_restart = static_cast<ReadRestart>(choice >> 2 & 1),
                            .partial_read_reply = static_cast<PartialReadReply>(choice >> 3 & 1),
                            .duplicate_answer = static_cast<DuplicateAnswer>((choice >> 4) % 3),
                            .implied_nak = static_cast<ImpliedNak>(choice >> 6 & 1),
                            .credits = (choice & 0x80) != 0,
                            .max_unacked_packets = 16};
        return config;
    }

    void connect(std::uint8_t choice) {
        const auto modify = [this](const QpAttributes& attributes) {
            require(engine_.modify_qp(qp_, attributes, now_).has_value());
        };
        modify({.state = QpState::Init, .access = open_access});
        modify({.state = QpState::Rtr,
                .path_mtu = wire::Mtu::B256,
                .dest_qp = wire::Qpn{0x22},
                .rq_psn = wire::Psn(choice & 1 ? 0xFFFFF0 : 100),
                .address = AddressVector{.source = ours, .destination = theirs},
                .min_rnr_timer = 1,
                .max_dest_rd_atomic = 4});
        modify({.state = QpState::Rts,
                .sq_psn = wire::Psn(choice & 2 ? 0xFFFFF0 : 200),
                .timeout = static_cast<std::uint8_t>(choice >> 2 & 15),
                .retry_count = 3,
                .rnr_retry = 3,
                .max_rd_atomic = 4});
    }

    void deliver(wire::Bytes bytes) {
        engine_.handle({.envelope = {.source = theirs, .destination = ours}, .bytes = bytes}, now_);
    }

    void raw_packet(Input& input) { deliver(input.bytes(input.byte())); }

    // A packet with an honest header but for what the input chooses.
    void send(Input& input, wire::Packet& packet, std::uint8_t opcode, wire::Psn psn,
              std::size_t payload_bytes) {
        packet.bth = {.opcode = opcode, .dest_qp = {0x11}, .ack_request = true, .psn = psn};
        packet.bth.pad = wire::pad_of(payload_bytes);
        if (input.byte() > 250) packet.bth.pad = input.byte() & 3;
        packet.headers = packet.info().headers;
        std::vector<std::byte> bytes(wire::kMaxTransportHeaderBytes);
        bytes.resize(wire::encode_headers(packet, bytes));
        bytes.resize(bytes.size() + payload_bytes + wire::pad_of(payload_bytes), std::byte{0x5A});
        deliver(bytes);
    }

    static std::size_t payload_size(std::uint8_t choice) {
        constexpr std::array<std::size_t, 8> sizes{0, 1, 4, 255, 256, 257, 100, 8};
        return sizes[choice % sizes.size()];
    }

    void request(Input& input) {
        const auto report = engine_.query_qp(qp_).value();
        const wire::Psn psn = *report.attributes.rq_psn + (input.byte() & 7) - 3 +
                              (input.byte() > 250 ? std::int64_t{input.number()} : 0);
        wire::Packet packet;
        const std::uint8_t where = input.byte();
        const std::uint64_t address = base - 8 + (where < 8 ? open_bytes : where);
        const std::uint32_t length = where > 250 ? input.number() : input.number() % 2048;
        wire::Rkey key = open_.rkey;
        if (where % 16 == 1) key = secret_.rkey;
        if (where % 16 == 2) key.value ^= input.byte();
        packet.reth = {.virtual_address = address, .rkey = key, .dma_length = length};
        packet.atomic = {.virtual_address = address,
                         .rkey = key,
                         .swap_or_add = input.byte(),
                         .compare = input.byte()};
        packet.imm.value = 7;
        send(input, packet, input.byte() & 0x1F, psn, payload_size(input.byte()));
    }

    void response(Input& input) {
        const auto report = engine_.query_qp(qp_).value();
        const wire::Psn psn = *report.attributes.sq_psn - (input.byte() & 15);
        wire::Packet packet;
        packet.aeth = {.syndrome = {input.byte()}, .msn = {input.byte()}};
        const auto opcode = static_cast<std::uint8_t>(0x0D + input.byte() % 6);
        send(input, packet, opcode, psn, payload_size(input.byte()));
    }

    Sge piece(Input& input) {
        const std::uint8_t choice = input.byte();
        Sge sge{.address = base + choice * 16,
                .length = input.number() % message_limit,
                .lkey = open_.lkey};
        if (choice == 0xFF) sge.lkey.value ^= 1U;
        if (choice == 0xFE) sge.address = base + open_bytes - 4;
        return sge;
    }

    void post_send(Input& input) {
        std::array sges{piece(input), piece(input)};
        SendRequest request{.id = posted_,
                            .opcode = static_cast<WrOpcode>(input.byte() % 12),
                            .sges = std::span(sges).first(1 + input.byte() % 2),
                            .remote_address = input.number(),
                            .rkey = {input.number()}};
        const bool atomic = request.opcode == WrOpcode::AtomicCmpAndSwp ||
                            request.opcode == WrOpcode::AtomicFetchAndAdd;
        if (atomic) {
            sges[0].length = 8;
            request.sges = std::span(sges).first(1);
        }
        request.flags.fence = input.byte() % 8 == 0;
        posted_ += engine_.post_send(qp_, std::span(&request, 1), now_).posted;
    }

    void post_receive(Input& input) {
        const std::array sges{piece(input), piece(input)};
        const ReceiveRequest request{.id = posted_,
                                     .sges = std::span(sges).first(1 + input.byte() % 2)};
        posted_ += engine_.post_receive(qp_, std::span(&request, 1)).posted;
    }

    void pass_time(Input& input) {
        now_ += std::chrono::microseconds(input.number() % 100'000);
        engine_.handle_timeout(now_);
        const auto next = engine_.next_timeout();
        require(!next || *next > now_);
    }

    void drain() {
        constexpr int bound = 100'000;
        for (int n = 0; const auto packet = engine_.poll_transmit(now_); ++n) {
            require(n < bound);
            const auto decoded = wire::decode_packet(packet->headers);
            require(decoded && decoded->body.empty());
            require(decoded->bth.dest_qp == wire::Qpn{0x22});
            require(packet->payload.size() <= 256);
            require(decoded->bth.pad == packet->pad && packet->pad < 4);
            require((packet->payload.size() + packet->pad) % 4 == 0);
            // ROB-04: never a byte of what the peer has no right to.
            require(!memory_.touches_secret(packet->payload));
        }
        while (const auto completion = engine_.poll_completion(cq_)) {
            require(completion->qp == qp_);
            ++completed_;
        }
        while (engine_.poll_event()) {
        }
        require(completed_ <= posted_);
    }

    fuzz::GuardedMemory memory_;
    Engine engine_;
    wire::Instant now_{};
    PdId pd_;
    CqId cq_;
    QpId qp_;
    Engine::Region open_;
    Engine::Region secret_;
    std::uint64_t posted_ = 0;
    std::uint64_t completed_ = 0;
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
