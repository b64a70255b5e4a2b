#include "transport/net/receive_batch.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <ctime>

#include "dissector/wire/bth.hpp"
#include "dissector/wire/icrc.hpp"
#include "transport/net/control_messages.hpp"

namespace veriroce::net {

namespace {

// Space for the largest UDP datagram, or for what the kernel joins. The buffers are not a power of
// two apart, so that they do not compete for the same cache sets.
constexpr std::size_t kMessageBytes = 64U << 10U;
constexpr std::size_t kStrideBytes = kMessageBytes + 1088;

// The most datagrams that the kernel joins in one message (UDP_GRO_CNT_MAX, UDP_MAX_SEGMENTS of
// later kernels). More would not be a problem: the vector grows.
constexpr std::size_t kMostSegments = 128;

} // namespace

ReceiveBatch::ReceiveBatch(const Settings& settings)
    : settings_(settings), icrc_(settings.expected_ids_only),
      bytes_(std::make_unique_for_overwrite<std::byte[]>(settings.messages * kStrideBytes)),
      places_(settings.messages), senders_(settings.messages), calls_(settings.messages),
      controls_(settings.messages) {
    datagrams_.reserve(settings.messages * (settings.joined ? kMostSegments : 1));
    for (std::size_t i = 0; i < settings.messages; ++i) {
        places_[i] = {&bytes_[i * kStrideBytes], kMessageBytes};
        auto& call = calls_[i].msg_hdr;
        call.msg_name = senders_[i].get();
        call.msg_iov = &places_[i];
        call.msg_iovlen = 1;
        call.msg_control = controls_[i].data();
    }
}

std::expected<std::size_t, int> ReceiveBatch::fetch(int fd) {
    datagrams_.clear();
    for (auto& call : calls_) { // the kernel has overwritten these
        call.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
        call.msg_hdr.msg_controllen = sizeof controls_.front();
    }
    const int count =
        ::recvmmsg(fd, calls_.data(), static_cast<unsigned>(calls_.size()), MSG_DONTWAIT, nullptr);
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR) return 0;
        return std::unexpected(errno);
    }
    clock_.measure();
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        const auto bytes = wire::Bytes(static_cast<const std::byte*>(places_[i].iov_base),
                                       std::size_t{calls_[i].msg_len});
        take_apart(facts_of(i), bytes);
    }
    return static_cast<std::size_t>(count);
}

ReceiveBatch::Facts ReceiveBatch::facts_of(std::size_t index) {
    Facts facts;
    auto& envelope = facts.envelope;
    envelope = settings_.to;
    envelope.source = senders_[index].ip();
    envelope.source_port = senders_[index].port();
    std::uint8_t tos = 0;
    int traffic_class = 0;
    int hop_limit = envelope.hop_limit;
    int segment_bytes = 0;
    auto& message = calls_[index].msg_hdr;
    for (auto* control = CMSG_FIRSTHDR(&message); control != nullptr;
         control = CMSG_NXTHDR(&message, control)) {
        timespec stamp{};
        if (read_control(*control, IPPROTO_IP, IP_TOS, tos)) traffic_class = tos; // a single byte
        read_control(*control, IPPROTO_IPV6, IPV6_TCLASS, traffic_class);
        read_control(*control, IPPROTO_IP, IP_TTL, hop_limit);
        read_control(*control, IPPROTO_IPV6, IPV6_HOPLIMIT, hop_limit);
        read_control(*control, IPPROTO_UDP, UDP_GRO, segment_bytes);
        if (read_control(*control, SOL_SOCKET, SCM_TIMESTAMPNS, stamp)) {
            facts.stamp = clock_.converted(stamp.tv_sec * 1'000'000'000LL + stamp.tv_nsec);
        }
    }
    envelope.dscp = static_cast<std::uint8_t>(traffic_class >> 2 & 0x3F);
    envelope.ecn = static_cast<std::uint8_t>(traffic_class & 0x3);
    envelope.hop_limit = static_cast<std::uint8_t>(hop_limit);
    facts.segment_bytes = static_cast<std::size_t>(std::max(segment_bytes, 0));
    return facts;
}

void ReceiveBatch::take_apart(const Facts& facts, wire::Bytes bytes) {
    icrc_.begin_message();
    // An empty message is an empty datagram.
    do {
        const auto size =
            facts.segment_bytes == 0 ? bytes.size() : std::min(facts.segment_bytes, bytes.size());
        take_one(facts, bytes.first(size));
        bytes = bytes.subspan(size);
    } while (!bytes.empty());
}

void ReceiveBatch::take_one(const Facts& facts, wire::Bytes bytes) {
    if (bytes.size() < wire::Bth::kSize + wire::kIcrcBytes) {
        ++too_short_;
        return;
    }
    auto& received = datagrams_.emplace_back();
    received.stamp = facts.stamp;
    received.datagram = {.envelope = facts.envelope,
                         .bytes = bytes.first(bytes.size() - wire::kIcrcBytes)};
    received.icrc = wire::load_icrc(bytes.last(wire::kIcrcBytes));
    const auto verdict = icrc_.judge(facts.envelope, received.datagram.bytes, received.icrc);
    received.icrc_good = verdict != IcrcVerdict::Wrong;
    received.id_expected = verdict == IcrcVerdict::ExpectedId;
    if (!received.icrc_good) ++bad_icrc_;
}

} // namespace veriroce::net
