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

// As if both IPv4 addresses were others: their second bytes are greater by this much. The ICRC is
// wrong then.
inline Frame moved(Frame frame, std::uint8_t by) {
    constexpr std::size_t kType = 12;
    constexpr std::size_t kChecksum = 24;
    const auto at = [&frame](std::size_t i) {
        return std::to_integer<std::uint32_t>(frame.bytes[i]);
    };
    if (frame.bytes.size() < 34 || at(kType) != 8 || at(kType + 1) != 0) return frame;
    std::uint32_t sum = ~(at(kChecksum) << 8 | at(kChecksum + 1)) & 0xFFFF;
    for (const std::size_t i : {27U, 31U}) {
        frame.bytes[i] = static_cast<std::byte>(at(i) + by);
        sum += by;
    }
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    frame.bytes[kChecksum] = static_cast<std::byte>(sum >> 8);
    frame.bytes[kChecksum + 1] = static_cast<std::byte>(sum);
    return frame;
}

// Several captures at the same time, each between other addresses, with all troubles.
inline std::vector<Frame> crowded() {
    std::vector<std::vector<Frame>> all;
    for (const std::string_view name :
         {"rxe-write-loss", "rxe-rping-cm", "rxe-rnr-nak", "rxe-psn-wrap", "rxe-cm-reject",
          "rxe-write-corrupt", "rxe-atomic", "rxe-retry-exceeded", "rxe-nak-access-read",
          "rxe-ud-verbs", "rxe-write-loss", "rxe-rping-cm-v6"}) {
        all.push_back(frames_of(pcap(name)));
        if (all.back().size() > 300) all.back().resize(300);
    }
    std::vector<Frame> frames;
    for (std::size_t i = 0; i < 300; ++i) {
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (i >= all[k].size() || (i + k) % 23 == 22) continue; // the capture lacks some
            frames.push_back(moved(all[k][i], static_cast<std::uint8_t>(k)));
            frames.back().time_ns = static_cast<std::int64_t>(frames.size()) * 20'000;
        }
    }
    return frames;
}

// Their ICRCs are not checked.
inline std::vector<decode::Dissection> dissected(const std::vector<Frame>& frames) {
    std::vector<decode::Dissection> all(frames.size());
    for (std::size_t i = 0; i < frames.size(); ++i) {
        all[i].frame.bytes = frames[i].bytes;
        all[i].frame.original_length = static_cast<std::uint32_t>(frames[i].bytes.size());
        all[i].frame.link_code = 1;
        all[i].frame.number = i + 1;
        all[i].frame.time_ns = frames[i].time_ns;
        decode::dissect_frame({.verify_icrc = false}, all[i]);
    }
    return all;
}

// As threads would do it, but always alike: a batch is observed by the last share first, and each
// share is given some batches before the next share is. The batches are merged in order.
template <typename Divided>
void observe_divided(Divided& divided, std::span<const decode::Dissection> frames,
                     std::size_t shares, std::size_t places) {
    constexpr std::size_t kBatch = 50;
    for (std::size_t begin = 0; begin < frames.size(); begin += kBatch * places) {
        std::vector<std::span<const decode::Dissection>> batches;
        for (std::size_t at = begin; at < frames.size() && batches.size() < places; at += kBatch)
            batches.push_back(frames.subspan(at, std::min(kBatch, frames.size() - at)));
        for (std::size_t place = batches.size(); place-- > 0;)
            divided.prepare(place, batches[place]);
        for (std::size_t share = shares; share-- > 0;) {
            for (std::size_t place = 0; place < batches.size(); ++place)
                divided.observe(share, place, batches[place]);
        }
        for (std::size_t place = 0; place < batches.size(); ++place)
            divided.merge(place);
    }
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
