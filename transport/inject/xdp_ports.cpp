#include "transport/inject/xdp_ports.hpp"

#ifdef VERIROCE_HAVE_XDP

#include <bpf/bpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <xdp/xsk.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <optional>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

#include "dissector/wire/ip.hpp"
#include "dissector/wire/outer.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/descriptor.hpp"
#include <bump.skel.h>

namespace veriroce::inject {
namespace {

constexpr std::uint32_t kQueues = 64; // QUEUES in bump.bpf.c
constexpr std::uint32_t kMostQueues = 16;
constexpr std::uint32_t kRing = 2'048;
constexpr std::uint32_t kFrameBytes = 4'096;
constexpr std::size_t kHeadroom = 256;
constexpr std::size_t kPiece = kFrameBytes - kHeadroom; // of a frame, in one buffer
constexpr std::size_t kMostPieces = 17;                 // as many as an skb of the kernel has
// linux/if_xdp.h of Linux 6.6 and later.
constexpr std::uint16_t kUseSeveralBuffers = 1U << 4; // XDP_USE_SG
constexpr std::uint32_t kContinues = 1U << 0;         // XDP_PKT_CONTD
constexpr std::size_t kLinkBytes = 22;                // Ethernet and two tags
// A process that was killed, or ports that were closed: the kernel frees their queues a little
// later.
constexpr wire::Duration kFreeing = std::chrono::seconds(2);
constexpr wire::Duration kFreeingPoll = std::chrono::milliseconds(20);
constexpr long kBpfFilesystem = 0xCAFE4A11;
constexpr std::uint64_t kLent = ~std::uint64_t{0}; // in the place of an address that left

std::unexpected<net::Error> failed(std::string what, int number) {
    return std::unexpected(net::system_error(std::move(what), number));
}

std::string pin_path(const std::string& interface) {
    struct stat network{};
    ::stat("/proc/thread-self/ns/net", &network);
    return "/sys/fs/bpf/veriroce-inject-" + std::to_string(network.st_ino) + "-" + interface;
}

// Calls `make` (0, or an errno) again as long as the kernel still frees what a process had that is
// gone.
template <typename Make>
int once_free(Make make) {
    const auto until = net::monotonic_now() + kFreeing;
    while (true) {
        const int wrong = make();
        if (wrong != EBUSY || net::monotonic_now() >= until) return wrong;
        std::this_thread::sleep_for(kFreeingPoll);
    }
}

// Keeps quiet: what fails is told in one line of ours.
int say_nothing(libbpf_print_level, const char*, va_list) {
    return 0;
}

struct DestroySkeleton {
    void operator()(bump_bpf* skeleton) const { bump_bpf::destroy(skeleton); }
};
using Skeleton = std::unique_ptr<bump_bpf, DestroySkeleton>;

struct Socket {
    struct Delete {
        void operator()(xsk_socket* one) const { xsk_socket__delete(one); }
    };
    std::unique_ptr<xsk_socket, Delete> socket;
    xsk_ring_cons in{};
    xsk_ring_prod out{};
    xsk_ring_prod fill{};
    xsk_ring_cons sent{};
};

// The memory that all sockets share.
class Memory {
  public:
    static std::expected<std::unique_ptr<Memory>, net::Error> make(std::uint32_t frames) {
        auto memory = std::make_unique<Memory>();
        memory->bytes_ = std::size_t{frames} * kFrameBytes;
        void* const area = ::mmap(nullptr, memory->bytes_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (area == MAP_FAILED) return failed("cannot map memory for packets", errno);
        memory->area_ = static_cast<std::byte*>(area);
        const xsk_umem_config config{.fill_size = kRing,
                                     .comp_size = kRing,
                                     .frame_size = kFrameBytes,
                                     .frame_headroom = 0,
                                     .flags = 0};
        const int made = xsk_umem__create(&memory->umem_, area, memory->bytes_, &memory->fill_,
                                          &memory->sent_, &config);
        if (made != 0) return failed("cannot share memory with the kernel", -made);
        for (std::uint32_t i = 0; i < frames; ++i)
            memory->free_.push_back(std::uint64_t{i} * kFrameBytes);
        return memory;
    }
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
        if (umem_ != nullptr) xsk_umem__delete(umem_);
        if (area_ != nullptr) ::munmap(area_, bytes_);
    }
    [[nodiscard]] xsk_umem* umem() const { return umem_; }
    [[nodiscard]] std::byte* at(std::uint64_t address) const { return area_ + address; }
    [[nodiscard]] std::size_t free() const { return free_.size(); }
    // Where these bytes are in it, if they are.
    [[nodiscard]] std::optional<std::uint64_t> address_of(wire::Bytes bytes) const {
        const auto first = reinterpret_cast<std::uintptr_t>(area_);
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
        if (at < first || at - first >= bytes_) return std::nullopt;
        return at - first;
    }
    std::uint64_t take() { // one must be free
        assert(!free_.empty());
        const std::uint64_t frame = free_.back();
        free_.pop_back();
        return frame;
    }
    static std::uint64_t frame_of(std::uint64_t address) {
        return address & ~std::uint64_t{kFrameBytes - 1};
    }
    void give_back(std::uint64_t address) { free_.push_back(frame_of(address)); }

  private:
    xsk_umem* umem_ = nullptr;
    std::byte* area_ = nullptr;
    std::size_t bytes_ = 0;
    xsk_ring_prod fill_{}; // taken over by the first socket
    xsk_ring_cons sent_{};
    std::vector<std::uint64_t> free_;
};

// A UDP checksum that the sender's kernel left to a network card.
void fill_in_checksum(wire::MutableBytes frame) {
    wire::Outer outer{.frame = frame};
    if (wire::find_layers(outer)) return;
    const wire::MutableBytes datagram =
        frame.subspan(outer.udp_at, outer.icrc_at + wire::kIcrcBytes - outer.udp_at);
    constexpr std::size_t kChecksumAt = 6;
    const std::uint16_t found = wire::load_u16(datagram, kChecksumAt);
    if (found == 0) return;
    const wire::Bytes addresses = wire::ip_addresses(frame.subspan(outer.ip_at), outer.v6);
    if (found != wire::unfinished_udp_checksum(addresses, datagram)) return;
    wire::store_be<2>(datagram, kChecksumAt, wire::udp_checksum_of(addresses, datagram));
}

struct Port {
    std::string name;
    int index = 0;
    net::Descriptor promiscuous;  // a packet socket, which makes it so as long as it lives
    bool set_promiscuous = false; // by a flag of the interface
    net::Descriptor link;         // of the program; unpinned, it goes with the process
    std::string pin;              // the file that keeps it
    std::vector<std::unique_ptr<Socket>> sockets; // one a receive queue
    std::size_t reading = 0;                      // the socket that was read last
    std::vector<Arrival> arrivals;
    std::vector<std::uint64_t> addresses; // of the entries of its ring that are in `arrivals`
    std::size_t lent = 0;                 // of these, how many leave by the other port as they are
    std::size_t next = 0;                 // where the next one to leave should stand in `addresses`
    // Frames of several buffers, put together; the first `joins` are in `arrivals`.
    std::vector<std::vector<std::byte>> joined;
    std::size_t joins = 0;
    std::uint32_t queued = 0;
    PortCounts counts;
};

// Sets or clears a flag of the interface; whether it had to be changed.
bool set_flag(const std::string& name, short flag, bool on) {
    const net::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    name.copy(request.ifr_name, IFNAMSIZ - 1);
    if (::ioctl(socket.fd(), SIOCGIFFLAGS, &request) != 0) return false;
    if (((request.ifr_flags & flag) != 0) == on) return false;
    request.ifr_flags =
        static_cast<short>(on ? request.ifr_flags | flag : request.ifr_flags & ~flag);
    return ::ioctl(socket.fd(), SIOCSIFFLAGS, &request) == 0;
}

class XdpPorts final : public Ports {
  public:
    explicit XdpPorts(const XdpOptions& options) : options_(options) {
        ports_[0].name = options.a;
        ports_[1].name = options.b;
    }
    ~XdpPorts() override {
        for (Port& port : ports_) {
            if (!port.pin.empty()) ::unlink(port.pin.c_str());
            // Closing it would detach the program some time later.
            if (port.link.valid()) bpf_link_detach(port.link.fd());
            port.link = {};
            if (port.set_promiscuous) set_flag(port.name, IFF_PROMISC, false);
            port.sockets.clear();
        }
    }

    std::expected<void, net::Error> open();

    [[nodiscard]] std::string text() const override {
        return options_.native ? "XDP, native mode" : "XDP, generic mode";
    }
    std::expected<void, net::Error> wait(wire::Instant deadline) override;
    std::expected<std::span<const Arrival>, int> receive(End from) override;
    void done(End from) override;
    void queue(End to, wire::Bytes frame, const OffloadNote& note) override;
    void flush() override {
        for (Port& port : ports_)
            kick(port);
    }
    PortCounts counts(End end) override;
    bool bypass(const BypassPath& path) override;
    std::vector<fault::Fired> kernel_fired() override {
        std::vector<fault::Fired> all;
        for (std::size_t i = 0; i < options_.rules.rules.size(); ++i) {
            const kernel_rule& rule = skeleton_->bss->rules[i];
            all.push_back({.selected = rule.selected, .fired = rule.fired});
        }
        return all;
    }

  private:
    Port& port(End end) { return ports_[end == End::A ? 0 : 1]; }
    std::expected<void, net::Error> load();
    std::expected<void, net::Error> open_all_sockets();
    int open_sockets(Port& port, std::uint32_t first, std::uint32_t queues, std::string& where);
    std::expected<void, net::Error> attach(Port& port);
    [[nodiscard]] bool several_buffers() const { return options_.mtu + kLinkBytes > kPiece; }
    wire::MutableBytes join(Port& port, std::span<const xdp_desc> pieces);
    std::optional<std::uint64_t> lend(Port& from, wire::Bytes frame);
    void refill(Socket& socket, std::uint32_t count);
    void reclaim(Socket& socket);
    void kick(Port& port);

    XdpOptions options_;
    Skeleton skeleton_;
    std::unique_ptr<Memory> memory_;
    std::array<Port, 2> ports_; // before the memory goes
};

std::expected<void, net::Error> XdpPorts::load() {
    libbpf_set_print(say_nothing);
    skeleton_.reset(bump_bpf::open());
    if (!skeleton_) return failed("cannot open the XDP program", errno);
    skeleton_->rodata->ifindex_a = ::if_nametoindex(options_.a.c_str());
    skeleton_->rodata->block_without_process = options_.forward_when_killed ? 0 : 1;
    const std::vector<kernel_rule>& rules = options_.rules.rules;
    std::ranges::copy(rules, skeleton_->bss->rules);
    skeleton_->rodata->takes_pfc = options_.takes_pfc ? 1 : 0;
    skeleton_->rodata->rule_count = static_cast<std::uint32_t>(rules.size());
    skeleton_->rodata->whole_plan = !rules.empty() && options_.rules.whole_plan ? 1 : 0;
    const RuleIndex& index = options_.rules.index;
    std::memcpy(skeleton_->rodata->by_opcode, &index.by_opcode, sizeof index.by_opcode);
    static_assert(sizeof skeleton_->rodata->by_opcode == sizeof index.by_opcode);
    std::ranges::copy(index.any_qpn.words, skeleton_->rodata->any_qpn.words);
    for (const std::uint32_t qpn : std::views::keys(index.by_qpn))
        skeleton_->rodata->named_qpns[qpn / 64 % NAMED_QPN_WORDS] |= std::uint64_t{1} << (qpn % 64);
    if (const int loaded = bump_bpf::load(skeleton_.get()); loaded != 0) {
        return failed("the kernel does not take the XDP program", -loaded);
    }
    for (const auto& [qpn, named] : index.by_qpn) {
        rule_set candidates{};
        for (std::size_t i = 0; i < RULE_SET_WORDS; ++i)
            candidates.words[i] = named.words[i] | index.any_qpn.words[i];
        if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.ruled_qpns), &qpn, &candidates,
                                BPF_ANY) != 0) {
            return failed("cannot load the rules into the kernel", errno);
        }
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::uint32_t number = ::if_nametoindex(ports_[i].name.c_str());
        ports_[i].index = static_cast<int>(number);
        if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.ports), &i, &number, BPF_ANY) != 0) {
            return failed("cannot forward to " + ports_[i].name, errno);
        }
    }
    return {};
}

// An errno, and which queue.
int XdpPorts::open_sockets(Port& port, std::uint32_t first, std::uint32_t queues,
                           std::string& where) {
    for (std::uint32_t queue = 0; queue < queues; ++queue) {
        where = port.name + " queue " + std::to_string(queue);
        auto socket = std::make_unique<Socket>();
        const xsk_socket_config config{
            .rx_size = kRing,
            .tx_size = kRing,
            .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
            .xdp_flags = options_.native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE,
            .bind_flags =
                static_cast<std::uint16_t>(XDP_USE_NEED_WAKEUP | (options_.native ? 0 : XDP_COPY) |
                                           (several_buffers() ? kUseSeveralBuffers : 0))};
        xsk_socket* made = nullptr;
        const int opened =
            xsk_socket__create_shared(&made, port.name.c_str(), queue, memory_->umem(), &socket->in,
                                      &socket->out, &socket->fill, &socket->sent, &config);
        if (opened != 0) return -opened;
        socket->socket.reset(made);
        refill(*socket, kRing);
        const std::uint32_t key = first + queue;
        const int fd = xsk_socket__fd(made);
        if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.sockets), &key, &fd, BPF_ANY) != 0) {
            return errno;
        }
        port.sockets.push_back(std::move(socket));
    }
    return 0;
}

std::expected<void, net::Error> XdpPorts::open_all_sockets() {
    const std::uint32_t sockets = options_.queues[0] + options_.queues[1];
    std::string where;
    std::optional<net::Error> no_memory;
    const int wrong = once_free([&] {
        // libxdp takes the rings of a shared memory away when a socket of it fails: all anew.
        for (Port& port : ports_)
            port.sockets.clear();
        memory_.reset();
        auto memory = Memory::make(sockets * kRing + 2 * kRing);
        if (!memory) {
            no_memory = memory.error();
            return 0;
        }
        memory_ = std::move(*memory);
        const int failed_a = open_sockets(ports_[0], 0, options_.queues[0], where);
        return failed_a != 0 ? failed_a
                             : open_sockets(ports_[1], kQueues, options_.queues[1], where);
    });
    if (no_memory) return std::unexpected(*no_memory);
    if (wrong != 0 && several_buffers()) {
        return failed("cannot open an AF_XDP socket on " + where +
                          " for frames of several buffers (MTU " + std::to_string(options_.mtu) +
                          "; Linux 6.6 or later has them)",
                      wrong);
    }
    if (wrong != 0) return failed("cannot open an AF_XDP socket on " + where, wrong);
    return {};
}

std::expected<void, net::Error> XdpPorts::attach(Port& port) {
    bpf_link_create_opts options{};
    options.sz = sizeof options;
    options.flags = options_.native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
    int link = -1;
    const int linked = once_free([&] {
        link =
            bpf_link_create(bpf_program__fd(skeleton_->progs.bump), port.index, BPF_XDP, &options);
        return link < 0 ? errno : 0;
    });
    if (linked != 0) {
        return failed("cannot attach the XDP program to " + port.name + " in " +
                          (options_.native ? "native" : "generic") + " mode",
                      linked);
    }
    port.link = net::Descriptor(link);
    if (options_.forward_when_killed) {
        // A packet socket would take the promiscuous mode with it.
        port.set_promiscuous = set_flag(port.name, IFF_PROMISC, true);
        struct statfs filesystem{};
        if (::statfs("/sys/fs/bpf", &filesystem) != 0 ||
            static_cast<long>(filesystem.f_type) != kBpfFilesystem) {
            return std::unexpected(net::Error{net::ErrorKind::System,
                                              "the program can only stay without this process "
                                              "with a BPF file system: mount -t bpf bpf "
                                              "/sys/fs/bpf"});
        }
        const std::string pin = pin_path(port.name);
        if (bpf_obj_pin(link, pin.c_str()) != 0) return failed("cannot make " + pin, errno);
        port.pin = pin;
        return {};
    }
    port.promiscuous = net::Descriptor(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    packet_mreq request{};
    request.mr_ifindex = port.index;
    request.mr_type = PACKET_MR_PROMISC;
    if (::setsockopt(port.promiscuous.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request,
                     sizeof request) != 0) {
        return failed("cannot make " + port.name + " promiscuous", errno);
    }
    return {};
}

std::expected<void, net::Error> XdpPorts::open() {
    if (options_.mtu + kLinkBytes > kMostPieces * kPiece) {
        return std::unexpected(net::Error{
            net::ErrorKind::TooLong, "MTU " + std::to_string(options_.mtu) + " is more than the " +
                                         std::to_string(kMostPieces) + " buffers of " +
                                         std::to_string(kPiece) + " bytes that AF_XDP chains"});
    }
    if (std::max(options_.queues[0], options_.queues[1]) > kMostQueues) {
        return std::unexpected(
            net::Error{net::ErrorKind::System, "more than " + std::to_string(kMostQueues) +
                                                   " receive queues: ethtool -L IFACE combined 1"});
    }
    if (auto loaded = load(); !loaded) return loaded;
    if (auto opened = open_all_sockets(); !opened) return opened;
    skeleton_->bss->heartbeat_ns =
        static_cast<std::uint64_t>(net::monotonic_now().time_since_epoch().count());
    for (Port& port : ports_) {
        if (auto attached = attach(port); !attached) return attached;
    }
    return {};
}

void XdpPorts::refill(Socket& socket, std::uint32_t count) {
    std::uint32_t at = 0;
    if (xsk_ring_prod__reserve(&socket.fill, count, &at) != count) return;
    std::uint32_t filled = 0;
    for (; filled < count; ++filled) {
        if (memory_->free() == 0) break;
        *xsk_ring_prod__fill_addr(&socket.fill, at + filled) = memory_->take();
    }
    assert(filled == count);
    xsk_ring_prod__submit(&socket.fill, count);
}

std::expected<void, net::Error> XdpPorts::wait(wire::Instant deadline) {
    std::vector<pollfd> all;
    all.reserve(2UZ * kMostQueues);
    for (const Port& port : ports_) {
        for (const auto& socket : port.sockets)
            all.push_back({xsk_socket__fd(socket->socket.get()), POLLIN, 0});
    }
    const auto now = net::monotonic_now();
    // The program takes a silent process for a dead one.
    skeleton_->bss->heartbeat_ns = static_cast<std::uint64_t>(now.time_since_epoch().count());
    const auto left = std::clamp(deadline - now, wire::Duration(0),
                                 wire::Duration(std::chrono::milliseconds(500)));
    const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(left.count())};
    if (::ppoll(all.data(), all.size(), &timeout, nullptr) < 0 && errno != EINTR) {
        return failed("cannot wait for frames", errno);
    }
    return {};
}

// One frame, in place if it fits a buffer. Its buffers belong to `one` until done().
wire::MutableBytes XdpPorts::join(Port& one, std::span<const xdp_desc> pieces) {
    for (const xdp_desc& piece : pieces)
        one.addresses.push_back(piece.addr);
    if (pieces.size() == 1) return {memory_->at(pieces[0].addr), pieces[0].len};
    if (one.joined.size() == one.joins) one.joined.emplace_back();
    std::vector<std::byte>& whole = one.joined[one.joins++];
    whole.clear();
    for (const xdp_desc& piece : pieces) {
        const std::byte* const from = memory_->at(piece.addr);
        whole.insert(whole.end(), from, from + piece.len);
    }
    return whole;
}

std::expected<std::span<const Arrival>, int> XdpPorts::receive(End from) {
    Port& one = port(from);
    one.arrivals.clear();
    one.addresses.clear();
    one.lent = one.next = 0;
    one.joins = 0;
    for (std::size_t i = 0; i < one.sockets.size() && one.addresses.empty(); ++i) {
        one.reading = (one.reading + 1) % one.sockets.size();
        Socket& socket = *one.sockets[one.reading];
        std::uint32_t at = 0;
        const std::uint32_t there = xsk_ring_cons__peek(&socket.in, kBatch, &at);
        std::array<xdp_desc, kBatch> pieces{};
        std::size_t count = 0;
        for (std::uint32_t k = 0; k < there; ++k) {
            pieces[count++] = *xsk_ring_cons__rx_desc(&socket.in, at + k);
            if ((pieces[count - 1].options & kContinues) != 0) continue;
            const wire::MutableBytes frame = join(one, std::span(pieces).first(count));
            if (options_.fills_checksums) fill_in_checksum(frame);
            one.arrivals.push_back({.frame = frame, .note = {}});
            count = 0;
        }
        // A frame whose end is not in this batch comes whole with the next one.
        xsk_ring_cons__cancel(&socket.in, static_cast<std::uint32_t>(count));
    }
    return std::span<const Arrival>(one.arrivals);
}

void XdpPorts::done(End from) {
    Port& one = port(from);
    if (one.addresses.empty()) return;
    Socket& socket = *one.sockets[one.reading];
    for (const std::uint64_t address : one.addresses) {
        if (address != kLent) memory_->give_back(address);
    }
    const auto taken = static_cast<std::uint32_t>(one.addresses.size());
    xsk_ring_cons__release(&socket.in, taken);
    refill(socket, taken);
    one.addresses.clear();
    one.lent = one.next = 0;
}

// The address of a frame that came with the present batch of a port and can leave without a copy:
// its buffer goes to the ring of the other port.
std::optional<std::uint64_t> XdpPorts::lend(Port& from, wire::Bytes frame) {
    const auto address = memory_->address_of(frame);
    if (!address) return std::nullopt;
    const auto same = [&](std::uint64_t one) {
        return one != kLent && Memory::frame_of(one) == Memory::frame_of(*address);
    };
    auto found = std::find_if(from.addresses.begin() + static_cast<std::ptrdiff_t>(from.next),
                              from.addresses.end(), same);
    if (found == from.addresses.end()) found = std::ranges::find_if(from.addresses, same);
    if (found == from.addresses.end()) return std::nullopt;
    *found = kLent;
    from.next = static_cast<std::size_t>(found - from.addresses.begin()) + 1;
    ++from.lent;
    return address;
}

// Takes back the memory of frames that have left.
void XdpPorts::reclaim(Socket& socket) {
    std::uint32_t at = 0;
    const std::uint32_t count = xsk_ring_cons__peek(&socket.sent, kRing, &at);
    for (std::uint32_t i = 0; i < count; ++i)
        memory_->give_back(*xsk_ring_cons__comp_addr(&socket.sent, at + i));
    xsk_ring_cons__release(&socket.sent, count);
}

void XdpPorts::queue(End to, wire::Bytes frame, const OffloadNote& note) {
    (void)note;
    Port& one = port(to);
    // Always by the same queue: two would reorder.
    Socket& socket = *one.sockets.front();
    const std::size_t pieces = std::max<std::size_t>((frame.size() + kPiece - 1) / kPiece, 1);
    if (pieces > (several_buffers() ? kMostPieces : 1)) {
        ++one.counts.refused;
        return;
    }
    const auto count = static_cast<std::uint32_t>(pieces);
    // What is lent must be replaced when its batch is done.
    const auto enough = [&] { return memory_->free() >= ports_[0].lent + ports_[1].lent + pieces; };
    if (!enough()) kick(one);
    std::uint32_t at = 0;
    bool room = enough();
    if (room && xsk_ring_prod__reserve(&socket.out, count, &at) != count) {
        kick(one);
        room = xsk_ring_prod__reserve(&socket.out, count, &at) == count;
    }
    if (!room) {
        ++one.counts.queue_full;
        return;
    }
    const auto lent =
        pieces == 1 ? lend(port(to == End::A ? End::B : End::A), frame) : std::nullopt;
    if (lent) {
        *xsk_ring_prod__tx_desc(&socket.out, at) = {
            .addr = *lent, .len = static_cast<std::uint32_t>(frame.size()), .options = 0};
        xsk_ring_prod__submit(&socket.out, 1);
        ++one.queued;
        return;
    }
    // All pieces at once: the kernel would take a chain without its end for a whole frame.
    for (std::uint32_t i = 0; i < count; ++i) {
        const wire::Bytes piece = frame.first(std::min(frame.size(), kPiece));
        frame = frame.subspan(piece.size());
        xdp_desc& entry = *xsk_ring_prod__tx_desc(&socket.out, at + i);
        entry.addr = memory_->take();
        entry.len = static_cast<std::uint32_t>(piece.size());
        entry.options = i + 1 < count ? kContinues : 0;
        std::memcpy(memory_->at(entry.addr), piece.data(), piece.size());
    }
    xsk_ring_prod__submit(&socket.out, count);
    one.queued += count;
}

// Until the kernel has taken all of them, as far as it takes them in time.
void XdpPorts::kick(Port& one) {
    if (one.queued == 0) return;
    Socket& socket = *one.sockets.front();
    const int fd = xsk_socket__fd(socket.socket.get());
    const auto until = net::monotonic_now() + kQueuePatience;
    while (xsk_ring_prod__needs_wakeup(&socket.out)) {
        if (::sendto(fd, nullptr, 0, MSG_DONTWAIT, nullptr, 0) >= 0) break;
        if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR) {
            ++one.counts.refused; // the link is down: the frames leave when it is up again
            break;
        }
        if (net::monotonic_now() > until) break;
    }
    one.queued = 0;
    reclaim(socket);
}

PortCounts XdpPorts::counts(End end) {
    Port& one = port(end);
    PortCounts counts = one.counts;
    for (const auto& socket : one.sockets) {
        xdp_statistics statistics{};
        socklen_t size = sizeof statistics;
        if (::getsockopt(xsk_socket__fd(socket->socket.get()), SOL_XDP, XDP_STATISTICS, &statistics,
                         &size) == 0) {
            counts.dropped_by_kernel += statistics.rx_dropped + statistics.rx_ring_full;
        }
    }
    const int cpus = libbpf_num_possible_cpus();
    std::vector<kernel_counts> of_each(static_cast<std::size_t>(std::max(cpus, 1)));
    const std::uint32_t key = end == End::A ? 0 : 1;
    if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.counts), &key, of_each.data()) == 0) {
        for (const kernel_counts& seen : of_each) {
            counts.in_kernel += seen.forwarded;
            counts.roce_in_kernel += seen.roce;
            counts.dropped_by_rules += seen.dropped;
        }
    }
    return counts;
}

bool XdpPorts::bypass(const BypassPath& path) {
    struct {
        std::array<std::byte, 16> source;
        std::array<std::byte, 16> destination;
        std::uint32_t qpn;
    } key{path.source.bytes, path.destination.bytes, path.qpn};
    const std::uint8_t yes = 1;
    return bpf_map_update_elem(bpf_map__fd(skeleton_->maps.unconcerned), &key, &yes, BPF_ANY) == 0;
}

} // namespace

std::expected<std::unique_ptr<Ports>, net::Error> open_xdp_ports(const XdpOptions& options) {
    auto ports = std::make_unique<XdpPorts>(options);
    if (auto opened = ports->open(); !opened) return std::unexpected(opened.error());
    return ports;
}

void remove_left_program(const std::string& interface) {
    const std::string pin = pin_path(interface);
    const net::Descriptor link(bpf_obj_get(pin.c_str()));
    if (!link.valid()) return;
    bpf_link_detach(link.fd());
    ::unlink(pin.c_str());
    set_flag(interface, IFF_PROMISC, false);
}

} // namespace veriroce::inject

#else

namespace veriroce::inject {

std::expected<std::unique_ptr<Ports>, net::Error> open_xdp_ports(const XdpOptions& options) {
    (void)options;
    return std::unexpected(
        net::Error{net::ErrorKind::System, "this program was built without libxdp"});
}

void remove_left_program(const std::string& interface) {
    (void)interface;
}

} // namespace veriroce::inject

#endif
