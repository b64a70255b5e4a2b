#include "transport/engine/duplicate_checks.hpp"

namespace veriroce::engine::duplicate_check {

// RDR-08, ATM-06: as many as max_dest_rd_atomic are remembered.
bool remembered(const RequestView& view) {
    return view.saved != nullptr;
}

// RDR-05, RDR-07: a part of the READ that was executed, at its own place in the PSNs.
bool within_read(const RequestView& view) {
    if (view.info.operation != wire::Operation::RdmaReadRequest) return true;
    if (view.saved == nullptr) return false;
    const SavedRequest& saved = *view.saved;
    const wire::Reth& asked = view.packet.reth;
    const std::uint64_t offset = std::uint64_t{forward(saved.psn, view.packet.bth.psn)} *
                                 wire::bytes_of(view.connection.mtu);
    const bool same_length =
        saved.opcode == view.packet.bth.opcode && offset + asked.dma_length <= saved.length;
    if (view.behaviour.duplicate_read == DuplicateRead::Revalidated) return same_length;
    return same_length && asked.rkey == saved.rkey &&
           asked.virtual_address == saved.address + offset;
}

// ATM-05, EXT-04: a duplicate must repeat the same atomic, FLUSH or ATOMIC WRITE.
bool same_atomic(const RequestView& view) {
    if (view.info.operation == wire::Operation::RdmaReadRequest) return true;
    if (view.saved == nullptr) return false;
    const SavedRequest& saved = *view.saved;
    const bool atomic = wire::opcode_info(saved.opcode).headers.has(wire::Header::AtomicEth);
    if (view.behaviour.other_atomic == OtherAtomic::SavedAnswer &&
        view.packet.headers.has(wire::Header::AtomicEth)) {
        return atomic && saved.psn == view.packet.bth.psn;
    }
    if (saved.opcode != view.packet.bth.opcode || saved.psn != view.packet.bth.psn) return false;
    if (view.packet.headers.has(wire::Header::Reth)) {
        return view.packet.reth.rkey == saved.rkey &&
               view.packet.reth.virtual_address == saved.address;
    }
    const wire::AtomicEth& asked = view.packet.atomic;
    return asked.rkey == saved.rkey && asked.virtual_address == saved.address &&
           asked.swap_or_add == saved.swap_or_add && asked.compare == saved.compare;
}

} // namespace veriroce::engine::duplicate_check
