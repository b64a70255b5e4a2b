#include "tests/bench/captures.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "dissector/wire/frame.hpp"
#include "dissector/wire/packet.hpp"

namespace veriroce::bench_test {

namespace {

constexpr std::uint32_t writes_an_ack = 4;
constexpr std::uint32_t connections_a_host = 256; // of a pair of hosts
constexpr std::uint64_t first_second = 1'700'000'000;
constexpr std::uint64_t nanoseconds_a_packet = 500;

// Neighbours come to lie far from each other, and no two on one another: the factor is odd.
std::uint32_t scattered(std::uint32_t number, std::uint32_t factor) {
    return number * factor;
}

class File {
  public:
    explicit File(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
        if (!file_) throw std::runtime_error(path + ": cannot be opened for writing");
        constexpr std::size_t buffer_bytes = 1U << 20;
        std::setvbuf(file_.get(), nullptr, _IOFBF, buffer_bytes);
    }
    void write(wire::Bytes bytes) {
        if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail();
        size.bytes += bytes.size();
    }
    void finish() {
        if (std::fflush(file_.get()) != 0) fail();
    }

    CaptureSize size;

  private:
    [[noreturn]] void fail() const { throw std::runtime_error(path_ + ": cannot be written"); }

    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
};

template <std::size_t N>
void write_words(File& file, const std::array<std::uint32_t, N>& words) {
    file.write(std::as_bytes(std::span(words)));
}

// One side asks, the other answers.
struct Talk {
    wire::Psn next;
    std::uint32_t msn = 0;
    std::uint32_t unanswered = 0;
};

class Maker {
  public:
    Maker(const std::string& path, const CaptureOptions& options)
        : options_(options), file_(path), talks_(options.connections),
          payload_(options.payload_bytes + wire::pad_of(options.payload_bytes)),
          frame_(wire::kMaxFrameOverhead + payload_.size()) {
        for (std::uint32_t i = 0; i < options.connections; ++i)
            talks_[i].next = wire::Psn(scattered(i + 1, 0x9E3779B1));
        constexpr std::uint32_t nanosecond_magic = 0xA1B23C4D;
        constexpr std::uint32_t version = 2 | 4 << 16;
        constexpr std::uint32_t snapshot = 65'535;
        constexpr std::uint32_t ethernet = 1;
        write_words(file_, std::array{nanosecond_magic, version, 0U, 0U, snapshot, ethernet});
    }

    CaptureSize make() {
        for (std::uint64_t turn = 0; file_.size.packets < options_.packets; ++turn) {
            const auto index = static_cast<std::uint32_t>(turn % options_.connections);
            Talk& talk = talks_[index];
            if (talk.unanswered == writes_an_ack) {
                acknowledge(index, talk);
            } else {
                write(index, talk);
            }
        }
        file_.finish();
        return file_.size;
    }

  private:
    static wire::IpAddress host(std::uint32_t index, bool asking) {
        const std::uint32_t pair = index / connections_a_host;
        return wire::IpAddress::from_v4((asking ? 0x0A010001 : 0x0A020001) + pair);
    }
    static wire::MacAddress mac(std::uint32_t index, bool asking) {
        const auto pair = static_cast<std::byte>(index / connections_a_host);
        return {{std::byte{0x52}, std::byte{0x54}, std::byte{0}, std::byte{1},
                 asking ? std::byte{1} : std::byte{2}, pair}};
    }
    static std::uint16_t port(std::uint32_t index, bool asking) {
        return static_cast<std::uint16_t>(0xC000 + (index * 2 + (asking ? 0 : 1)) % 0x4000);
    }
    static wire::Qpn qpn(std::uint32_t index, bool asking) {
        return {(asking ? 0x100000 : 0x200000) + index};
    }

    void write(std::uint32_t index, Talk& talk) {
        wire::Packet packet;
        packet.bth.opcode =
            wire::opcode_of(wire::Service::Rc, wire::Operation::RdmaWrite, wire::Position::Only)
                .value();
        packet.bth.psn = talk.next;
        packet.bth.pad = wire::pad_of(options_.payload_bytes);
        talk.next += 1;
        packet.bth.ack_request = ++talk.unanswered == writes_an_ack;
        packet.reth = {.virtual_address = 0x100000000 + std::uint64_t{index} * 0x10000,
                       .rkey = {scattered(index + 1, 0x85EBCA6B)},
                       .dma_length = options_.payload_bytes};
        const std::uint64_t stamp = file_.size.packets;
        std::memcpy(payload_.data(), &stamp,
                    std::min<std::size_t>(sizeof stamp, options_.payload_bytes));
        put(index, true, packet, payload_);
    }

    void acknowledge(std::uint32_t index, Talk& talk) {
        talk.msn += talk.unanswered;
        talk.unanswered = 0;
        wire::Packet packet;
        packet.bth.opcode =
            wire::opcode_of(wire::Service::Rc, wire::Operation::Acknowledge, wire::Position::Only)
                .value();
        packet.bth.psn = talk.next + -1;
        packet.aeth = {.syndrome = wire::Syndrome::ack(wire::kNoCredits), .msn = {talk.msn}};
        put(index, false, packet, {});
    }

    void put(std::uint32_t index, bool asking, wire::Packet& packet, wire::Bytes payload) {
        constexpr std::uint16_t full_member = 0xFFFF;
        packet.bth.pkey = {full_member};
        packet.bth.mig_req = true;
        packet.bth.dest_qp = qpn(index, !asking);
        packet.headers = packet.info().headers;
        std::array<std::byte, wire::kMaxTransportHeaderBytes> headers{};
        const std::size_t header_bytes = wire::encode_headers(packet, headers);
        wire::Envelope envelope{.source = host(index, asking),
                                .destination = host(index, !asking),
                                .source_port = port(index, asking)};
        const std::size_t bytes =
            wire::write_frame({.source = mac(index, asking), .destination = mac(index, !asking)},
                              envelope, static_cast<std::uint16_t>(file_.size.packets),
                              wire::Bytes(headers).first(header_bytes), payload, frame_);
        const std::uint64_t time = file_.size.packets * nanoseconds_a_packet;
        constexpr std::uint64_t second = 1'000'000'000;
        const auto length = static_cast<std::uint32_t>(bytes);
        write_words(file_, std::array{static_cast<std::uint32_t>(first_second + time / second),
                                      static_cast<std::uint32_t>(time % second), length, length});
        file_.write(wire::Bytes(frame_).first(bytes));
        ++file_.size.packets;
    }

    CaptureOptions options_;
    File file_;
    std::vector<Talk> talks_;
    std::vector<std::byte> payload_;
    std::vector<std::byte> frame_;
};

} // namespace

CaptureSize make_capture(const std::string& path, const CaptureOptions& options) {
    return Maker(path, options).make();
}

} // namespace veriroce::bench_test
