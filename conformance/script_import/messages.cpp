#include "conformance/script_import/messages.hpp"

#include <map>

#include <fmt/format.h>

#include "conformance/script_import/draft.hpp"

namespace veriroce::script_import {
namespace {

using wire::Operation;

constexpr std::uint64_t kMostLocal = 16ULL << 20;

class Collector {
  public:
    Collector(const Exchange& exchange, const Regions& regions)
        : exchange_(exchange), regions_(regions) {}

    Messages run() {
        std::map<std::int64_t, std::size_t> copies; // the step at which each was first seen
        for (std::size_t i = 0; i < exchange_.steps.size(); ++i) {
            const Event& event = exchange_.event(i);
            if (!event.asks() || event.damaged) continue;
            copies.try_emplace(wire::distance(exchange_.first, event.packet.bth.psn), i);
        }
        std::optional<Message> open;
        for (auto copy = copies.find(0); copy != copies.end();) {
            const Event& event = exchange_.event(copy->second);
            if (std::string why = unspeakable(event); !why.empty()) return stopped(std::move(why));
            if (event.info().starts_message()) open = begin(event, copy->first, copy->second);
            if (!open) {
                return stopped(
                    fmt::format("the message of frame {} has no beginning", event.number));
            }
            extend(*open, event);
            const std::int64_t next = open->end();
            if (event.info().ends_message()) {
                if (std::string why = add(*open, event); !why.empty()) {
                    return stopped(std::move(why));
                }
                open.reset();
            }
            copy = copies.find(next);
        }
        if (!open) return std::move(messages_);
        return stopped(exchange_.stop.empty() ? "the last message has no end" : exchange_.stop);
    }

  private:
    Messages stopped(std::string why) {
        messages_.stop = std::move(why);
        return std::move(messages_);
    }

    [[nodiscard]] Message begin(const Event& event, std::int64_t psn, std::size_t seen) const {
        Message message{.operation = event.info().operation,
                        .psn = psn,
                        .span = 0,
                        .first = event.packet,
                        .seen = seen};
        if (const auto access = access_of(event)) {
            message.place = regions_.place(access->address, access->bytes);
        }
        return message;
    }

    void extend(Message& message, const Event& event) const {
        const bool by_length = message.operation == Operation::RdmaReadRequest ||
                               message.operation == Operation::Flush;
        message.span += exchange_.span_of(event);
        message.bytes += by_length ? event.packet.reth.dma_length : event.payload_bytes;
        message.solicited = event.packet.bth.solicited;
        if (event.info().immediate()) message.imm = event.packet.imm.value;
        if (event.info().invalidates()) message.invalidates = event.packet.ieth.rkey;
    }

    // Why no device can be made to send it; empty if one can.
    std::string add(const Message& message, const Event& event) {
        const bool remote = message.operation != Operation::Send;
        if ((remote && !message.place) || message.bytes > kMostLocal) {
            return fmt::format("frame {} accesses memory that no region of {} MiB can hold",
                               event.number, kLargestRegion >> 20);
        }
        const bool natural = message.answered_in_turn() ||
                             wire::packets_of(message.bytes, exchange_.mtu) == message.span;
        const bool announced = message.operation != Operation::RdmaWrite ||
                               message.first.reth.dma_length == message.bytes;
        const bool aligned = !message.atomic() || message.first.atomic.virtual_address % 8 == 0;
        const bool exact = message.operation != Operation::AtomicWrite ||
                           (message.bytes == 8 && message.first.reth.virtual_address % 8 == 0);
        // A work request for a FLUSH names a range.
        const bool range = message.first.feth.selectivity == 0;
        if (!natural || !announced || !aligned || !exact || !range) {
            return fmt::format("no device can send the message that ends in frame {}",
                               event.number);
        }
        messages_.all.push_back(message);
        return {};
    }

    const Exchange& exchange_;
    const Regions& regions_;
    Messages messages_;
};

// Of an atomic: what both lines about it say.
std::string operands_of(const Message& message) {
    const wire::AtomicEth& atomic = message.first.atomic;
    if (message.operation == Operation::FetchAdd) {
        return fmt::format(" add=0x{:X}", atomic.swap_or_add);
    }
    if (message.operation == Operation::CompareSwap) {
        return fmt::format(" compare=0x{:X} swap=0x{:X}", atomic.compare, atomic.swap_or_add);
    }
    return {};
}

std::string remote_of(const Message& message) {
    const Place& place = *message.place;
    return " remote=" + piece(place.region->tester_name(), place.offset, message.access_bytes());
}

std::string memory_of(const Message& message) {
    if (!message.place) return {};
    const bool moves_bytes = message.bytes > 0 || message.atomic();
    if (!moves_bytes && message.operation != Operation::Flush) {
        return " dmalen=0"; // LEN-08: any address and key will do
    }
    const Place& place = *message.place;
    const std::string name = place.region->tester_name();
    const std::string text =
        " va=" + (place.offset == 0 ? name : fmt::format("{}+{}", name, place.offset)) +
        " rkey=" + name;
    if (message.atomic()) return text + operands_of(message);
    return text + fmt::format(" dmalen={}", message.bytes);
}

std::string payload_of(const Message& message) {
    if (message.operation == Operation::Flush) return " plt=1 sel=0";
    if (!message.carries_payload()) return {};
    std::string text = fmt::format(" len={}", message.bytes);
    if (message.bytes > 0) text += " data=" + piece("s", 0, message.bytes);
    if (message.imm) text += fmt::format(" imm=0x{:08X}", *message.imm);
    if (message.invalidates) text += fmt::format(" ikey=abs:0x{:X}", message.invalidates->value);
    return text;
}

} // namespace

Messages messages_of(const Exchange& exchange, const Regions& regions) {
    return Collector(exchange, regions).run();
}

std::string piece(const std::string& region, std::uint64_t offset, std::uint64_t bytes) {
    return fmt::format("{}[{} +{}]", region, offset, bytes);
}

std::string local_name(const Region& region) {
    return "d" + region.name;
}

std::string verb_of(const Message& message) {
    switch (message.operation) {
    case Operation::RdmaWrite: return message.imm ? "RDMA_WRITE_WITH_IMM" : "RDMA_WRITE";
    case Operation::RdmaReadRequest: return "RDMA_READ";
    case Operation::CompareSwap: return "ATOMIC_CMP_AND_SWP";
    case Operation::FetchAdd: return "ATOMIC_FETCH_AND_ADD";
    case Operation::Flush: return "FLUSH";
    case Operation::AtomicWrite: return "ATOMIC_WRITE";
    case Operation::Send:
    case Operation::RdmaReadResponse:
    case Operation::Acknowledge:
    case Operation::AtomicAcknowledge:
    case Operation::Resync:
    case Operation::Cnp:
    case Operation::Reserved: break;
    }
    if (message.invalidates) return "SEND_WITH_INV";
    return message.imm ? "SEND_WITH_IMM" : "SEND";
}

std::string post_of(const Message& message) {
    const bool reads = message.atomic() || message.operation == Operation::RdmaReadRequest;
    std::string text;
    if (reads) {
        const Place& place = *message.place;
        text = " local=" + piece(local_name(*place.region), place.offset, message.access_bytes());
    } else if (message.bytes == 0) {
        text = " len=0";
    } else if (message.operation != Operation::Flush) {
        text = " local=" + piece("s", 0, message.bytes);
    }
    if (message.place) text += remote_of(message);
    text += operands_of(message);
    if (message.imm) text += fmt::format(" imm=0x{:08X}", *message.imm);
    if (message.invalidates) text += fmt::format(" ikey=abs:0x{:X}", message.invalidates->value);
    return text + (message.solicited ? " se" : "");
}

std::string expected_text(const Message& message) {
    const std::string name =
        message.answered_in_turn() ? std::string(message.first.info().name) : verb_of(message);
    return fmt::format("{} psn={}{}{}", name, message.psn, memory_of(message), payload_of(message));
}

std::vector<std::string> expected_rest(const Message& message, std::int64_t psn, wire::Mtu mtu) {
    std::vector<std::string> lines;
    for (std::int64_t at = psn; at < message.end(); ++at) {
        const bool last = at + 1 == message.end();
        const auto opcode = wire::opcode_of(wire::Service::Rc, message.operation,
                                            last ? wire::Position::Last : wire::Position::Middle,
                                            last && message.imm, last && message.invalidates);
        const std::uint64_t before =
            static_cast<std::uint64_t>(at - message.psn) * wire::bytes_of(mtu);
        const std::uint64_t bytes = last ? message.bytes - before : wire::bytes_of(mtu);
        lines.push_back(fmt::format("{} psn={} len={} data={}", wire::opcode_info(*opcode).name, at,
                                    bytes, piece("s", before, bytes)));
    }
    return lines;
}

} // namespace veriroce::script_import
