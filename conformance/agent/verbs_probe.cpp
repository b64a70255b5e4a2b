#ifdef VERIROCE_HAVE_VERBS

#include "conformance/agent/verbs_probe.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"
#include "conformance/dut/capabilities.hpp"

namespace veriroce::agent {

namespace {

// Bits of device_cap_flags_ex that rdma-core's headers do not name (the kernel's
// ib_uverbs_device_cap_flags).
constexpr std::uint64_t kDeviceFlushGlobal = std::uint64_t{1} << 38U;
constexpr std::uint64_t kDeviceAtomicWrite = std::uint64_t{1} << 40U;

enum class Outcome : std::uint8_t { Works, Lacks, Unknown };

// Verbs return an errno, or -1 with errno set.
Outcome outcome_of(int result) {
    if (result == 0) return Outcome::Works;
    const int error = result < 0 ? errno : result;
    const bool lacks = error == EINVAL || error == EOPNOTSUPP || error == ENOSYS;
    return lacks ? Outcome::Lacks : Outcome::Unknown;
}
template <typename Ptr>
Outcome outcome_of(const Ptr& object) {
    return object == nullptr ? outcome_of(errno) : Outcome::Works;
}

// Where a QP can be connected to itself.
struct Path {
    std::uint8_t port = 1;
    std::uint8_t gid_index = 0;
    wire::IpAddress address;
};

std::optional<Path> path_of(const dut::Welcome& welcome) {
    for (const dut::Port& port : welcome.ports) {
        for (const dut::Gid& gid : port.gids) {
            if (gid.type != "rocev2" || gid.vlan || gid.index > 0xFF) continue;
            return Path{.port = port.port,
                        .gid_index = static_cast<std::uint8_t>(gid.index),
                        .address = gid.address};
        }
    }
    return std::nullopt;
}

struct Depths {
    wire::Mtu mtu = wire::Mtu::B256;
    std::uint8_t rd_atomic = 1;
    std::uint8_t dest_rd_atomic = 1;
};

class Prober {
  public:
    Prober(ibv_context& context, dut::Welcome& welcome)
        : context_(context), welcome_(welcome), path_(path_of(welcome)),
          pd_(ibv_alloc_pd(&context)), cq_(ibv_create_cq(&context, 4, nullptr, nullptr, 0)) {}

    void run() {
        if (pd_ == nullptr || cq_ == nullptr || created(IBV_QPT_RC, {}) != Outcome::Works) return;
        objects();
        if (path_) connected();
        welcome_.probed = true;
    }

  private:
    void found(std::string_view word, Outcome outcome) {
        if (outcome == Outcome::Works) dut::add_capability(welcome_, word);
        if (outcome == Outcome::Lacks) dut::remove_capability(welcome_, word);
    }

    // --- what needs no connection ---------------------------------------------------------------

    struct Sizes {
        std::uint32_t sge = 1;
        std::uint32_t inline_bytes = 0;
    };
    QpPtr create(ibv_qp_type type, Sizes sizes) {
        ibv_qp_init_attr attributes{};
        attributes.send_cq = cq_.get();
        attributes.recv_cq = cq_.get();
        attributes.cap = {.max_send_wr = 1,
                          .max_recv_wr = 1,
                          .max_send_sge = sizes.sge,
                          .max_recv_sge = sizes.sge,
                          .max_inline_data = sizes.inline_bytes};
        attributes.qp_type = type;
        return QpPtr(ibv_create_qp(pd_.get(), &attributes));
    }
    Outcome created(ibv_qp_type type, Sizes sizes) { return outcome_of(create(type, sizes)); }

    void objects() {
        found("uc", created(IBV_QPT_UC, {}));
        found("ud", created(IBV_QPT_UD, {}));
        welcome_.max.sge = largest(welcome_.max.sge, [&](std::uint32_t sge) {
            return created(IBV_QPT_RC, {.sge = sge}) != Outcome::Lacks;
        });
        // The verbs have no query for it.
        welcome_.max.inline_bytes = largest(1024, [&](std::uint32_t bytes) {
            return created(IBV_QPT_RC, {.inline_bytes = bytes}) == Outcome::Works;
        });
        ibv_srq_init_attr srq{};
        srq.attr = {.max_wr = 1, .max_sge = 1, .srq_limit = 0};
        found("srq", outcome_of(SrqPtr(ibv_create_srq(pd_.get(), &srq))));
        found("mw1", outcome_of(MwPtr(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_1))));
        found("mw2", outcome_of(MwPtr(ibv_alloc_mw(pd_.get(), IBV_MW_TYPE_2))));
        found("iova", outcome_of(chosen_region()));
        const ChannelPtr channel(ibv_create_comp_channel(&context_));
        const CqPtr notifying(
            channel == nullptr ? nullptr : ibv_create_cq(&context_, 4, nullptr, channel.get(), 0));
        if (notifying != nullptr)
            found("notify", outcome_of(ibv_req_notify_cq(notifying.get(), 0)));
    }

    // A page, as a region far from where it lies.
    MrPtr chosen_region() {
        constexpr std::uint64_t iova = std::uint64_t{3} << 32;
        constexpr unsigned access = IBV_ACCESS_LOCAL_WRITE; // the verb is a macro
        return MrPtr(ibv_reg_mr_iova(pd_.get(), page_.data(), page_.size(), iova, access));
    }

    // The claim, or the first smaller power of two that works; 0 if none does.
    template <typename Works>
    static std::uint32_t largest(std::uint32_t claimed, const Works& works) {
        for (std::uint32_t value = claimed; value > 0; value = std::bit_floor(value - 1)) {
            if (works(value)) return value;
        }
        return 0;
    }

    // --- what needs a connection ----------------------------------------------------------------

    Outcome modify(ibv_qp& qp, ibv_qp_attr& to, int mask) const {
        return outcome_of(ibv_modify_qp(&qp, &to, mask | IBV_QP_STATE));
    }
    Outcome to_init(ibv_qp& qp) const {
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_INIT;
        to.port_num = path_->port;
        return modify(qp, to, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    Outcome to_rtr(ibv_qp& qp, const Depths& depths) const {
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_RTR;
        to.path_mtu = to_verbs(depths.mtu);
        to.dest_qp_num = qp.qp_num;
        to.max_dest_rd_atomic = depths.dest_rd_atomic;
        to.min_rnr_timer = 12;
        to.ah_attr.is_global = 1;
        to.ah_attr.port_num = path_->port;
        to.ah_attr.grh.sgid_index = path_->gid_index;
        to.ah_attr.grh.hop_limit = 64;
        std::memcpy(to.ah_attr.grh.dgid.raw, path_->address.bytes.data(),
                    sizeof to.ah_attr.grh.dgid.raw);
        return modify(qp, to,
                      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    Outcome to_rts(ibv_qp& qp, const Depths& depths) const {
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_RTS;
        to.timeout = 14;
        to.retry_cnt = 7;
        to.rnr_retry = 7;
        to.max_rd_atomic = depths.rd_atomic;
        return modify(qp, to,
                      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC);
    }
    Outcome to_state(ibv_qp& qp, ibv_qp_state state) const {
        ibv_qp_attr to{};
        to.qp_state = state;
        return modify(qp, to, 0);
    }
    // From RESET to RTS.
    Outcome connect(ibv_qp& qp, const Depths& depths) const {
        Outcome outcome = to_init(qp);
        if (outcome == Outcome::Works) outcome = to_rtr(qp, depths);
        if (outcome == Outcome::Works) outcome = to_rts(qp, depths);
        return outcome;
    }
    Outcome connects(const Depths& depths) {
        const QpPtr qp = create(IBV_QPT_RC, {});
        return qp == nullptr ? Outcome::Unknown : connect(*qp, depths);
    }

    void connected() {
        const dut::Port& port = *std::ranges::find(welcome_.ports, path_->port, &dut::Port::port);
        const Depths plain{.mtu = std::min(port.mtu_active, wire::Mtu::B1024)};
        // Without a plain connection no refusal says anything.
        const QpPtr qp = create(IBV_QPT_RC, {});
        if (qp == nullptr || connect(*qp, plain) != Outcome::Works) return;
        ibv_qp_attr state{};
        ibv_qp_init_attr unused{};
        const Outcome queried = outcome_of(ibv_query_qp(qp.get(), &state, IBV_QP_STATE, &unused));
        const bool right = state.qp_state == IBV_QPS_RTS;
        found("query_qp", queried == Outcome::Works && !right ? Outcome::Lacks : queried);
        found("sqd", to_state(*qp, IBV_QPS_SQD));
        found("reset_reuse", reused(plain));
        found("mtu256", connects({.mtu = wire::Mtu::B256}));
        largest_mtus(plain);
        welcome_.max.rd_atomic = largest(std::min(welcome_.max.rd_atomic, kMostDepth), [&](auto n) {
            return connects({.mtu = plain.mtu, .rd_atomic = static_cast<std::uint8_t>(n)}) !=
                   Outcome::Lacks;
        });
        welcome_.max.dest_rd_atomic =
            largest(std::min(welcome_.max.dest_rd_atomic, kMostDepth), [&](auto n) {
                return connects({.mtu = plain.mtu,
                                 .dest_rd_atomic = static_cast<std::uint8_t>(n)}) != Outcome::Lacks;
            });
    }

    Outcome reused(const Depths& depths) {
        const QpPtr qp = create(IBV_QPT_RC, {});
        if (qp == nullptr || connect(*qp, depths) != Outcome::Works) return Outcome::Unknown;
        const Outcome reset = to_state(*qp, IBV_QPS_RESET);
        return reset == Outcome::Works ? connect(*qp, depths) : reset;
    }

    void largest_mtus(const Depths& plain) {
        using enum wire::Mtu;
        wire::Mtu works = plain.mtu;
        for (const wire::Mtu mtu : {B2048, B4096}) {
            if (connects({.mtu = mtu}) != Outcome::Lacks) works = mtu;
        }
        for (dut::Port& port : welcome_.ports)
            port.mtu_active = std::min(port.mtu_active, works);
    }

    static constexpr std::uint32_t kMostDepth = 255; // ibv_qp_attr has 8 bits

    ibv_context& context_;
    dut::Welcome& welcome_;
    std::optional<Path> path_;
    alignas(4096) std::array<std::byte, 4096> page_{};
    PdPtr pd_;
    CqPtr cq_;
};

} // namespace

void probe(ibv_context& context, dut::Welcome& welcome) {
    ibv_device_attr_ex extended{};
    if (ibv_query_device_ex(&context, nullptr, &extended) == 0) {
        const std::uint64_t flags = extended.device_cap_flags_ex;
        if ((flags & kDeviceAtomicWrite) != 0) dut::add_capability(welcome, "atomic_write");
        if ((flags & kDeviceFlushGlobal) != 0) dut::add_capability(welcome, "flush");
    }
    Prober(context, welcome).run();
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
