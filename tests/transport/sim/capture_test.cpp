// Real Linux Soft-RoCE's requests against our responder: what one rxe sent to another is fed, frame
// by frame, to an engine with the other's numbers, and each answer is held against the answer that
// rxe gave: opcode, PSN, kind of acknowledge, MSN and length. Captures with loss are left out: what
// was lost after the capturing point is in the file, and rxe never saw it.
#include "tests/transport/sim/pair.hpp"

#include <algorithm>
#include <bit>

#include "dissector/capture/reader.hpp"

using namespace veriroce;
using namespace veriroce::sim;
using namespace veriroce::sim::test;

namespace {

struct Captured {
    wire::Duration at;
    std::vector<std::byte> bytes;
    wire::Frame frame; // points into bytes
    wire::Packet packet;
};

// All RC packets of a file.
std::vector<Captured> read(const std::string& name) {
    const std::string path = std::string(VERIROCE_SOURCE_DIR) + "/pcaps/" + name + ".pcap";
    auto reader = capture::Reader::open(path);
    REQUIRE(reader);
    std::vector<Captured> all;
    capture::Record record;
    std::optional<std::int64_t> first;
    while (true) {
        const auto more = reader->next(record);
        REQUIRE(more);
        if (!*more) break;
        std::vector<std::byte> bytes(record.bytes.begin(), record.bytes.end());
        auto frame = wire::decode_frame(bytes);
        if (!frame) continue;
        const auto packet = wire::decode_packet(frame->transport);
        if (!packet || packet->info().service != wire::Service::Rc) continue;
        first = first.value_or(*record.time_ns);
        all.push_back({.at = wire::Duration(*record.time_ns - *first),
                       .bytes = std::move(bytes),
                       .frame = *frame,
                       .packet = *packet});
    }
    return all;
}

// What is the same in two good responders' answers.
struct Answer {
    std::string_view opcode;
    std::uint32_t psn = 0;
    int syndrome = -1;
    std::uint32_t msn = 0;
    std::size_t bytes = 0;

    friend bool operator==(const Answer&, const Answer&) = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
    return out << answer.opcode << " psn " << answer.psn << " syndrome " << answer.syndrome
               << " msn " << answer.msn << ", " << answer.bytes << " bytes";
}

Answer answer_of(const wire::Packet& packet) {
    Answer answer{.opcode = packet.info().name,
                  .psn = packet.bth.psn.value(),
                  .bytes = packet.payload().size()};
    if (packet.headers.has(wire::Header::Aeth)) {
        answer.syndrome = packet.aeth.syndrome.value;
        answer.msn = packet.aeth.msn.value;
    }
    return answer;
}

// How the device in the capture was set up, as far as its packets do not tell.
struct Setup {
    std::string_view file;
    std::string_view requester;
    bool region = true;              // what its keys name exists
    std::uint64_t region_length = 0; // 0: as long as the requests need
    engine::Access qp_access{.remote_write = true, .remote_read = true, .remote_atomic = true};
    engine::Access region_access{
        .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
    std::size_t receives = 50;
    wire::Duration receives_at{0};
};

struct Range {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint64_t end = 0;
    std::uint32_t key = 0x100;

    void add(std::uint64_t address, std::uint64_t length, wire::Rkey rkey) {
        begin = std::min(begin, address);
        end = std::max(end, address + length);
        key = rkey.value;
    }
};

class Replay {
  public:
    Replay(const Setup& setup, std::vector<Captured> packets)
        : setup_(setup), packets_(std::move(packets)),
          requester_(wire::IpAddress::parse(setup.requester).value()) {
        REQUIRE_FALSE(packets_.empty());
        keep_first_connection();
        for (const Captured& packet : packets_)
            survey(packet);
        build();
    }

    void run() {
        for (const Captured& packet : packets_) {
            const wire::Instant now{packet.at};
            if (packet.at >= setup_.receives_at) post_receives();
            const bool asks = packet.frame.envelope().source == requester_;
            if (asks && packet.packet.info().request()) {
                nic_->receive(packet.bytes, now);
                while (const auto frame = nic_->poll_frame(now))
                    ours_.push_back(answer_of(
                        wire::decode_packet(wire::decode_frame(*frame)->transport).value()));
            } else if (!asks && packet.packet.info().response()) {
                theirs_.push_back(answer_of(packet.packet));
            }
        }
    }

    [[nodiscard]] const std::vector<Answer>& ours() const { return ours_; }
    [[nodiscard]] const std::vector<Answer>& theirs() const { return theirs_; }

  private:
    // A run of another program after the first one has other QPs.
    void keep_first_connection() {
        std::optional<wire::Qpn> device;
        std::optional<wire::Qpn> peer;
        std::erase_if(packets_, [&](const Captured& packet) {
            const bool asks = packet.frame.envelope().source == requester_;
            auto& qpn = asks ? device : peer;
            qpn = qpn.value_or(packet.packet.bth.dest_qp);
            return *qpn != packet.packet.bth.dest_qp;
        });
    }

    void survey(const Captured& captured) {
        const wire::Packet& packet = captured.packet;
        if (captured.frame.envelope().source != requester_) {
            peer_ = packet.bth.dest_qp;
            return;
        }
        if (!packet.info().request()) return;
        if (!first_request_) first_request_ = &captured;
        if (packet.headers.has(wire::Header::Reth) && packet.reth.dma_length > 0) {
            range_.add(packet.reth.virtual_address, packet.reth.dma_length, packet.reth.rkey);
        }
        if (packet.headers.has(wire::Header::AtomicEth)) {
            range_.add(packet.atomic.virtual_address, 8, packet.atomic.rkey);
        }
        mtu_ = std::max(mtu_, packet.payload().size());
    }

    void build() {
        const wire::Frame& frame = first_request_->frame;
        const wire::Envelope envelope = frame.envelope();
        engine_ = std::make_unique<engine::Engine>(engine::Config{
            .first_qpn = first_request_->packet.bth.dest_qp, .first_key = range_.key});
        nic_ = std::make_unique<Nic>(
            PortOptions{.mac = frame.ethernet.destination, .addresses = {envelope.destination}},
            *engine_);
        const auto pd = engine_->create_pd().value();
        cq_ = engine_->create_cq(4096).value();
        memory_.resize(setup_.region_length != 0
                           ? setup_.region_length
                           : std::max(range_.end, range_.begin + 1) - range_.begin);
        if (setup_.region && range_.end != 0) {
            const auto region =
                engine_->register_region(pd, memory_, range_.begin, setup_.region_access);
            REQUIRE(region);
            REQUIRE(region->rkey.value == range_.key);
        }
        receive_memory_.resize(64UL * 1024);
        receive_key_ =
            engine_->register_region(pd, receive_memory_, 0, {.local_write = true}).value().lkey;
        qp_ = engine_->create_qp({.pd = pd, .send_cq = cq_, .recv_cq = cq_}).value();
        connect(envelope);
    }

    void connect(const wire::Envelope& envelope) {
        const auto modify = [&](const engine::QpAttributes& attributes) {
            REQUIRE(engine_->modify_qp(qp_, attributes, {}));
        };
        // MTUs are powers of two; a capture of short messages shows less.
        const std::size_t mtu = std::bit_ceil(std::max<std::size_t>(mtu_, 256));
        modify({.state = engine::QpState::Init, .access = setup_.qp_access});
        modify({.state = engine::QpState::Rtr,
                .path_mtu = static_cast<wire::Mtu>(mtu < 1024 ? 1024 : mtu),
                .dest_qp = peer_,
                .rq_psn = first_request_->packet.bth.psn,
                .address = engine::AddressVector{.source = envelope.destination,
                                                 .destination = envelope.source},
                .min_rnr_timer = 20,
                .max_dest_rd_atomic = 16});
    }

    void post_receives() {
        for (; posted_ < setup_.receives; ++posted_) {
            const engine::Sge sge{.address = 0,
                                  .length = static_cast<std::uint32_t>(receive_memory_.size()),
                                  .lkey = receive_key_};
            const engine::ReceiveRequest request{.id = posted_, .sges = std::span(&sge, 1)};
            REQUIRE_FALSE(engine_->post_receive(qp_, std::span(&request, 1)).refused);
        }
    }

    Setup setup_;
    std::vector<Captured> packets_;
    wire::IpAddress requester_;
    const Captured* first_request_ = nullptr;
    wire::Qpn peer_;
    Range range_;
    std::size_t mtu_ = 0;
    std::vector<std::byte> memory_;
    std::vector<std::byte> receive_memory_;
    wire::Lkey receive_key_;
    std::unique_ptr<engine::Engine> engine_;
    std::unique_ptr<Nic> nic_;
    engine::CqId cq_;
    engine::QpId qp_;
    std::size_t posted_ = 0;
    std::vector<Answer> ours_;
    std::vector<Answer> theirs_;
};

} // namespace

TEST_CASE("capture: our responder answers rxe's requests as rxe did",
          "[sim][RDR-01][RDR-02][ACK-07][RNR-01][KEY-02][RSP-09]") {
    const std::array setups{
        Setup{.file = "rxe-lengths", .requester = "10.77.0.1"},
        Setup{.file = "rxe-send-imm", .requester = "10.77.0.1"},
        Setup{.file = "rxe-psn-wrap", .requester = "10.77.0.1"},
        Setup{.file = "rxe-psn-wrap", .requester = "10.77.0.2"},
        Setup{.file = "rxe-atomic", .requester = "10.77.0.2"},
        Setup{.file = "rxe-mtu2048", .requester = "10.77.0.1"},
        Setup{.file = "rxe-mtu4096-read-send", .requester = "10.77.0.1"},
        Setup{.file = "rxe-nak-access-write", .requester = "10.77.0.1", .region = false},
        Setup{.file = "rxe-nak-access-read", .requester = "10.77.0.1", .region_length = 1000},
        Setup{.file = "rxe-nak-access-atomic",
              .requester = "10.77.0.1",
              .region_access = {.local_write = true}},
        Setup{.file = "rxe-nak-qp-access", .requester = "10.77.0.1", .qp_access = {}},
        Setup{.file = "rxe-rnr-nak", .requester = "10.77.0.1", .receives = 1, .receives_at = 150ms},
    };
    for (const Setup& setup : setups) {
        INFO(setup.file << ", requests of " << setup.requester);
        Replay replay(setup, read(std::string(setup.file)));
        replay.run();
        CHECK_FALSE(replay.theirs().empty());
        CHECK(replay.ours() == replay.theirs());
    }
}
