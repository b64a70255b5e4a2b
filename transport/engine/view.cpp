#include "transport/engine/view.hpp"

#include <algorithm>

namespace veriroce::engine {

std::optional<Target> target_of(const wire::Packet& packet, const Inbound& inbound,
                                const Behaviour& behaviour) {
    const bool write = packet.info().operation == wire::Operation::RdmaWrite;
    std::optional<Target> target;
    if (packet.headers.has(wire::Header::Reth)) {
        target = {.rkey = packet.reth.rkey,
                  .address = packet.reth.virtual_address,
                  .length = packet.reth.dma_length};
        if (write && behaviour.write_range == WriteRange::EachPacket) { // KEY-06
            target->length = std::min<std::uint64_t>(target->length, packet.payload().size());
        }
    } else if (packet.headers.has(wire::Header::AtomicEth)) {
        target = {.rkey = packet.atomic.rkey,
                  .address = packet.atomic.virtual_address,
                  .length = sizeof(std::uint64_t)};
    } else if (write) {
        target = {.rkey = inbound.rkey,
                  .address = inbound.address + inbound.received,
                  .length = packet.payload().size()};
        if (behaviour.write_excess == WriteExcess::AtLast) {
            target->length = within_announced(inbound, target->length);
        }
    }
    const bool flush = packet.info().operation == wire::Operation::Flush;
    if (target && flush) target->whole = packet.feth.selectivity != 0;
    // LEN-08, C9-88: a READ or WRITE of no bytes needs no key.
    if (target && target->length == 0 && !flush) target.reset();
    return target;
}

bool wants_response(const wire::OpcodeInfo& request) {
    switch (request.operation) {
    case wire::Operation::RdmaReadRequest:
    case wire::Operation::CompareSwap:
    case wire::Operation::FetchAdd:
    case wire::Operation::Flush:
    case wire::Operation::AtomicWrite: return true;
    case wire::Operation::Send:
    case wire::Operation::RdmaWrite:
    case wire::Operation::RdmaReadResponse:
    case wire::Operation::Acknowledge:
    case wire::Operation::AtomicAcknowledge:
    case wire::Operation::Resync:
    case wire::Operation::Cnp:
    case wire::Operation::Reserved: return false;
    }
    return false;
}

bool RequestView::takes_receive() const {
    if (info.operation == wire::Operation::Send) return info.starts_message();
    return info.operation == wire::Operation::RdmaWrite && info.immediate();
}

} // namespace veriroce::engine
