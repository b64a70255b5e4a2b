#include "tests/conformance/mutants/stage.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "dissector/wire/management.hpp"

namespace veriroce::mutants::test {

namespace {

using engine::QpState;
using engine::QpType;
using wire::Operation;
using wire::Position;

constexpr wire::Qpn first_peer{0x200};

wire::IpAddress address_of(bool v6, bool device) {
    if (!v6) return wire::IpAddress::from_v4(device ? 0x0A4D0001 : 0x0A4D0002);
    return wire::IpAddress::parse(device ? "fd77::1" : "fd77::2").value();
}

wire::VlanId vlan_of(std::uint16_t id) {
    return {.id = id};
}

} // namespace

Stage::Stage(const Mutant& device, const Scene& scene)
    : Device(device), scene_(scene), memory_(numbered(region_bytes)) {
    create(scene);
    connect(scene.first_request, scene.first_sent);
    for (std::uint32_t i = 0; i < scene.receives; ++i) {
        const std::array<engine::Sge, 1> sges{{piece(8192, 512)}};
        if (scene.shared) {
            share_receive(i);
        } else {
            receive(i, sges);
        }
    }
}

void Stage::create(const Scene& scene) {
    const engine::Access all{.local_write = true,
                             .remote_write = true,
                             .remote_read = true,
                             .remote_atomic = true,
                             .mw_bind = true};
    pd_ = engine_.create_pd().value();
    cq_ = engine_.create_cq(64).value();
    REQUIRE(engine_.arm_cq(cq_, true));
    own_ = engine_.register_region(pd_, memory_, base, all).value();
    filter_->region_registered({.mr = own_.mr,
                                .pd = pd_,
                                .rkey = own_.rkey,
                                .address = base,
                                .memory = memory_,
                                .access = all});
    shared_pd_ = scene.apart ? engine_.create_pd().value() : pd_;
    shared_own_ =
        scene.apart ? engine_.register_region(shared_pd_, memory_, base, all).value() : own_;
    if (scene.shared) {
        srq_ = engine_.create_srq({.pd = shared_pd_, .limit = scene.limit}).value();
    }
    create_qp();
}

void Stage::create_qp() {
    engine::QpDescription description{
        .pd = pd_, .type = scene_.type, .send_cq = cq_, .recv_cq = cq_, .gsi = scene_.gsi};
    if (scene_.shared) description.srq = srq_;
    const auto created = engine_.create_qp(description).value();
    const auto report = engine_.query_qp(created).value();
    const auto number = static_cast<std::uint32_t>(pairs_.size());
    pairs_.push_back(
        {.qp = created, .qpn = report.qpn, .peer = wire::Qpn{first_peer.value + number}});
    filter_->qp_changed(report);
}

void Stage::turn_to(std::size_t number) {
    turn_ = number;
    if (number < pairs_.size()) return;
    create_qp();
    connect(scene_.first_request, scene_.first_sent);
}

wire::Rkey Stage::register_at(std::uint64_t address, std::uint64_t offset, std::uint32_t bytes,
                              const engine::Access& access) {
    const auto memory = wire::MutableBytes(memory_).subspan(offset, bytes);
    const auto region = engine_.register_region(pd_, memory, address, access).value();
    filter_->region_registered({.mr = region.mr,
                                .pd = pd_,
                                .rkey = region.rkey,
                                .address = address,
                                .memory = memory,
                                .access = access});
    return region.rkey;
}

void Stage::connect(std::uint32_t first_request, std::uint32_t first_sent) {
    const engine::AddressVector path{.source = address_of(scene_.v6, true),
                                     .destination = address_of(scene_.v6, false),
                                     .traffic_class = scene_.traffic_class,
                                     .hop_limit = scene_.hop_limit,
                                     .vlan = scene_.vlan.transform(vlan_of)};
    if (scene_.type == QpType::Ud) {
        modify({.state = QpState::Init, .qkey = scene_.gsi ? std::nullopt : std::optional(qkey)});
        modify({.state = QpState::Rtr});
        modify({.state = QpState::Rts, .sq_psn = wire::Psn(first_sent)});
        return;
    }
    modify({.state = QpState::Init,
            .access =
                engine::Access{.remote_write = true, .remote_read = true, .remote_atomic = true}});
    const bool rc = scene_.type == QpType::Rc;
    engine::QpAttributes receives{.state = QpState::Rtr,
                                  .path_mtu = scene_.mtu,
                                  .dest_qp = here().peer,
                                  .rq_psn = wire::Psn(first_request),
                                  .address = path};
    engine::QpAttributes sends{.state = QpState::Rts, .sq_psn = wire::Psn(first_sent)};
    if (rc) {
        receives.min_rnr_timer = 1;
        receives.max_dest_rd_atomic = 4;
        sends.timeout = 1;
        sends.retry_count = scene_.retry_count;
        sends.rnr_retry = scene_.rnr_retry;
        sends.max_rd_atomic = 4;
    }
    modify(receives);
    if (scene_.sends) modify(sends);
}

void Stage::load_alternate() {
    const wire::Envelope way = alternate_to_device();
    modify({.alternate = engine::AlternatePath{.address = {.source = way.destination,
                                                           .destination = way.source},
                                               .timeout = 1},
            .path_mig_state = engine::MigState::Rearm});
}

wire::Envelope Stage::alternate_to_device() const {
    wire::Envelope way = to_device();
    way.source = wire::IpAddress::from_v4(0x0A4E0002);
    way.destination = wire::IpAddress::from_v4(0x0A4E0001);
    return way;
}

void Stage::connect_again(std::uint32_t first_request, std::uint32_t first_sent,
                          std::optional<wire::Mtu> mtu) {
    if (mtu) scene_.mtu = *mtu;
    modify({.state = QpState::Reset});
    connect(first_request, first_sent);
}

// --- the peer

wire::Packet Stage::packet(Operation operation, Position position, std::uint32_t psn,
                           std::size_t bytes, bool immediate) {
    constexpr std::array services{wire::Service::Rc, wire::Service::Uc, wire::Service::Ud};
    const auto service = services[static_cast<std::size_t>(scene_.type)];
    wire::Packet packet;
    packet.bth = {.opcode = wire::opcode_of(service, operation, position, immediate).value(),
                  .pad = wire::pad_of(bytes),
                  .dest_qp = qpn(),
                  .ack_request = true,
                  .psn = wire::Psn(psn)};
    packet.headers = packet.info().headers;
    packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits), .msn = {1}};
    packet.deth = {.qkey = scene_.gsi ? wire::kGsiQkey : qkey, .source_qp = here().peer};
    packet.imm = {.value = psn};
    auto& body = bodies_.emplace_back(bytes, static_cast<std::byte>(psn));
    body.resize(bytes + packet.bth.pad);
    packet.body = body;
    return packet;
}

wire::Packet Stage::write(Position position, std::uint32_t psn, std::size_t bytes,
                          std::uint32_t length, bool immediate) {
    auto request = packet(Operation::RdmaWrite, position, psn, bytes, immediate);
    request.reth = {.virtual_address = base, .rkey = own_.rkey, .dma_length = length};
    return request;
}

wire::Packet Stage::read(std::uint32_t psn, std::uint32_t bytes) {
    auto request = packet(Operation::RdmaReadRequest, Position::Only, psn, 0);
    request.reth = {.virtual_address = base, .rkey = own_.rkey, .dma_length = bytes};
    return request;
}

wire::Packet Stage::add(std::uint32_t psn, std::uint64_t number, std::uint64_t offset) {
    auto request = packet(Operation::FetchAdd, Position::Only, psn, 0);
    request.atomic = {
        .virtual_address = base + offset, .rkey = own_.rkey, .swap_or_add = number, .compare = 0};
    return request;
}

wire::Packet Stage::answer(std::uint32_t psn, wire::Syndrome syndrome) {
    auto response = packet(Operation::Acknowledge, Position::Only, psn, 0);
    response.bth.ack_request = false;
    response.aeth.syndrome = syndrome;
    return response;
}

wire::Packet Stage::atomic_answer(std::uint32_t psn, std::uint64_t original) {
    auto response = packet(Operation::AtomicAcknowledge, Position::Only, psn, 0);
    response.atomic_ack = {.original = original};
    return response;
}

wire::Envelope Stage::to_device() const {
    return {.source = address_of(scene_.v6, false),
            .destination = address_of(scene_.v6, true),
            .source_port = 0xC000};
}

void Stage::arrive(const wire::Packet& packet, const wire::Envelope& envelope) {
    take_frame(frame_of(envelope, bytes_of(packet)));
    speak();
}

void Stage::arrive_together(const std::vector<wire::Packet>& packets) {
    for (const auto& packet : packets)
        take_frame(frame_of(to_device(), bytes_of(packet)));
    speak();
}

void Stage::arrive_spoiled(const wire::Packet& packet, std::uint32_t bits,
                           const wire::Envelope& envelope) {
    auto frame = frame_of(envelope, bytes_of(packet));
    const auto place = wire::MutableBytes(frame).last(wire::kIcrcBytes);
    for (std::size_t i = 0; i < place.size(); ++i)
        place[i] ^= static_cast<std::byte>(bits >> 8 * i); // least significant byte first
    take_frame(frame);
    speak();
}

// --- the host

engine::SendRequest Stage::request(std::uint64_t id, engine::WrOpcode opcode, std::uint32_t bytes) {
    auto& list = lists_.emplace_back();
    list.push_back(piece(0, bytes));
    return {.id = id,
            .opcode = opcode,
            .sges = list,
            .remote_address = 0x5000,
            .rkey = {0x55},
            .imm = static_cast<std::uint32_t>(id)};
}

void Stage::post(const engine::SendRequest& request) {
    std::array<engine::SendRequest, 1> chain{request};
    filter_->posting_send(qpn(), chain.front());
    REQUIRE(engine_.post_send(qp(), chain, now_).posted == 1);
    speak();
}

void Stage::receive(std::uint64_t id, std::span<const engine::Sge> sges) {
    std::array<engine::ReceiveRequest, 1> chain{{{.id = id, .sges = sges}}};
    filter_->posting_receive(qpn(), chain.front());
    REQUIRE(engine_.post_receive(qp(), chain).posted == 1);
}

void Stage::share_receive(std::uint64_t id) {
    const std::array<engine::Sge, 1> sges{
        {{.address = base + 8192, .length = 512, .lkey = shared_own_.lkey}}};
    const std::array<engine::ReceiveRequest, 1> chain{{{.id = id, .sges = sges}}};
    REQUIRE(engine_.post_srq_receive(srq_, chain).posted == 1);
}

void Stage::modify(const engine::QpAttributes& attributes) {
    engine::QpAttributes wanted = attributes;
    filter_->modifying(qpn(), wanted);
    REQUIRE(engine_.modify_qp(qp(), wanted, now_));
    filter_->qp_changed(engine_.query_qp(qp()).value());
    speak();
}

void Stage::destroy() {
    REQUIRE(engine_.destroy_qp(qp()));
    filter_->qp_destroyed(qpn());
}

void Stage::arm_limit(std::uint32_t limit) {
    REQUIRE(engine_.modify_srq(srq_, limit));
}

wire::Rkey Stage::bind(const engine::Access& access) {
    const auto window = engine_.allocate_window(pd_, engine::WindowType::Type1).value();
    const auto key = engine_.bind_window(
        qp(), window.mw, {.mr = own_.mr, .address = base, .length = 4096, .access = access}, 99);
    REQUIRE(key);
    speak();
    return *key;
}

wire::Rkey Stage::register_apart(const engine::Access& access) {
    const auto domain = engine_.create_pd().value();
    const auto region = engine_.register_region(domain, memory_, base, access).value();
    filter_->region_registered({.mr = region.mr,
                                .pd = domain,
                                .rkey = region.rkey,
                                .address = base,
                                .memory = memory_,
                                .access = access});
    return region.rkey;
}

engine::Engine::Window Stage::window() {
    return engine_.allocate_window(pd_, engine::WindowType::Type2).value();
}

engine::SendRequest Stage::bind_request(std::uint64_t id, engine::MwId mw, wire::Rkey key,
                                        std::uint64_t offset) const {
    return {.id = id,
            .opcode = engine::WrOpcode::BindMw,
            .sges = {},
            .rkey = key,
            .mw = mw,
            .bind = engine::BindInfo{.mr = own_.mr,
                                     .address = base + offset,
                                     .length = 256,
                                     .access = {.remote_read = true}}};
}

void Stage::wait() {
    const auto next = engine_.next_timeout();
    if (!next) {
        text_ += "idle\n";
        return;
    }
    now_ = *next;
    engine_.handle_timeout(now_);
    speak();
}

void Stage::completions(bool lengths_of_reads) {
    while (const auto completion = engine_.poll_completion(cq_)) {
        std::vector<engine::Completion> seen;
        filter_->completions(*completion, seen);
        for (const engine::Completion& one : seen) {
            text_ += fmt::format("{} {} {}", engine::name_of(one.queue), one.id,
                                 engine::name_of(one.status));
            const bool data = one.status == engine::WcStatus::Success;
            if (data && one.queue == engine::Queue::Receive) {
                text_ += fmt::format(" {} bytes", one.byte_len);
                if (one.imm) text_ += fmt::format(" immediate {}", *one.imm);
                if (one.source_qp && *one.source_qp != first_peer)
                    text_ += fmt::format(" from QP {:#x}", one.source_qp->value);
            }
            if (one.invalidated_rkey)
                text_ += fmt::format(" revoked {:#x}", one.invalidated_rkey->value);
            if (data && lengths_of_reads && one.opcode == engine::WcOpcode::RdmaRead)
                text_ += fmt::format(" {} bytes", one.byte_len);
            if (one.qp != qp()) text_ += " of another QP";
            text_ += '\n';
        }
    }
}

void Stage::events() {
    while (const auto event = engine_.poll_event()) {
        if (const auto seen = filter_->event(*event))
            text_ += fmt::format("event {}\n", engine::name_of(seen->type));
    }
}

void Stage::notification() {
    text_ += engine_.take_notification(cq_) ? "notified\n" : "not notified\n";
}

void Stage::memory(std::uint64_t offset) {
    text_ += fmt::format("at {}: {}\n", offset, std::to_integer<unsigned>(memory_.at(offset)));
}

// "READ_RESPONSE_FIRST 100, 256 bytes of 1, syndrome 1f msn 1"
void Stage::note(const engine::OwnedDatagram& datagram) {
    auto frame = frame_of(datagram.envelope, datagram.bytes);
    filter_->sealed(frame);
    const auto parsed = wire::decode_frame(frame);
    if (!parsed) {
        text_ += fmt::format("{}\n", wire::text_of(parsed.error()));
        return;
    }
    const auto packet = wire::decode_packet(parsed->transport);
    REQUIRE(packet);
    text_ += fmt::format("{} {}", packet->info().name, packet->bth.psn.value());
    if (const auto payload = packet->payload(); !payload.empty()) {
        text_ += fmt::format(", {} bytes of {}", payload.size(),
                             std::to_integer<unsigned>(payload.back()));
    }
    if (packet->headers.has(wire::Header::Reth)) {
        text_ += fmt::format(", for {} bytes at {:#x}", packet->reth.dma_length,
                             packet->reth.virtual_address);
    }
    if (packet->headers.has(wire::Header::AtomicEth) && packet->atomic.swap_or_add != 0)
        text_ += fmt::format(", operand {}", packet->atomic.swap_or_add);
    if (packet->headers.has(wire::Header::ImmDt))
        text_ += fmt::format(", immediate {}", packet->imm.value);
    if (packet->headers.has(wire::Header::AtomicAckEth))
        text_ += fmt::format(", found {}", packet->atomic_ack.original);
    if (packet->headers.has(wire::Header::Aeth)) {
        text_ += fmt::format(", syndrome {:02x} msn {}", packet->aeth.syndrome.value,
                             packet->aeth.msn.value);
    }
    if (packet->headers.has(wire::Header::Deth))
        text_ += fmt::format(", Q_Key {:#x}", packet->deth.qkey.value);
    if (packet->headers.has(wire::Header::Ieth))
        text_ += fmt::format(", revokes {:#x}", packet->ieth.rkey.value);
    if (packet->bth.ack_request) text_ += ", asks";
    if (packet->bth.solicited) text_ += ", solicited";
    if ((packet->bth.reserved6 | packet->bth.reserved7) != 0) text_ += ", reserved bits";
    if (packet->bth.pkey != wire::kDefaultPkey)
        text_ += fmt::format(", P_Key {:#x}", packet->bth.pkey.value);
    if (packet->bth.dest_qp != first_peer)
        text_ += fmt::format(", to QP {:#x}", packet->bth.dest_qp.value);
    constexpr std::size_t rejected_at = 32; // which message a REJ rejects
    constexpr std::size_t reason_at = 34;
    if (packet->bth.dest_qp == wire::kGsiQpn && packet->payload().size() > reason_at + 1) {
        text_ += fmt::format(", rejects {}",
                             std::to_integer<unsigned>(packet->payload()[rejected_at]) >> 6);
        const std::uint16_t reason = wire::load_u16(packet->payload(), reason_at);
        if (reason != 0) text_ += fmt::format(", reason {}", reason);
    }
    const wire::Envelope envelope = parsed->envelope();
    if (envelope.dscp != 0) text_ += fmt::format(", DSCP {}", envelope.dscp);
    if (envelope.ecn != 0) text_ += fmt::format(", ECN {}", envelope.ecn);
    if (constexpr int usual = 64; envelope.hop_limit != usual)
        text_ += fmt::format(", hop limit {}", envelope.hop_limit);
    if (!port_) port_ = envelope.source_port;
    if (envelope.source_port != *port_) text_ += ", from another port";
    if (envelope.destination != address_of(scene_.v6, false)) text_ += ", to another address";
    if (envelope.vlan) text_ += fmt::format(", VLAN {}", envelope.vlan->id);
    if (parsed->ipv4 && !parsed->ipv4->dont_fragment) text_ += ", without DF";
    if (!wire::unseal(frame)) text_ += ", damaged";
    text_ += '\n';
}

} // namespace veriroce::mutants::test
