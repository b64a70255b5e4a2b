#include "tests/conformance/mutants/bench.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace veriroce::mutants::test {

namespace {

constexpr wire::Qpn peer_qpn{0x200};
constexpr auto mtu = wire::Mtu::B256;
const auto device_address = wire::IpAddress::from_v4(0x0A4D0001);
const auto peer_address = wire::IpAddress::from_v4(0x0A4D0002);

wire::Envelope to_device() {
    return {.source = peer_address, .destination = device_address, .source_port = 0xC000};
}

} // namespace

Bench::Bench(const Mutant& device, const Settings& settings)
    : Device(device), memory_(numbered(region_bytes)), foreign_memory_(region_bytes) {
    create_qp(settings);
    post_receives(settings.receives);
}

void Bench::create_qp(const Settings& settings) {
    const engine::Access all{
        .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
    pd_ = engine_.create_pd().value();
    const engine::PdId other = engine_.create_pd().value();
    cq_ = engine_.create_cq(64).value();
    own_ = engine_.register_region(pd_, memory_, base, all).value();
    foreign_ = engine_.register_region(other, foreign_memory_, base, all).value();
    qp_ = engine_.create_qp({.pd = pd_, .send_cq = cq_, .recv_cq = cq_}).value();
    connect(qp_, settings);
}

void Bench::connect(engine::QpId qp, const Settings& settings) {
    using engine::QpState;
    const engine::Access all{.remote_write = true, .remote_read = true, .remote_atomic = true};
    const auto change = [&](const engine::QpAttributes& attributes) {
        REQUIRE(engine_.modify_qp(qp, attributes, now_));
        const auto report = engine_.query_qp(qp);
        REQUIRE(report);
        qpn_ = report->qpn;
        filter_->qp_changed(*report);
    };
    change({.state = QpState::Init, .access = all});
    change({.state = QpState::Rtr,
            .path_mtu = mtu,
            .dest_qp = peer_qpn,
            .rq_psn = wire::Psn(settings.first_request),
            .address = engine::AddressVector{.source = device_address, .destination = peer_address},
            .min_rnr_timer = 1,
            .max_dest_rd_atomic = 4});
    change({.state = QpState::Rts,
            .sq_psn = wire::Psn(settings.first_sent),
            .timeout = 1,
            .retry_count = settings.retry_count,
            .rnr_retry = 7,
            .max_rd_atomic = 4});
}

void Bench::post_receives(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::array<engine::Sge, 1> sges{
            {{.address = base, .length = 512, .lkey = own_.lkey}}};
        const std::array<engine::ReceiveRequest, 1> chain{{{.id = i, .sges = sges}}};
        REQUIRE(engine_.post_receive(qp_, chain).posted == 1);
    }
}

wire::Packet Bench::packet(wire::Operation operation, wire::Position position, std::uint32_t psn,
                           std::size_t bytes) {
    wire::Packet packet;
    packet.bth = {.opcode = wire::opcode_of(wire::Service::Rc, operation, position).value(),
                  .pad = wire::pad_of(bytes),
                  .dest_qp = qpn_,
                  .ack_request = true,
                  .psn = wire::Psn(psn)};
    packet.headers = packet.info().headers;
    packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits), .msn = {1}};
    packet.atomic = {.virtual_address = base, .rkey = own_.rkey, .swap_or_add = 1};
    packet.body = wire::Bytes(body_).first(bytes + packet.bth.pad);
    return packet;
}

wire::Packet Bench::read(std::uint32_t psn, std::uint32_t bytes, std::uint64_t offset) {
    auto request = packet(wire::Operation::RdmaReadRequest, wire::Position::Only, psn, 0);
    request.reth = {.virtual_address = base + offset, .rkey = own_.rkey, .dma_length = bytes};
    return request;
}

wire::Packet Bench::write(std::uint32_t psn, std::uint64_t offset, std::uint32_t bytes) {
    auto request = packet(wire::Operation::RdmaWrite, wire::Position::Only, psn, bytes);
    request.reth = {.virtual_address = base + offset, .rkey = own_.rkey, .dma_length = bytes};
    return request;
}

wire::Packet Bench::answer(std::uint32_t psn, wire::Syndrome syndrome) {
    auto response = packet(wire::Operation::Acknowledge, wire::Position::Only, psn, 0);
    response.bth.ack_request = false;
    response.aeth = {.syndrome = syndrome, .msn = {1}};
    return response;
}

void Bench::arrive(const wire::Packet& packet) {
    arrive_together({packet});
}

void Bench::arrive_together(const std::vector<wire::Packet>& packets) {
    for (const auto& packet : packets)
        enter({.envelope = to_device(), .bytes = bytes_of(packet)});
    speak();
}

std::vector<std::byte> Bench::frame(const wire::Packet& packet) {
    return frame_of(to_device(), bytes_of(packet));
}

void Bench::arrive_frame(wire::Bytes bytes) {
    take_frame(bytes);
    speak();
}

void Bench::post(engine::WrOpcode opcode, std::uint32_t bytes) {
    const std::array<engine::Sge, 1> sges{{{.address = base, .length = bytes, .lkey = own_.lkey}}};
    const std::array<engine::SendRequest, 1> chain{
        {{.id = 7, .opcode = opcode, .sges = sges, .remote_address = 0x5000, .rkey = {0x55}}}};
    REQUIRE(engine_.post_send(qp_, chain, now_).posted == 1);
    speak();
}

void Bench::wait() {
    const auto next = engine_.next_timeout();
    if (!next) {
        text_ += "idle\n";
        return;
    }
    text_ += fmt::format("after {} ns\n", (*next - now_).count());
    now_ = *next;
    engine_.handle_timeout(now_);
    speak();
}

void Bench::completions() {
    while (const auto completion = engine_.poll_completion(cq_)) {
        const auto seen = filter_->completion(*completion);
        if (!seen) continue;
        const bool data = seen->status == engine::WcStatus::Success;
        text_ += fmt::format("{} {}", seen->queue == engine::Queue::Send ? "sent" : "received",
                             engine::name_of(seen->status));
        if (data && seen->queue == engine::Queue::Receive)
            text_ += fmt::format(" {:#x} bytes", seen->byte_len);
        text_ += '\n';
    }
}

bool Bench::leaves_whole(const engine::OwnedDatagram& datagram) {
    auto frame = frame_of(datagram.envelope, datagram.bytes);
    filter_->sealed(frame);
    return wire::unseal(frame).has_value();
}

// "READ_RESPONSE_FIRST 100 256 bytes of 1, 1f msn 1"
void Bench::note(const engine::OwnedDatagram& datagram) {
    CHECK(datagram.envelope.destination == peer_address);
    const auto packet = wire::decode_packet(datagram.bytes);
    REQUIRE(packet);
    text_ += fmt::format("{} {}", packet->info().name, packet->bth.psn.value());
    if (packet->bth.dest_qp != peer_qpn)
        text_ += fmt::format(" to {:#x}", packet->bth.dest_qp.value);
    const auto payload = packet->payload();
    if (!payload.empty()) {
        text_ += fmt::format(" {} bytes of {}", payload.size(),
                             std::to_integer<unsigned>(payload.front()));
    }
    if (packet->headers.has(wire::Header::Reth))
        text_ += fmt::format(" for {} bytes", packet->reth.dma_length);
    if (packet->headers.has(wire::Header::AtomicAckEth))
        text_ += fmt::format(" found {:#x}", packet->atomic_ack.original);
    if (packet->headers.has(wire::Header::Aeth))
        text_ += fmt::format(" {:02x} msn {}", packet->aeth.syndrome.value, packet->aeth.msn.value);
    if (!leaves_whole(datagram)) text_ += " wrong ICRC";
    text_ += '\n';
}

void read_and_its_end(Bench& bench) {
    bench.arrive(bench.read(100, 768));
    bench.arrive(bench.read(101, 512, 256));
}

} // namespace veriroce::mutants::test
