#include "transport/pingpong/pingpong.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace veriroce::pingpong {
namespace {

// As ibv_rc_pingpong has them.
constexpr std::uint8_t kAckTimeout = 14;
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kRnrRetries = 7;
constexpr std::uint8_t kRnrTimer = 12;

template <typename T>
std::expected<void, std::string> needed(const std::expected<T, engine::VerbError>& result,
                                        std::string_view verb) {
    if (result) return {};
    return std::unexpected(fmt::format("{}: {}", verb, engine::name_of(result.error())));
}

} // namespace

std::expected<std::unique_ptr<Pingpong>, std::string>
Pingpong::open(engine::Engine& engine, const PingpongOptions& options) {
    std::unique_ptr<Pingpong> side(new Pingpong(engine, options));
    if (auto prepared = side->prepare(); !prepared) return std::unexpected(prepared.error());
    return side;
}

std::expected<void, std::string> Pingpong::prepare() {
    const auto pd = engine_.create_pd();
    if (auto done = needed(pd, "create_pd"); !done) return done;
    pd_ = *pd;
    const auto cq = engine_.create_cq(options_.receives + 2);
    if (auto done = needed(cq, "create_cq"); !done) return done;
    cq_ = *cq;
    const auto region = engine_.register_region(pd_, buffer_, 0, {.local_write = true});
    if (auto done = needed(region, "register_region"); !done) return done;
    mr_ = region->mr;
    sge_ = {.address = 0, .length = options_.size, .lkey = region->lkey};
    const auto qp = engine_.create_qp({.pd = pd_,
                                       .send_cq = cq_,
                                       .recv_cq = cq_,
                                       .capacity = {.max_send = 1, .max_recv = options_.receives}});
    if (auto done = needed(qp, "create_qp"); !done) return done;
    qp_ = *qp;
    qpn_ = engine_.query_qp(qp_)->qpn;
    const engine::QpAttributes init{.state = engine::QpState::Init,
                                    .access = engine::Access{.local_write = true},
                                    .pkey = wire::Pkey{0xFFFF}};
    if (auto done = needed(engine_.modify_qp(qp_, init, {}), "modify_qp to INIT"); !done) {
        return done;
    }
    if (!post_receives()) return std::unexpected(*failed_);
    return {};
}

// In the order in which they were made; what was never made is refused, which harms nobody.
Pingpong::~Pingpong() {
    static_cast<void>(engine_.destroy_qp(qp_));
    static_cast<void>(engine_.deregister_region(mr_));
    static_cast<void>(engine_.destroy_cq(cq_));
    static_cast<void>(engine_.destroy_pd(pd_));
}

Introduction Pingpong::local() const {
    return {.qpn = qpn_, .psn = options_.psn, .gid = options_.address};
}

std::expected<void, std::string> Pingpong::connect(const Introduction& remote, wire::Instant now) {
    if (remote.gid.v4() != options_.address.v4()) {
        return std::unexpected(fmt::format(
            "the peer's GID {} is not of the same IP version as our {}: choose another GID there "
            "(-g of ibv_rc_pingpong), or connect to its other address",
            remote.gid.text(), options_.address.text()));
    }
    const engine::QpAttributes rtr{
        .state = engine::QpState::Rtr,
        .path_mtu = options_.mtu,
        .dest_qp = remote.qpn,
        .rq_psn = remote.psn,
        .address = engine::AddressVector{.source = options_.address, .destination = remote.gid},
        .min_rnr_timer = kRnrTimer,
        .max_dest_rd_atomic = 1};
    if (auto done = needed(engine_.modify_qp(qp_, rtr, now), "modify_qp to RTR"); !done) {
        return done;
    }
    const engine::QpAttributes rts{.state = engine::QpState::Rts,
                                   .sq_psn = options_.psn,
                                   .timeout = kAckTimeout,
                                   .retry_count = kRetries,
                                   .rnr_retry = kRnrRetries,
                                   .max_rd_atomic = 1};
    return needed(engine_.modify_qp(qp_, rts, now), "modify_qp to RTS");
}

bool Pingpong::post_receives() {
    for (; posted_ < options_.receives; ++posted_) {
        const engine::ReceiveRequest receive{.sges = {&sge_, 1}};
        const auto posted = engine_.post_receive(qp_, {&receive, 1});
        if (!posted.refused) continue;
        failed_ = fmt::format("post_receive: {}", engine::name_of(*posted.refused));
        return false;
    }
    return true;
}

void Pingpong::start(wire::Instant now) {
    begins_ = true;
    send(now);
}

// Another content each time, so that an answer of an earlier round shows.
std::byte Pingpong::pattern(std::size_t at) const {
    return static_cast<std::byte>((at ^ (at >> 8U)) + 31 * begun_);
}

void Pingpong::fill() {
    for (std::size_t i = 0; i < buffer_.size(); ++i)
        buffer_[i] = pattern(i);
}

void Pingpong::send(wire::Instant now) {
    ++begun_;
    if (begins_) fill();
    sending_ = true;
    answered_ = false;
    const engine::SendRequest request{.sges = {&sge_, 1}};
    const auto posted = engine_.post_send(qp_, {&request, 1}, now);
    if (posted.refused) failed_ = fmt::format("post_send: {}", engine::name_of(*posted.refused));
}

void Pingpong::take(const engine::Completion& completion) {
    if (parted_) return; // receives that nobody will fill are flushed
    const bool last = received_ == options_.rounds && begun_ == options_.rounds;
    if (last && completion.status == engine::WcStatus::RetryExcErr) {
        parted_ = true;
        sent_ = options_.rounds;
        return;
    }
    if (completion.status != engine::WcStatus::Success) {
        failed_ = fmt::format("{} completed with {} after {} round trips",
                              completion.queue == engine::Queue::Send ? "a send" : "a receive",
                              engine::name_of(completion.status), std::min(sent_, received_));
        return;
    }
    if (completion.queue == engine::Queue::Send) {
        ++sent_;
        sending_ = false;
        return;
    }
    ++received_;
    --posted_;
    answered_ = true;
    if (completion.byte_len != options_.size) {
        failed_ = fmt::format("the peer sent {} bytes, expected {}: both sides need the same size",
                              completion.byte_len, options_.size);
        return;
    }
    if (!begins_) return;
    for (std::size_t i = 0; i < buffer_.size(); ++i) {
        if (buffer_[i] == pattern(i)) continue;
        failed_ = fmt::format("round trip {}: byte {} came back as 0x{:02X}, sent was 0x{:02X}",
                              received_, i, std::to_integer<unsigned>(buffer_[i]),
                              std::to_integer<unsigned>(pattern(i)));
        return;
    }
}

void Pingpong::progress(wire::Instant now) {
    while (!failed_) {
        const auto completion = engine_.poll_completion(cq_);
        if (!completion) break;
        take(*completion);
    }
    if (failed_ || parted_ || !post_receives()) return;
    const bool turn = begins_ ? answered_ : received_ > begun_;
    if (turn && !sending_ && begun_ < options_.rounds) send(now);
}

} // namespace veriroce::pingpong
