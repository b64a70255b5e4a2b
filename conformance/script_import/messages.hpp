// The messages of the end that asks, put together of its packets, and each in the words of a
// script: the work request that makes a device send it, and the `<` line that it must be.
//
// PSNs are relative to the asking end's first; sizes are bytes. Internal to this room.
// Source: rules LEN-10, RSP-01.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "conformance/script_import/exchange.hpp"
#include "conformance/script_import/regions.hpp"

namespace veriroce::script_import {

struct Message {
    wire::Operation operation = wire::Operation::Send;
    std::int64_t psn = 0;
    std::uint32_t span = 1;
    std::uint64_t bytes = 0; // of a READ what it asks for
    wire::Packet first;      // its headers
    std::optional<std::uint32_t> imm;
    std::optional<wire::Rkey> invalidates;
    bool solicited = false;
    std::size_t seen = 0; // at which step
    std::optional<Place> place;

    [[nodiscard]] bool atomic() const {
        return operation == wire::Operation::CompareSwap || operation == wire::Operation::FetchAdd;
    }
    // A FLUSH or an ATOMIC WRITE, whose answer is an empty READ response (EXT-02).
    [[nodiscard]] bool answered_empty() const {
        return operation == wire::Operation::Flush || operation == wire::Operation::AtomicWrite;
    }
    [[nodiscard]] bool answered_in_turn() const {
        return atomic() || answered_empty() || operation == wire::Operation::RdmaReadRequest;
    }
    [[nodiscard]] bool carries_payload() const {
        return operation == wire::Operation::AtomicWrite || !answered_in_turn();
    }
    [[nodiscard]] std::int64_t end() const { return psn + span; }
    [[nodiscard]] std::uint64_t access_bytes() const { return atomic() ? 8 : bytes; }
};

struct Messages {
    std::vector<Message> all;
    std::string stop; // why there are no more; empty if all are there
};

// One copy of every packet, in the order of PSNs.
Messages messages_of(const Exchange& exchange, const Regions& regions);

// "RDMA_WRITE_WITH_IMM": the work request's operation.
std::string verb_of(const Message& message);
// " local=s[0 +64] remote=ta[0 +64]": what stands behind its id.
std::string post_of(const Message& message);
// "RDMA_READ_REQUEST psn=3 va=ta rkey=ta dmalen=64": what a `<` line says of it.
std::string expected_text(const Message& message);
// The packets of it from this PSN on, the same.
std::vector<std::string> expected_rest(const Message& message, std::int64_t psn, wire::Mtu mtu);

// "ta[64 +256]"
std::string piece(const std::string& region, std::uint64_t offset, std::uint64_t bytes);
// The device's region for what it reads of the tester's.
std::string local_name(const Region& region);

} // namespace veriroce::script_import
