#include "tests/bench/link_udp.hpp"

#include <array>
#include <memory>
#include <vector>

#include "dissector/wire/bth.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/udp_link.hpp"

namespace veriroce::bench_test {

namespace {

using namespace std::chrono_literals;

constexpr std::uint8_t send_only = 0x04;

std::unique_ptr<net::UdpLink> open_link(bool offload) {
    const auto loopback = wire::IpAddress::from_v4(0x7F000001);
    auto link =
        net::UdpLink::open(loopback, {.port = 0, .offload = offload, .expected_ids_only = true});
    if (!link) throw Failure(link.error().text);
    const auto given = (*link)->offloads();
    if (offload && !(given.send && given.receive)) {
        throw Failure("this kernel has no segmentation offload for UDP");
    }
    return std::move(*link);
}

class Ends {
  public:
    Ends(const Batch& batch, bool offload)
        : spin_(batch.spin), count_(batch.datagrams * batch.messages),
          payload_bytes_(batch.datagram_bytes - wire::Bth::kSize - wire::kIcrcBytes),
          sender_(open_link(offload)), receiver_(open_link(offload)),
          payloads_(count_ * payload_bytes_, std::byte{0x5A}),
          envelope_{.destination = receiver_->address(), .destination_port = receiver_->port()} {}

    void send_some(Progress& progress) {
        for (std::size_t i = 0; i < count_; ++i) {
            std::array<std::byte, wire::Bth::kSize> header{};
            wire::Bth{.opcode = send_only, .dest_qp = {0x11}, .psn = psn_}.encode(header);
            psn_ = psn_ + 1;
            const auto payload = wire::Bytes(payloads_).subspan(i * payload_bytes_, payload_bytes_);
            must(sender_->queue(envelope_, header, payload));
        }
        must(sender_->flush());
        progress.add(count_);
    }

    void receive_some(Progress& progress) {
        const auto batch =
            receiver_->receive_batch(spin_ ? wire::Instant::min() : net::monotonic_now() + 50ms);
        must(batch);
        if (batch->empty()) return;
        std::size_t wrong = 0;
        for (const auto& received : *batch) {
            const bool whole = received.datagram.bytes.size() == wire::Bth::kSize + payload_bytes_;
            if (!whole || !received.icrc_good || !received.id_expected) ++wrong;
        }
        progress.add(batch->size(), wrong);
    }

  private:
    template <typename T>
    static void must(const std::expected<T, net::Error>& done) {
        if (!done) throw Failure(done.error().text);
    }

    bool spin_;
    std::size_t count_;
    std::size_t payload_bytes_;
    std::unique_ptr<net::UdpLink> sender_;
    std::unique_ptr<net::UdpLink> receiver_;
    std::vector<std::byte> payloads_;
    wire::Envelope envelope_;
    wire::Psn psn_{0};
};

} // namespace

Traffic link_udp(const Batch& batch, bool offload) {
    const auto ends = std::make_shared<Ends>(batch, offload);
    return {.send_some = [ends](Progress& progress) { ends->send_some(progress); },
            .receive_some = [ends](Progress& progress) { ends->receive_some(progress); }};
}

} // namespace veriroce::bench_test
