#include "dissector/mpi/world.hpp"

#include <algorithm>
#include <cassert>
#include <deque>
#include <functional>
#include <numeric>

#include <mpi.h>

namespace veriroce::mpi {
namespace {

// MPI counts in int: more bytes are sent in several messages.
constexpr std::size_t kMessageBytes = std::size_t{1} << 30;

template <typename Bytes>
void in_messages(Bytes bytes, const auto& each) {
    while (!bytes.empty()) {
        const std::size_t some = std::min(bytes.size(), kMessageBytes);
        each(bytes.first(some));
        bytes = bytes.subspan(some);
    }
}

std::size_t size_of(const Outgoing& outgoing) {
    return std::transform_reduce(outgoing.begin(), outgoing.end(), std::size_t{0}, std::plus{},
                                 [](wire::Bytes one) { return one.size(); });
}

std::vector<std::byte> joined(const Outgoing& outgoing) {
    std::vector<std::byte> all;
    all.reserve(size_of(outgoing));
    for (const wire::Bytes one : outgoing)
        all.insert(all.end(), one.begin(), one.end());
    return all;
}

} // namespace

wire::MutableBytes Mail::make_room(std::span<const std::uint64_t> sizes) {
    places_.clear();
    std::size_t all = 0;
    for (const std::uint64_t size : sizes) {
        places_.push_back({.begin = all, .size = static_cast<std::size_t>(size)});
        all += static_cast<std::size_t>(size);
    }
    if (room_bytes_ < all) {
        room_.reset(); // before there is another
        room_ = std::make_unique_for_overwrite<std::byte[]>(all);
        room_bytes_ = all;
    }
    return {room_.get(), all};
}

World::World(int& argc, char**& argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank_ = static_cast<std::size_t>(rank);
    size_ = static_cast<std::size_t>(size);
}

World::~World() {
    MPI_Finalize();
}

void World::exchange(std::span<const Outgoing> outgoing, Mail& mail) {
    assert(outgoing.size() == size_);
    constexpr int tag = 0;
    std::vector<std::uint64_t> out(size_);
    std::vector<std::uint64_t> in(size_);
    std::ranges::transform(outgoing, out.begin(), size_of);
    MPI_Alltoall(out.data(), 1, MPI_UINT64_T, in.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    const wire::MutableBytes room = mail.make_room(in);
    std::vector<MPI_Request> requests;
    std::deque<std::vector<std::byte>> joins;
    for (std::size_t rank = 0; rank < size_; ++rank) {
        const auto peer = static_cast<int>(rank);
        const auto [begin, size] = mail.places_[rank];
        if (rank == rank_) {
            wire::MutableBytes own = room.subspan(begin, size);
            for (const wire::Bytes one : outgoing[rank]) {
                std::ranges::copy(one, own.begin());
                own = own.subspan(one.size());
            }
            continue;
        }
        in_messages(room.subspan(begin, size), [&](wire::MutableBytes bytes) {
            MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, tag,
                      MPI_COMM_WORLD, &requests.emplace_back());
        });
        const wire::Bytes sent = outgoing[rank].size() == 1
                                     ? outgoing[rank].front()
                                     : joins.emplace_back(joined(outgoing[rank]));
        in_messages(sent, [&](wire::Bytes bytes) {
            MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, peer, tag,
                      MPI_COMM_WORLD, &requests.emplace_back());
        });
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

Mail World::exchange(const std::vector<Outgoing>& outgoing) {
    Mail mail;
    exchange(outgoing, mail);
    return mail;
}

Mail World::exchange(std::span<const Letter> letters) {
    std::vector<Outgoing> outgoing;
    for (const Letter& letter : letters)
        outgoing.push_back({letter.bytes()});
    return exchange(outgoing);
}

Mail World::send_to_first(const Letter& letter) {
    std::vector<Outgoing> outgoing(size_);
    outgoing.front() = {letter.bytes()};
    return exchange(outgoing);
}

int World::of_first(int value) {
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return value;
}

void World::gather(const void* value, void* values, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    MPI_Allgather(value, count, MPI_BYTE, values, count, MPI_BYTE, MPI_COMM_WORLD);
}

} // namespace veriroce::mpi
