// Captures and hand-made packets for the tracker.
#pragma once

#include <filesystem>
#include <vector>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/flow/tracker.hpp"

namespace veriroce::flow::test {

struct Frame {
    std::vector<std::byte> bytes;
    std::int64_t time_ns = 0;
};

inline std::vector<Frame> frames_of(const std::filesystem::path& path) {
    auto reader = capture::Reader::open(path);
    if (!reader) throw std::runtime_error(capture::text_of(reader.error(), path.string()));
    std::vector<Frame> frames;
    capture::Record record;
    while (reader->next(record).value_or(false)) {
        frames.push_back({.bytes = {record.bytes.begin(), record.bytes.end()},
                          .time_ns = record.time_ns.value_or(0)});
    }
    return frames;
}

inline std::filesystem::path pcap(std::string_view name) {
    return std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps" / (std::string(name) + ".pcap");
}

inline void dissect(const Frame& frame, std::uint64_t number, decode::Dissection& out) {
    decode::FrameFacts facts;
    facts.bytes = frame.bytes;
    facts.original_length = static_cast<std::uint32_t>(frame.bytes.size());
    facts.number = number;
    facts.time_ns = frame.time_ns;
    decode::dissect_frame(facts, {}, out);
}

// Packets by hand: two ends, `a` with QP 0x11 and `b` with QP 0x22.
class Wire {
  public:
    // To the other end; times count up by `step`.
    Packet from_a(std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload = 0) {
        return packet(a_, b_, {0x22}, opcode, psn, payload);
    }
    Packet from_b(std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload = 0) {
        return packet(b_, a_, {0x11}, opcode, psn, payload);
    }
    // An acknowledge from `b`.
    Packet ack(std::uint32_t psn, std::uint32_t msn) {
        return answer(psn, msn, wire::Syndrome::ack(31));
    }
    Packet nak(std::uint32_t psn, std::uint32_t msn, wire::NakCode code) {
        return answer(psn, msn, wire::Syndrome::nak(code));
    }
    Packet answer(std::uint32_t psn, std::uint32_t msn, wire::Syndrome syndrome,
                  std::uint8_t opcode = 0x11, std::uint32_t payload = 0) {
        Packet made = from_b(opcode, psn, payload);
        made.transport.aeth = {.syndrome = syndrome, .msn = {msn}};
        return made;
    }
    Packet read(std::uint32_t psn, std::uint32_t length, std::uint64_t address = 0x1000) {
        Packet made = from_a(0x0C, psn);
        made.transport.reth = {.virtual_address = address, .rkey = {7}, .dma_length = length};
        return made;
    }
    void wait(wire::Duration time) { now_ += time; }

  private:
    Packet packet(const wire::IpAddress& source, const wire::IpAddress& destination, wire::Qpn qpn,
                  std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload) {
        Packet made;
        made.number = ++number_;
        made.time = now_ += std::chrono::microseconds(1);
        made.source = source;
        made.destination = destination;
        made.source_port = 50'000;
        made.transport.bth.opcode = opcode;
        made.transport.bth.dest_qp = qpn;
        made.transport.bth.psn = wire::Psn(psn);
        made.transport.headers = wire::opcode_info(opcode).headers;
        made.transport.bth.pad = wire::pad_of(payload);
        made.body_bytes = payload + wire::pad_of(payload);
        made.transport.body = wire::Bytes(zeros_).first(made.body_bytes);
        made.integrity = Integrity::Good;
        return made;
    }

    inline static const std::vector<std::byte> zeros_ = std::vector<std::byte>(8192);
    wire::IpAddress a_ = wire::IpAddress::from_v4(0x0A4D0001);
    wire::IpAddress b_ = wire::IpAddress::from_v4(0x0A4D0002);
    std::uint64_t number_ = 0;
    wire::Instant now_{};
};

} // namespace veriroce::flow::test
