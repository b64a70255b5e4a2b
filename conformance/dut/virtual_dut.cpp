#include "conformance/dut/virtual_dut.hpp"

#include <algorithm>
#include <utility>

namespace veriroce::dut {

struct VirtualDut::State {
    explicit State(VirtualDutOptions options)
        : filter(std::move(options.filter)), engine(options.engine, options.checks),
          budget(options.limits), nic({.mac = options.description.mac,
                                       .addresses = options.description.addresses,
                                       .first_ip_id = options.first_ip_id},
                                      engine, filter.get()),
          neighbour(options.neighbour),
          device(engine, budget, std::move(options.description), filter.get()),
          late(device, filter.get()), limited(late, std::move(options.lacks), options.told) {}

    std::unique_ptr<engine::SurfaceFilter> filter;
    engine::Engine engine;
    Budget budget;
    sim::Nic nic;
    wire::MacAddress neighbour;
    EngineDevice device;
    LateDevice late;       // in front of it
    LimitedDevice limited; // in front of that
    PendingCalls pending;
    std::uint64_t next_call = 1;

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
        if (const auto& vector = modify->attributes.address_vector) {
            state_->nic.neighbour(vector->address, state_->neighbour);
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
    for (const auto& one : {state_->nic.next_deadline(), state_->pending.next_deadline(),
                            state_->late.next_deadline()}) {
        if (one && (!next || *one < *next)) next = one;
    }
    return next;
}

void VirtualDut::receive(wire::Bytes frame, wire::Instant now) {
    state_->nic.receive(frame, now);
}

std::optional<wire::Bytes> VirtualDut::transmit(wire::Instant now) {
    if (const auto due = state_->nic.next_deadline(); due && *due <= now) {
        state_->nic.advance(now);
    }
    return state_->nic.poll_frame(now);
}

engine::Engine& VirtualDut::engine() {
    return state_->engine;
}
const sim::PortCounters& VirtualDut::port_counters() const {
    return state_->nic.counters();
}

} // namespace veriroce::dut
