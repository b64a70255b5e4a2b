#include "conformance/dut/virtual_dut.hpp"

#include <algorithm>
#include <utility>

#include "dissector/wire/management.hpp"
#include "transport/engine/management_host.hpp"
#include "transport/engine/view.hpp"

namespace veriroce::dut {
namespace {

// Whether the frame goes to QP 1, as far as its lengths tell. IPv4 with options does not.
bool is_for_gsi(wire::Bytes frame) {
    constexpr std::size_t ethertype_at = 12;
    constexpr std::size_t qpn_at = 8 + 5; // after the IP header
    if (frame.size() < ethertype_at + 2) return false;
    const bool tagged =
        wire::load_u16(frame, ethertype_at) == static_cast<std::uint16_t>(wire::EtherType::Vlan);
    const std::size_t ip = wire::Ethernet::kSize + (tagged ? wire::VlanTag::kSize : 0);
    if (frame.size() <= ip) return false;
    const bool v6 = wire::load_u8(frame, ip) >> 4 == 6;
    const std::size_t at = ip + (v6 ? wire::Ipv6::kSize : wire::Ipv4::kSize) + qpn_at;
    return frame.size() >= at + 3 && wire::load_u8(frame, at) == 0 &&
           wire::load_u16(frame, at + 1) == wire::kGsiQpn.value;
}

} // namespace

struct VirtualDut::State {
    explicit State(VirtualDutOptions options)
        : filter(std::move(options.filter)), engine(options.engine, options.checks),
          budget(options.limits), nic({.mac = options.description.mac,
                                       .addresses = options.description.addresses,
                                       .first_ip_id = options.first_ip_id},
                                      engine, filter.get()),
          neighbour(options.neighbour),
          device(engine, budget, std::move(options.description), filter.get()),
          late(device, filter.get()), limited(late, std::move(options.lacks), options.told) {
        device.use([this](wire::Instant now) -> engine::ManagementHost& { return host(now); });
    }

    std::unique_ptr<engine::SurfaceFilter> filter;
    engine::Engine engine;
    Budget budget;
    sim::Nic nic;
    wire::MacAddress neighbour;
    // Once it is needed: QP 1 and its objects take numbers of the engine.
    std::optional<engine::ManagementHost> management;
    EngineDevice device;
    LateDevice late;       // in front of it
    LimitedDevice limited; // in front of that
    PendingCalls pending;
    std::uint64_t next_call = 1;

    engine::ManagementHost& host(wire::Instant now) {
        if (!management) management.emplace(engine, now);
        return *management;
    }

    // Executes the waiting calls again after events up to now.
    void settle(wire::Instant now) {
        while (const auto event = engine.poll_event())
            device.offer(*event, now);
        pending.advance(limited, now);
        late.pass(now);
    }
};

VirtualDut::VirtualDut(VirtualDutOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
VirtualDut::~VirtualDut() = default;

CallId VirtualDut::submit(Request request, wire::Instant now) {
    const CallId call{state_->next_call++};
    // The neighbour leads to every peer: the device resolves it when it learns the address.
    if (const auto* modify = std::get_if<QpModify>(&request)) {
        const QpAttributes& to = modify->attributes;
        for (const auto& vector : {to.address_vector, to.alt_address_vector}) {
            if (vector) state_->nic.neighbour(vector->address, state_->neighbour);
        }
    }
    if (const auto* post = std::get_if<PostSend>(&request)) {
        for (const SendRequest& one : post->requests) {
            if (one.ud) state_->nic.neighbour(one.ud->address, state_->neighbour);
        }
    }
    state_->settle(now); // answer earlier calls first
    state_->pending.submit(call, request, state_->limited, now);
    return call;
}

std::optional<Reply> VirtualDut::poll(wire::Instant now) {
    if (const auto due = state_->nic.next_deadline(); due && *due <= now) {
        state_->nic.advance(now);
    }
    state_->settle(now);
    return state_->pending.take();
}

std::optional<wire::Instant> VirtualDut::next_deadline() const {
    std::optional<wire::Instant> next;
    const auto management = state_->management ? state_->management->next_deadline() : std::nullopt;
    for (const auto& one : {state_->nic.next_deadline(), state_->pending.next_deadline(),
                            state_->late.next_deadline(), management}) {
        if (one && (!next || *one < *next)) next = one;
    }
    return next;
}

void VirtualDut::receive(wire::Bytes frame, wire::Instant now) {
    if (is_for_gsi(frame)) static_cast<void>(state_->host(now));
    state_->nic.receive(frame, now);
    if (state_->management) static_cast<void>(state_->management->serve(now));
}

std::optional<wire::Bytes> VirtualDut::transmit(wire::Instant now) {
    if (const auto due = state_->nic.next_deadline(); due && *due <= now) {
        state_->nic.advance(now);
    }
    if (state_->management) static_cast<void>(state_->management->serve(now));
    return state_->nic.poll_frame(now);
}

engine::Engine& VirtualDut::engine() {
    return state_->engine;
}
const sim::PortCounters& VirtualDut::port_counters() const {
    return state_->nic.counters();
}

} // namespace veriroce::dut
