#include "transport/inject/in_line.hpp"

#include <net/if.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "transport/inject/packet_port.hpp"
#include "transport/inject/xdp_ports.hpp"
#include "transport/net/clock.hpp"
#include "transport/net/interface_facts.hpp"

namespace veriroce::inject {
namespace {

std::unexpected<net::Error> wrong(net::ErrorKind kind, std::string text) {
    return std::unexpected(net::Error{kind, std::move(text)});
}

// Whether a bump can work on this interface.
std::expected<void, net::Error> check(const net::InterfaceFacts& facts) {
    using enum net::ErrorKind;
    const std::string& name = facts.name;
    if (!facts.exists) return wrong(NoInterface, "there is no interface " + name);
    if (!facts.ethernet) return wrong(NotEthernet, name + " is not an Ethernet interface");
    if (!facts.up) {
        return wrong(InterfaceDown, name + " is down: ip link set " + name + " up");
    }
    if (!facts.carrier) {
        return wrong(InterfaceDown, name + " has no carrier: is the other end connected and up?");
    }
    if (!facts.master.empty()) {
        return wrong(System, name + " belongs to " + facts.master +
                                 ", which would forward every frame once more: ip link set " +
                                 name + " nomaster");
    }
    if (facts.xdp) {
        return wrong(System, "a program takes frames of " + name +
                                 " before they come here: ip link set " + name + " xdp off");
    }
    for (const net::RdmaOwner& owner : facts.rdma) {
        return wrong(RdmaOwnsIt,
                     "an RDMA device takes the RoCE packets of " + name + ": " + net::cure(owner));
    }
    return {};
}

// One bump for an interface. The name is that of an abstract socket, which belongs to the network
// namespace and goes with the process.
std::expected<net::Descriptor, net::Error> lock_of(const std::string& name) {
    net::Descriptor lock(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string text = "veriroce-inject-" + name;
    text.copy(address.sun_path + 1, sizeof address.sun_path - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (lock.valid() && ::bind(lock.fd(), reinterpret_cast<const sockaddr*>(&address), size) == 0) {
        return lock;
    }
    if (errno == EADDRINUSE) {
        return wrong(net::ErrorKind::System, "another veriroce inject has " + name);
    }
    return std::unexpected(net::system_error("cannot reserve " + name, errno));
}

// Whether a rule may ever select a packet of this connection.
bool may_concern(const fault::Selector& selector, const Connections::Known& known,
                 std::uint64_t number) {
    if (selector.pfc) return false; // no packet
    if (selector.connection && !selector.connection->has(static_cast<std::int64_t>(number))) {
        return false;
    }
    if (selector.service_id && known.service_id != *selector.service_id) return false;
    const auto& sides = known.sides;
    if (selector.host && sides[0].address != *selector.host && sides[1].address != *selector.host) {
        return false;
    }
    const auto* qpn = selector.qp ? std::get_if<std::uint32_t>(&*selector.qp) : nullptr;
    return qpn == nullptr || sides[0].qpn == wire::Qpn{*qpn} || sides[1].qpn == wire::Qpn{*qpn};
}

bool may_concern(const fault::Rule& rule, const Connections::Known& known, std::uint64_t number) {
    const auto* hold = std::get_if<fault::Hold>(&rule.action);
    return may_concern(rule.selector, known, number) ||
           (hold != nullptr && may_concern(hold->until, known, number));
}

std::expected<std::unique_ptr<Ports>, net::Error> open_ports(const LineOptions& options,
                                                             const net::InterfaceFacts& a,
                                                             const net::InterfaceFacts& b,
                                                             std::vector<std::string>& notes) {
    if (options.path == DataPath::Packet && options.forward_when_killed) {
        return wrong(net::ErrorKind::System,
                     "--if-killed forward needs XDP: AF_PACKET always blocks");
    }
    const bool needs_xdp = options.forward_when_killed || !options.in_kernel.rules.empty();
    if (options.path == DataPath::Packet && needs_xdp) {
        return wrong(net::ErrorKind::System, "--in-kernel needs XDP, and --path packet has none");
    }
    if (options.path == DataPath::Packet) return open_packet_ports(a.name, b.name);
    XdpOptions xdp{.a = a.name,
                   .b = b.name,
                   .queues = {a.queues.value_or(net::InterfaceFacts::Queues{}).receive,
                              b.queues.value_or(net::InterfaceFacts::Queues{}).receive},
                   .mtu = a.mtu,
                   .native = true,
                   .fills_checksums = !a.kind.empty() || !b.kind.empty(),
                   .forward_when_killed = options.forward_when_killed,
                   .takes_pfc = options.takes_pfc,
                   .rules = options.in_kernel};
    if (options.path == DataPath::Native) return open_xdp_ports(xdp);
    std::string why;
    if (options.path == DataPath::Automatic && xdp.fills_checksums) {
        // XDP forgets what a sender left to its card, and nobody but the sender can stop doing so.
        why = "a virtual interface leaves checksums and segments to the other end";
        if (!needs_xdp) {
            notes.push_back("not XDP: " + why);
            return open_packet_ports(a.name, b.name);
        }
    } else if (options.path == DataPath::Automatic) {
        auto ports = open_xdp_ports(xdp);
        if (ports) return ports;
        why = ports.error().text;
    }
    xdp.native = false;
    auto ports = open_xdp_ports(xdp);
    if (options.path == DataPath::Generic) return ports;
    if (ports) {
        notes.push_back("not native mode: " + why);
        return ports;
    }
    if (needs_xdp) return ports;
    notes.push_back("not XDP: " + ports.error().text);
    return open_packet_ports(a.name, b.name);
}

} // namespace

std::expected<InLine, net::Error> InLine::open(const std::string& a, const std::string& b,
                                               const LineOptions& options) {
    if (a == b) {
        return wrong(net::ErrorKind::BadAddress,
                     "a bump needs two interfaces, got " + a + " twice");
    }
    InLine line;
    line.a_name_ = a;
    line.b_name_ = b;
    std::vector<net::InterfaceFacts> facts;
    for (const std::string& name : {a, b}) {
        if (::if_nametoindex(name.c_str()) != 0) {
            auto lock = lock_of(name);
            if (!lock) return std::unexpected(lock.error());
            line.locks_.push_back(std::move(*lock));
            remove_left_program(name);
        }
        facts.push_back(net::interface_facts(name));
        if (auto fit = check(facts.back()); !fit) return std::unexpected(fit.error());
        if (!facts.back().subnets.empty()) {
            line.notes_.push_back(name + " has the address " +
                                  facts.back().subnets.front().address.text() +
                                  ": this host answers on the wire, too");
        }
    }
    if (facts[0].mtu != facts[1].mtu) {
        return wrong(net::ErrorKind::TooLong,
                     a + " has MTU " + std::to_string(facts[0].mtu) + " and " + b + " has MTU " +
                         std::to_string(facts[1].mtu) + ": ip link set " +
                         (facts[0].mtu < facts[1].mtu ? a : b) + " mtu " +
                         std::to_string(std::max(facts[0].mtu, facts[1].mtu)));
    }
    line.mtu_ = facts[0].mtu;
    for (const net::InterfaceFacts& one : facts) {
        if (!options.takes_pfc || !one.kind.empty()) continue;
        line.notes_.push_back("the plan waits for PFC frames, and " + one.name +
                              " is a network card: most cards keep them to themselves, and a rule "
                              "that saw none is reported as one that never fired");
    }
    for (const net::InterfaceFacts& one : facts) {
        if (one.speed_mbps) line.bits_per_second_ = *one.speed_mbps * 1e6;
    }
    for (const std::string& name : {a, b}) {
        auto off = net::Offloads::turn_off(name);
        if (!off) return std::unexpected(off.error());
        line.notes_.insert(line.notes_.end(), off->notes().begin(), off->notes().end());
        line.offloads_.push_back(std::move(*off));
    }
    auto ports = open_ports(options, facts[0], facts[1], line.notes_);
    if (!ports) return std::unexpected(ports.error());
    line.ports_ = std::move(*ports);
    line.kernel_places_ = options.in_kernel.places;
    return line;
}

std::string InLine::path() const {
    return ports_->text() + ", MTU " + std::to_string(mtu_);
}

std::expected<void, net::Error> InLine::close() {
    for (net::Offloads& one : offloads_) {
        if (auto done = one.put_back(); !done) return done;
    }
    return {};
}

void InLine::collect(Bump& bump) {
    const std::vector<fault::Fired> now = ports_->kernel_fired();
    collected_.resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        bump.count_elsewhere(kernel_places_[i],
                             {.selected = now[i].selected - collected_[i].selected,
                              .fired = now[i].fired - collected_[i].fired});
    }
    collected_ = now;
}

void InLine::send_all(const Arrival* arrival, wire::Instant now, Observer* observer) {
    for (const Leaving& one : leaving_) {
        const bool as_it_came = arrival != nullptr && one.bytes.data() == arrival->frame.data();
        ports_->queue(one.to, one.bytes, as_it_came ? arrival->note : OffloadNote{});
        if (observer != nullptr) observer->went(one.to, one.bytes, !as_it_came, now);
    }
    leaving_.clear();
}

void InLine::send_due(Bump& bump, Observer* observer) {
    const wire::Instant now = net::monotonic_now();
    const auto due = bump.next_deadline();
    if (!due || *due > now) return;
    bump.advance(now, leaving_);
    send_all(nullptr, now, observer);
    ports_->flush();
    bump.sent();
}

// Once both QPs of a connection are known, and no rule can concern it, its packets need not come
// here.
void InLine::consider(const Bump& bump, std::uint64_t connection) {
    if (connection == 0 || bump.concerns_all()) return;
    if (considered_.size() < connection) considered_.resize(connection);
    if (considered_[connection - 1]) return;
    const Connections::Known& known = bump.connections().known()[connection - 1];
    const auto& [a, b] = known.sides;
    if (!a.qpn || !b.qpn) return;
    considered_[connection - 1] = true;
    const std::span<const fault::Rule> rules = bump.injector().rules();
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool kernel = std::ranges::find(kernel_places_, i) != kernel_places_.end();
        if (!kernel && may_concern(rules[i], known, connection)) return;
    }
    to_bypass_.push_back({a.address, b.address, b.qpn->value});
    to_bypass_.push_back({b.address, a.address, a.qpn->value});
}

std::expected<void, net::Error> InLine::take(End from, Bump& bump, Observer* observer) {
    const auto arrivals = ports_->receive(from);
    if (!arrivals) {
        const std::string& name = from == End::A ? a_name_ : b_name_;
        // A link that goes down may come up again; the kernel then goes on.
        if (arrivals.error() == ENETDOWN && ::if_nametoindex(name.c_str()) != 0) return {};
        return std::unexpected(net::system_error("cannot receive on " + name, arrivals.error()));
    }
    for (const Arrival& arrival : *arrivals) {
        const wire::Instant now = net::monotonic_now();
        const Handled handled = bump.handle(from, arrival.frame, now, leaving_);
        if (observer != nullptr) observer->came(from, arrival.frame, handled, now);
        send_all(&arrival, now, observer);
        consider(bump, handled.place.connection);
    }
    emptied_ = emptied_ && arrivals->size() < Ports::kBatch;
    ports_->flush();
    bump.sent();
    ports_->done(from);
    return {};
}

std::expected<void, net::Error> InLine::step(Bump& bump, wire::Instant until, Observer* observer) {
    const auto due = bump.next_deadline();
    const wire::Instant wake = due ? std::min(*due, until) : until;
    if (auto waited = ports_->wait(wake); !waited) return waited;
    send_due(bump, observer);
    emptied_ = true;
    for (const End from : {End::A, End::B}) {
        if (auto taken = take(from, bump, observer); !taken) return taken;
    }
    // Only while nothing waits here: later packets would overtake it.
    if (emptied_ && !bump.next_deadline()) {
        for (const BypassPath& path : to_bypass_)
            ports_->bypass(path);
        to_bypass_.clear();
    }
    return {};
}

} // namespace veriroce::inject
