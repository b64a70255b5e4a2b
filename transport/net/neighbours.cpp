#include "transport/net/neighbours.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include "transport/net/clock.hpp"
#include "transport/net/kernel_neighbours.hpp"
#include "transport/net/packet_filter.hpp"

namespace veriroce::net {

namespace {

constexpr std::size_t kBufferBytes = 1U << 20U;
constexpr auto kRepeat = std::chrono::milliseconds(200);
constexpr std::size_t kMostAnswers = 16;
constexpr auto kErrorPause = std::chrono::milliseconds(50);

std::uint16_t id_of(const std::optional<wire::VlanId>& vlan) {
    return vlan ? vlan->id : 0;
}

} // namespace

std::expected<std::unique_ptr<Neighbours>, Error>
Neighbours::start(const Interface& interface, const std::vector<wire::IpAddress>& extra,
                  bool answers) {
    auto socket = PacketSocket::receiver(interface, neighbour_filter(), kBufferBytes);
    if (!socket) return std::unexpected(socket.error());
    Descriptor stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!stop.valid()) return std::unexpected(system_error("cannot make an eventfd", errno));
    for (const auto& address : extra) {
        if (address.v4() || socket->join(solicited_node_mac(address))) continue;
        return std::unexpected(system_error(
            "cannot join the group of " + address.text() + " on " + interface.name, errno));
    }
    std::unique_ptr<Neighbours> neighbours(
        new Neighbours(interface, extra, answers, std::move(*socket), std::move(stop)));
    neighbours->thread_ = std::jthread([self = neighbours.get()] { self->work(); });
    return neighbours;
}

Neighbours::~Neighbours() {
    ::eventfd_write(stop_.fd(), 1);
}

void Neighbours::work() {
    const int stop = stop_.fd();
    for (;;) {
        auto packet = socket_.receive();
        // The interface is down. receive() reports that; here, wait for it to come back.
        if (!packet) {
            if (wait_for(stop, POLLIN, monotonic_now() + kErrorPause) == Waited::Ready) return;
        } else if (!*packet) {
            if (wait_for(stop, POLLIN, kNever, {{socket_.fd()}}) == Waited::Ready) return;
        } else if (!(*packet)->outgoing && !(*packet)->truncated) {
            if (const auto message = parse_neighbour((*packet)->frame)) handle(*message);
        }
    }
}

bool Neighbours::answers_for(const NeighbourMessage& request) const {
    if (!answers_ || request.sender == request.target)
        return false; // an announcement, not a request
    const auto among = [&request](const std::vector<wire::IpAddress>& addresses) {
        return std::ranges::find(addresses, request.target) != addresses.end();
    };
    return among(extra_) || (id_of(request.vlan) != 0 && among(interface_.addresses));
}

void Neighbours::handle(const NeighbourMessage& message) {
    if (message.kind == NeighbourMessage::Kind::Request) {
        // A failed answer is like a lost one: the peer asks again.
        if (answers_for(message)) (void)socket_.send(neighbour_answer(message, interface_.mac));
        return;
    }
    const std::scoped_lock lock(mutex_);
    if (!search_ || search_->address != message.target || search_->vlan_id != id_of(message.vlan)) {
        return;
    }
    if (std::ranges::find(search_->found, message.target_mac) == search_->found.end() &&
        search_->found.size() < kMostAnswers) {
        search_->found.push_back(message.target_mac);
    }
    answered_.notify_all();
}

std::expected<wire::MacAddress, Error> Neighbours::resolve(const wire::IpAddress& address,
                                                           const wire::IpAddress& source,
                                                           const std::optional<wire::VlanId>& vlan,
                                                           wire::Instant deadline) {
    if (id_of(vlan) == 0) {
        if (const auto known = kernel_neighbour(interface_.index, address)) return *known;
    }
    return ask(address, source, vlan, deadline);
}

std::expected<wire::MacAddress, Error> Neighbours::ask(const wire::IpAddress& address,
                                                       const wire::IpAddress& source,
                                                       const std::optional<wire::VlanId>& vlan,
                                                       wire::Instant deadline) {
    const auto request = neighbour_request(interface_.mac, source, address, vlan);
    std::unique_lock lock(mutex_);
    search_ = Search{address, id_of(vlan), {}};
    do {
        if (const int number = socket_.send(request); number == ENETDOWN || number == ENXIO) {
            search_.reset();
            return std::unexpected(lost_interface(interface_.name, interface_.index));
        }
        const auto again = std::min(deadline, monotonic_now() + kRepeat);
        answered_.wait_until(lock, std::chrono::steady_clock::time_point(again.time_since_epoch()),
                             [this] { return !search_->found.empty(); });
    } while (search_->found.empty() && monotonic_now() < deadline);
    const auto found = std::move(search_->found);
    search_.reset();
    if (!found.empty()) return found.front();
    return std::unexpected(
        Error{ErrorKind::NoNeighbour, address.text() + " does not answer on " + interface_.name +
                                          ": it must be up and on the same L2 network"});
}

std::vector<wire::MacAddress> Neighbours::who_has(const wire::IpAddress& address,
                                                  const wire::IpAddress& source,
                                                  wire::Instant deadline) {
    const auto request = neighbour_request(interface_.mac, source, address, std::nullopt);
    std::unique_lock lock(mutex_);
    search_ = Search{address, 0, {}};
    do {
        (void)socket_.send(request); // of a link that is down, nobody answers
        const auto again = std::min(deadline, monotonic_now() + kRepeat);
        answered_.wait_until(lock, std::chrono::steady_clock::time_point(again.time_since_epoch()),
                             [] { return false; }); // another one may answer later
    } while (monotonic_now() < deadline);
    auto found = std::move(search_->found);
    search_.reset();
    return found;
}

} // namespace veriroce::net
