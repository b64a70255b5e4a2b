#include "tests/bench/inject/forwarders.hpp"

#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/bench/inject/three_hosts.hpp"
#include "tests/bench/traffic.hpp"
#include "transport/inject/bump.hpp"
#include "transport/net/clock.hpp"

#ifdef VERIROCE_HAVE_XDP
#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <xdp/xsk.h>

#include "tests/bench/inject/live_programs.hpp"
#endif

namespace veriroce::bench_test {
namespace {

constexpr std::chrono::milliseconds kIdle{5};

class Bridge final : public Forwarder {
  public:
    Bridge() {
        must_succeed("ip link add bridge0 type bridge && ip link set bridge0 up && "
                     "ip link set bump_a master bridge0 && ip link set bump_b master bridge0");
    }
    ~Bridge() override { succeeds("ip link del bridge0"); }
};

class BumpInLine final : public Forwarder {
  public:
    BumpInLine(inject::InLine line, std::vector<fault::Rule> rules)
        : line_(std::move(line)), bump_(1, std::move(rules)) {}
    void step() override {
        if (auto moved = line_.step(bump_, net::monotonic_now() + kIdle, nullptr); !moved) {
            throw Failure(moved.error().text);
        }
    }

  private:
    inject::InLine line_;
    inject::Bump bump_;
};

} // namespace

void Forwarder::step() {
    std::this_thread::sleep_for(kIdle);
}

std::unique_ptr<Forwarder> kernel_bridge() {
    return std::make_unique<Bridge>();
}

std::unique_ptr<Forwarder> bump(inject::DataPath path, std::vector<fault::Rule> rules,
                                bool in_kernel) {
    inject::LineOptions options{.path = path};
    if (in_kernel) options.in_kernel = inject::kernel_rules(rules, 1);
    auto line = inject::InLine::open("bump_a", "bump_b", options);
    if (!line) throw Failure(line.error().text);
    // Live frames reach a veth only if it polls: with an XDP program or GRO, which the line turns
    // off. It merges nothing here.
    if (path == inject::DataPath::Packet) must_succeed("ethtool -K bump_a gro on");
    return std::make_unique<BumpInLine>(std::move(*line), std::move(rules));
}

#ifdef VERIROCE_HAVE_XDP
namespace {

class BareRedirect final : public Forwarder {
  public:
    BareRedirect() {
        programs_.open();
        programs_.load();
        const std::uint32_t first = 0;
        const std::uint32_t to = ::if_nametoindex("bump_b");
        needed(bpf_map_update_elem(bpf_map__fd(programs_->maps.port), &first, &to, BPF_ANY),
               "forwarding to bump_b");
        programs_.attach(programs_->progs.bare_redirect, "bump_a");
    }

  private:
    LivePrograms programs_;
};

class BareAfXdp final : public Forwarder {
  public:
    BareAfXdp();
    ~BareAfXdp() override;
    void step() override;

  private:
    static constexpr std::uint32_t kRing = 2'048;
    static constexpr std::uint32_t kMost = 64; // of a step
    static constexpr std::size_t kFrameBytes = 4'096;
    static constexpr std::size_t kBytes = kFrameBytes * kRing;

    struct Socket {
        xsk_socket* socket = nullptr;
        xsk_ring_cons in{};
        xsk_ring_prod out{};
        xsk_ring_prod fill{};
        xsk_ring_cons sent{};
    };
    int open();
    int open(Socket& socket, const char* interface);
    void close();
    void reclaim();

    void* area_ = nullptr;
    xsk_umem* memory_ = nullptr;
    xsk_ring_prod first_fill_{}; // taken over by the first socket
    xsk_ring_cons first_sent_{};
    Socket a_;
    Socket b_;
    LivePrograms programs_;
};

// 0, or a negative errno.
int BareAfXdp::open(Socket& socket, const char* interface) {
    const xsk_socket_config config{.rx_size = kRing,
                                   .tx_size = kRing,
                                   .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
                                   .xdp_flags = XDP_FLAGS_DRV_MODE,
                                   .bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP};
    return xsk_socket__create_shared(&socket.socket, interface, 0, memory_, &socket.in, &socket.out,
                                     &socket.fill, &socket.sent, &config);
}

int BareAfXdp::open() {
    const xsk_umem_config config{.fill_size = kRing,
                                 .comp_size = kRing,
                                 .frame_size = kFrameBytes,
                                 .frame_headroom = 0,
                                 .flags = 0};
    int wrong = xsk_umem__create(&memory_, area_, kBytes, &first_fill_, &first_sent_, &config);
    if (wrong == 0) wrong = open(a_, "bump_a");
    if (wrong == 0) wrong = open(b_, "bump_b");
    return wrong;
}

void BareAfXdp::close() {
    if (a_.socket != nullptr) xsk_socket__delete(a_.socket);
    if (b_.socket != nullptr) xsk_socket__delete(b_.socket);
    if (memory_ != nullptr) xsk_umem__delete(memory_);
    a_ = {};
    b_ = {};
    memory_ = nullptr;
}

BareAfXdp::BareAfXdp() {
    area_ = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area_ == MAP_FAILED) throw Failure("no memory for frames");
    // The kernel frees the queues of the forwarder before this one a little later. After a failure
    // libxdp needs new memory, too.
    int opened = open();
    for (int i = 0; opened == -EBUSY && i < 100; ++i) {
        close();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        opened = open();
    }
    errno = -opened;
    needed(opened, "opening AF_XDP sockets");
    std::uint32_t at = 0;
    needed(xsk_ring_prod__reserve(&a_.fill, kRing, &at) == kRing ? 0 : -1, "filling a ring");
    for (std::uint32_t i = 0; i < kRing; ++i)
        *xsk_ring_prod__fill_addr(&a_.fill, at + i) = std::uint64_t{i} * kFrameBytes;
    xsk_ring_prod__submit(&a_.fill, kRing);
    programs_.open();
    programs_.load();
    const std::uint32_t first = 0;
    const int fd = xsk_socket__fd(a_.socket);
    needed(bpf_map_update_elem(bpf_map__fd(programs_->maps.sockets), &first, &fd, BPF_ANY),
           "handing frames to a socket");
    programs_.attach(programs_->progs.bare_socket, "bump_a");
}

BareAfXdp::~BareAfXdp() {
    close();
    ::munmap(area_, kBytes);
}

void BareAfXdp::step() {
    std::uint32_t from = 0;
    const std::uint32_t there = xsk_ring_cons__peek(&a_.in, kMost, &from);
    if (there == 0) {
        pollfd one{xsk_socket__fd(a_.socket), POLLIN, 0};
        ::poll(&one, 1, static_cast<int>(kIdle.count()));
        return;
    }
    std::uint32_t to = 0;
    needed(xsk_ring_prod__reserve(&b_.out, there, &to) == there ? 0 : -1, "a full ring");
    for (std::uint32_t i = 0; i < there; ++i)
        *xsk_ring_prod__tx_desc(&b_.out, to + i) = *xsk_ring_cons__rx_desc(&a_.in, from + i);
    xsk_ring_prod__submit(&b_.out, there);
    xsk_ring_cons__release(&a_.in, there);
    while (xsk_ring_prod__needs_wakeup(&b_.out)) {
        if (::sendto(xsk_socket__fd(b_.socket), nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) break;
        if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS) break;
    }
    reclaim();
}

// What has left is free for what comes.
void BareAfXdp::reclaim() {
    std::uint32_t from = 0;
    const std::uint32_t left = xsk_ring_cons__peek(&b_.sent, kRing, &from);
    std::uint32_t to = 0;
    if (left == 0 || xsk_ring_prod__reserve(&a_.fill, left, &to) != left) return;
    for (std::uint32_t i = 0; i < left; ++i) {
        *xsk_ring_prod__fill_addr(&a_.fill, to + i) =
            *xsk_ring_cons__comp_addr(&b_.sent, from + i) & ~std::uint64_t{kFrameBytes - 1};
    }
    xsk_ring_prod__submit(&a_.fill, left);
    xsk_ring_cons__release(&b_.sent, left);
}

} // namespace

std::unique_ptr<Forwarder> bare_redirect() {
    return std::make_unique<BareRedirect>();
}

std::unique_ptr<Forwarder> bare_af_xdp() {
    return std::make_unique<BareAfXdp>();
}
#else
std::unique_ptr<Forwarder> bare_redirect() {
    throw Failure("this program was built without libxdp");
}

std::unique_ptr<Forwarder> bare_af_xdp() {
    throw Failure("this program was built without libxdp");
}
#endif

} // namespace veriroce::bench_test
