#include "tests/transport/engine/lab.hpp"

#include <cstring>

namespace veriroce::engine::test {

std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
    std::vector<std::byte> bytes(size);
    std::uint32_t x = seed * 2654435761U + 1;
    for (std::byte& byte : bytes) {
        x = x * 1664525U + 1013904223U;
        byte = static_cast<std::byte>(x >> 24U);
    }
    return bytes;
}

Lab::Lab(const LabOptions& wanted)
    : engine(wanted.config, wanted.checks), options(wanted), memory_(pattern(region_bytes, 7)) {
    pd = engine.create_pd().value();
    send_cq = engine.create_cq(options.cq_depth).value();
    receive_cq = engine.create_cq(options.cq_depth).value();
    region = engine.register_region(pd, memory_, region_address, options.region_access).value();
    qp = engine.create_qp(description()).value();
    connect(qp);
}

QpDescription Lab::description() const {
    return {.pd = pd,
            .type = options.type,
            .send_cq = send_cq,
            .recv_cq = receive_cq,
            .capacity = options.capacity,
            .gsi = options.gsi};
}

QpId Lab::connect_another(const wire::IpAddress& peer) {
    const QpId other = engine.create_qp(description()).value();
    bring_up(other, QpState::Rts, peer);
    return other;
}

QpId Lab::another(const QpDescription& wanted) {
    const QpId made = engine.create_qp(wanted).value();
    connect(made);
    return made;
}

void Lab::connect(QpId which) {
    bring_up(which, options.state, peer_address);
}

void Lab::bring_up(QpId which, QpState state, const wire::IpAddress& peer) {
    const auto modify = [this, which](const QpAttributes& attributes) {
        if (!engine.modify_qp(which, attributes, now)) FAIL("modify_qp");
    };
    if (state == QpState::Reset) return;
    if (options.type != QpType::Rc) {
        bring_up_unreliable(which, state, peer);
        return;
    }
    QpState from = QpState::Reset;
    for (const QpState to : {QpState::Init, QpState::Rtr, QpState::Rts, state}) {
        if (from == state) return;
        modify(attributes_to(from, to, options, peer));
        from = to;
    }
}

QpAttributes attributes_to(QpState from, QpState to, const LabOptions& options,
                           const wire::IpAddress& peer) {
    QpAttributes a{.state = to};
    if (from == QpState::Reset && to == QpState::Init) a.access = options.qp_access;
    if (from == QpState::Init && to == QpState::Rtr) {
        a.path_mtu = options.mtu;
        a.dest_qp = peer_qpn;
        a.rq_psn = options.rq;
        a.address = AddressVector{.source = our_address, .destination = peer};
        a.min_rnr_timer = options.min_rnr_timer;
        a.max_dest_rd_atomic = options.max_dest_rd_atomic;
        if (options.flow_control) a.flow_control = true;
    }
    if (from == QpState::Rtr && to == QpState::Rts) {
        a.sq_psn = options.sq;
        a.timeout = options.timeout;
        a.retry_count = options.retry_count;
        a.rnr_retry = options.rnr_retry;
        a.max_rd_atomic = options.max_rd_atomic;
    }
    return a;
}

void Lab::bring_up_unreliable(QpId which, QpState state, const wire::IpAddress& peer) {
    const bool datagram = options.type == QpType::Ud;
    std::vector<QpAttributes> steps(3);
    steps[0] = {.state = QpState::Init};
    steps[1] = {.state = QpState::Rtr};
    steps[2] = {.state = QpState::Rts, .sq_psn = options.sq};
    if (datagram) {
        if (!options.gsi) steps[0].qkey = options.qkey;
    } else {
        steps[0].access = options.qp_access;
        steps[1].path_mtu = options.mtu;
        steps[1].dest_qp = peer_qpn;
        steps[1].rq_psn = options.rq;
        steps[1].address = AddressVector{.source = our_address, .destination = peer};
    }
    if (state != QpState::Rts && state > QpState::Rts) steps.push_back({.state = state});
    for (const QpAttributes& step : steps) {
        if (!engine.modify_qp(which, step, now)) FAIL("modify_qp");
        if (step.state == state) return;
    }
}

UdDestination Lab::destination() const {
    return {.path = {.source = our_address, .destination = peer_address},
            .qpn = peer_qpn,
            .qkey = options.qkey};
}

wire::Packet Lab::packet(std::string_view opcode, wire::Psn psn) const {
    wire::Packet made;
    constexpr std::array services{wire::Service::Rc, wire::Service::Uc, wire::Service::Ud};
    const auto code =
        wire::opcode_by_name(opcode, services.at(static_cast<std::size_t>(options.type)));
    INFO(opcode);
    REQUIRE(code);
    made.bth = {.opcode = *code,
                .dest_qp = options.gsi ? wire::Qpn{1} : our_qpn,
                .ack_request = true,
                .psn = psn};
    made.headers = made.info().headers;
    made.reth.rkey = made.atomic.rkey = region.rkey;
    made.reth.virtual_address = made.atomic.virtual_address = region_address;
    made.deth = {.qkey = options.gsi ? wire::Qkey{0x80010000} : options.qkey,
                 .source_qp = peer_qpn};
    made.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
    return made;
}

wire::Packet Lab::ack(wire::Psn psn, std::uint32_t msn, std::uint8_t syndrome) const {
    wire::Packet made = packet("ACKNOWLEDGE", psn);
    made.bth.ack_request = false;
    made.aeth = {.syndrome = {syndrome}, .msn = {msn}};
    return made;
}

void Lab::receive(const wire::Packet& packet, wire::Bytes payload) {
    receive(packet, payload, {.source = peer_address, .destination = our_address});
}

void Lab::receive(const wire::Packet& packet, wire::Bytes payload, const wire::Envelope& envelope) {
    std::vector<std::byte> bytes(wire::kMaxTransportHeaderBytes);
    wire::Packet sealed = packet;
    if (sealed.bth.pad == 0) sealed.bth.pad = wire::pad_of(payload.size());
    bytes.resize(wire::encode_headers(sealed, bytes));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + wire::pad_of(payload.size()));
    engine.handle({.envelope = envelope, .bytes = bytes}, now);
}

std::vector<Sent> Lab::drain() {
    std::vector<Sent> all;
    while (const auto packet = engine.poll_transmit(now)) {
        REQUIRE(all.size() < 100'000);
        Sent& sent = all.emplace_back();
        sent.envelope = packet->envelope;
        sent.bytes.assign(packet->headers.begin(), packet->headers.end());
        sent.bytes.insert(sent.bytes.end(), packet->payload.begin(), packet->payload.end());
        sent.bytes.resize(sent.bytes.size() + packet->pad);
        CHECK(sent.bytes.size() % 4 == 0);
    }
    for (Sent& sent : all) {
        sent.packet = wire::decode_packet(sent.bytes).value();
        CHECK(sent.packet.bth.dest_qp == peer_qpn);
    }
    return all;
}

Sent Lab::one() {
    auto all = drain();
    REQUIRE(all.size() == 1);
    Sent only = std::move(all.front());
    only.packet = wire::decode_packet(only.bytes).value();
    return only;
}

void Lab::next_deadline() {
    const auto next = engine.next_timeout();
    REQUIRE(next);
    now = *next;
    engine.handle_timeout(now);
}

void Lab::pass(wire::Duration time) {
    now += time;
    engine.handle_timeout(now);
}

void Lab::post(const SendRequest& request) {
    const auto posted = engine.post_send(qp, std::span(&request, 1), now);
    REQUIRE_FALSE(posted.refused);
}

void Lab::post_receive(std::uint64_t id, std::uint32_t length, std::uint64_t offset) {
    const Sge piece = sge(offset, length);
    const ReceiveRequest request{.id = id, .sges = std::span(&piece, 1)};
    REQUIRE_FALSE(engine.post_receive(qp, std::span(&request, 1)).refused);
}

namespace {

std::vector<Completion> all_of(Engine& engine, CqId cq) {
    std::vector<Completion> all;
    while (const auto completion = engine.poll_completion(cq))
        all.push_back(*completion);
    return all;
}

} // namespace

std::vector<Completion> Lab::sends() {
    return all_of(engine, send_cq);
}
std::vector<Completion> Lab::receives() {
    return all_of(engine, receive_cq);
}

std::vector<Event> Lab::events() {
    std::vector<Event> all;
    while (const auto event = engine.poll_event())
        all.push_back(*event);
    return all;
}

QpState Lab::state() const {
    return engine.query_qp(qp).value().state;
}

Sge Lab::sge(std::uint64_t offset, std::uint32_t length) const {
    return {.address = region_address + offset, .length = length, .lkey = region.lkey};
}

wire::MutableBytes Lab::memory(std::uint64_t offset, std::size_t length) {
    return std::span(memory_).subspan(offset, length);
}

std::uint64_t Lab::number(std::uint64_t offset) const {
    std::uint64_t value = 0;
    std::memcpy(&value, memory_.data() + offset, sizeof value);
    return value;
}

} // namespace veriroce::engine::test
