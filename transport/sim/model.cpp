#include "transport/sim/model.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "transport/sim/random.hpp"

namespace veriroce::sim {

using engine::WcOpcode;
using engine::WrOpcode;

namespace {

std::uint64_t number_at(wire::Bytes bytes, std::size_t at) {
    std::uint64_t number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

std::vector<std::byte> bytes_of(std::uint64_t number) {
    std::vector<std::byte> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    return bytes;
}

std::vector<std::byte> random_bytes(std::uint64_t seed, std::size_t size) {
    Random random(seed);
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes)
        byte = static_cast<std::byte>(random.next());
    return bytes;
}

bool sends_data(WrOpcode opcode) {
    return !asks_atomic(opcode) && opcode != WrOpcode::RdmaRead;
}

WcOpcode completes_as(WrOpcode opcode) {
    if (opcode == WrOpcode::RdmaRead) return WcOpcode::RdmaRead;
    if (opcode == WrOpcode::AtomicCmpAndSwp) return WcOpcode::CompSwap;
    if (opcode == WrOpcode::AtomicFetchAndAdd) return WcOpcode::FetchAdd;
    const bool send = opcode == WrOpcode::Send || opcode == WrOpcode::SendWithImm;
    return send ? WcOpcode::Send : WcOpcode::RdmaWrite;
}

bool has_imm(WrOpcode opcode) {
    return opcode == WrOpcode::SendWithImm || opcode == WrOpcode::RdmaWriteWithImm;
}

} // namespace

std::string_view name_of(Wrong wrong) {
    constexpr std::array<std::string_view, 9> kNames{"memory",  "no effect",  "order",
                                                     "content", "status",     "event",
                                                     "refused", "unfinished", "endless"};
    return kNames[static_cast<std::size_t>(wrong)];
}

Model::Model(const Scenario& scenario, const Layout& layout, std::vector<wire::Bytes> memories)
    : scenario_(scenario), layout_(layout), memories_(std::move(memories)),
      directions_(layout.directions.size()), shared_(memories_.size()) {
    for (const wire::Bytes memory : memories_) {
        images_.emplace_back(memory.begin(), memory.end());
        shared_begin_.push_back(number_at(memory, kCounterAt));
    }
    shared_most_ = shared_begin_;
    for (std::size_t i = 0; i < directions_.size(); ++i) {
        const Range target = layout_.directions[i].target;
        const wire::Bytes bytes = memories_[responder(i)].subspan(target.begin, target.size());
        directions_[i].planned.assign(bytes.begin(), bytes.end());
        const ConnectionPlan& connection = scenario_.connections[i / 2];
        for (std::size_t slot = 0; slot < kReceiveSlots; ++slot) {
            directions_[i].receives[slot] =
                receive_pieces(connection.directions[i % 2], connection.longest,
                               layout_.directions[i].receive(slot));
        }
    }
}

std::size_t Model::requester(std::size_t direction) const {
    return layout_.directions[direction].requester;
}
std::size_t Model::responder(std::size_t direction) const {
    return layout_.directions[direction].responder;
}
std::size_t Model::done(std::size_t direction) const {
    return directions_[direction].done;
}
std::size_t Model::receives_posted(std::size_t direction) const {
    return directions_[direction].receives_posted;
}
std::size_t Model::receives_done(std::size_t direction) const {
    return directions_[direction].receives_done;
}

std::string Model::name(std::size_t direction, const Work& work) const {
    return fmt::format("q{} from {}, request {} ({} of {} bytes)", direction / 2,
                       direction % 2 == 0 ? 'a' : 'b', work.plan.id,
                       engine::name_of(work.plan.opcode), work.plan.length);
}

// --- the application's actions -------------------------------------------------------------------

// The request's effect on the peer's target area, given all requests posted before it.
void Model::plan_effect(std::size_t direction, Work& work) {
    Direction& state = directions_[direction];
    const std::size_t target = layout_.directions[direction].target.begin;
    const std::size_t at = work.plan.target;
    const auto planned = std::span(state.planned).subspan(at, work.plan.length);
    if (sends_data(work.plan.opcode)) {
        work.data = random_bytes(work.plan.data_seed, work.plan.length);
    } else {
        work.data.assign(planned.begin(), planned.end());
    }
    if (work.plan.opcode == WrOpcode::RdmaWrite || work.plan.opcode == WrOpcode::RdmaWriteWithImm) {
        work.writes = work.data;
    }
    if (asks_atomic(work.plan.opcode) && !work.plan.shared) {
        const std::uint64_t original = number_at(state.planned, at);
        const std::uint64_t other = original ^ (work.plan.data_seed | 1);
        work.compare = work.plan.compare_hits ? original : other;
        std::uint64_t value = original + work.plan.add_or_swap;
        if (work.plan.opcode == WrOpcode::AtomicCmpAndSwp) {
            value = work.plan.compare_hits ? work.plan.add_or_swap : original;
        }
        work.writes = bytes_of(value);
    }
    std::ranges::copy(work.writes, state.planned.begin() + static_cast<std::ptrdiff_t>(at));
    work.written = {.begin = target + at, .end = target + at + work.writes.size()};
}

const Work& Model::post(std::size_t direction, const WorkPlan& plan, bool signaled) {
    Direction& state = directions_[direction];
    const std::size_t number = state.works.size();
    Work work{.plan = plan, .signaled = signaled};
    work.local = pieces_of(plan, layout_.directions[direction].local(number));
    plan_effect(direction, work);
    if (plan.shared) shared_most_[responder(direction)] += plan.add_or_swap;
    if (takes_receive(plan.opcode)) {
        work.receive = state.takers.size();
        state.takers.push_back(number);
    }
    return state.works.emplace_back(std::move(work));
}

void Model::post_receive(std::size_t direction) {
    ++directions_[direction].receives_posted;
}

void Model::wrote(std::size_t endpoint, Range range) {
    const wire::Bytes bytes = memories_[endpoint].subspan(range.begin, range.size());
    std::ranges::copy(bytes, images_[endpoint].begin() + static_cast<std::ptrdiff_t>(range.begin));
}

// --- reported completions ------------------------------------------------------------------------

// Applies the effects of all requests up to and including this one to the expected image.
void Model::execute_through(std::size_t direction, std::size_t work) {
    Direction& state = directions_[direction];
    std::vector<std::byte>& image = images_[responder(direction)];
    for (; state.executed <= work; ++state.executed) {
        const Work& one = state.works[state.executed];
        std::ranges::copy(one.writes,
                          image.begin() + static_cast<std::ptrdiff_t>(one.written.begin));
    }
}

// A SEND that has completed on either side has filled its receive buffer.
void Model::settle_receive(std::size_t direction, std::size_t taker) {
    const Work& work = directions_[direction].works[taker];
    if (work.plan.opcode == WrOpcode::RdmaWriteWithImm) return;
    std::size_t sent = 0;
    for (const Range& piece : directions_[direction].receives[work.receive % kReceiveSlots]) {
        const std::size_t part = std::min(piece.size(), work.data.size() - sent);
        std::copy_n(work.data.begin() + static_cast<std::ptrdiff_t>(sent), part,
                    images_[responder(direction)].begin() +
                        static_cast<std::ptrdiff_t>(piece.begin));
        sent += part;
    }
}

// The shared counter's value before this request is known only now.
MaybeFailure Model::finish_shared(std::size_t direction, const Work& work) {
    const std::size_t endpoint = requester(direction);
    std::vector<std::byte> landed;
    for (const Range& piece : work.local) {
        const auto bytes = memories_[endpoint].subspan(piece.begin, piece.size());
        landed.insert(landed.end(), bytes.begin(), bytes.end());
        wrote(endpoint, piece);
    }
    shared_[responder(direction)].push_back(
        {.original = number_at(landed, 0), .add = work.plan.add_or_swap});
    return std::nullopt;
}

// Checks that the data of a READ or atomic has arrived.
MaybeFailure Model::finish(std::size_t direction, const Work& work) {
    if (sends_data(work.plan.opcode)) return std::nullopt;
    if (work.plan.shared) return finish_shared(direction, work);
    const auto number = static_cast<std::size_t>(&work - directions_[direction].works.data());
    const std::size_t endpoint = requester(direction);
    std::size_t offset = 0;
    for (const Range& piece : work.local) {
        for (std::size_t at = piece.begin; at < piece.end; ++at, ++offset) {
            const std::byte value = memories_[endpoint][at];
            if (may_land(direction, number, offset, value)) continue;
            return Failure{Wrong::NoEffect,
                           fmt::format("{} has completed, but byte {} of its result is {:#04x}",
                                       name(direction, work), offset,
                                       static_cast<unsigned>(value))};
        }
        wrote(endpoint, piece);
    }
    return std::nullopt;
}

MaybeFailure Model::completed(std::size_t direction, const engine::Completion& completion) {
    ++completions_;
    return completion.queue == engine::Queue::Send ? completed_send(direction, completion)
                                                   : completed_receive(direction, completion);
}

MaybeFailure Model::completed_send(std::size_t direction, const engine::Completion& completion) {
    Direction& state = directions_[direction];
    std::size_t next = state.done;
    while (next < state.works.size() && !state.works[next].signaled)
        ++next;
    if (completion.status != engine::WcStatus::Success) { // including unsignaled requests
        return Failure{Wrong::Status,
                       fmt::format("q{} from {}: request {} ends with {}", direction / 2,
                                   direction % 2 == 0 ? 'a' : 'b', completion.id,
                                   engine::name_of(completion.status))};
    }
    if (next == state.works.size() || state.works[next].plan.id != completion.id) {
        return Failure{Wrong::Order,
                       fmt::format("q{} from {}: request {} completed, expected {}", direction / 2,
                                   direction % 2 == 0 ? 'a' : 'b', completion.id,
                                   next == state.works.size()
                                       ? "none"
                                       : fmt::to_string(state.works[next].plan.id))};
    }
    const Work& work = state.works[next];
    if (completion.opcode != completes_as(work.plan.opcode)) {
        return Failure{Wrong::Content, fmt::format("{} completes as {}", name(direction, work),
                                                   engine::name_of(completion.opcode))};
    }
    for (; state.done <= next; ++state.done) {
        const Work& one = state.works[state.done];
        execute_through(direction, state.done);
        if (takes_receive(one.plan.opcode) && one.receive >= state.receives_done) {
            settle_receive(direction, state.done);
        }
        if (MaybeFailure wrong = finish(direction, one)) return wrong;
    }
    for (const std::size_t endpoint : {requester(direction), responder(direction)}) {
        MaybeFailure wrong = look(endpoint);
        if (!wrong) continue;
        return Failure{Wrong::NoEffect,
                       fmt::format("{} has completed, but {}", name(direction, work), wrong->text)};
    }
    return std::nullopt;
}

MaybeFailure Model::completed_receive(std::size_t direction, const engine::Completion& completion) {
    Direction& state = directions_[direction];
    const std::string where = fmt::format("q{} from {}, receive {}", direction / 2,
                                          direction % 2 == 0 ? 'a' : 'b', completion.id);
    if (completion.id != state.receives_done || completion.id >= state.receives_posted) {
        return Failure{Wrong::Order,
                       fmt::format("{} completed, expected {}", where, state.receives_done)};
    }
    if (completion.status != engine::WcStatus::Success) {
        return Failure{Wrong::Status,
                       fmt::format("{} ends with {}", where, engine::name_of(completion.status))};
    }
    if (state.receives_done >= state.takers.size()) {
        return Failure{Wrong::Order, fmt::format("{} completed, but nothing was sent", where)};
    }
    const std::size_t taker = state.takers[state.receives_done];
    const Work& work = state.works[taker];
    const bool write = work.plan.opcode == WrOpcode::RdmaWriteWithImm;
    const bool imm_is_right = completion.imm.has_value() == has_imm(work.plan.opcode) &&
                              completion.imm.value_or(work.plan.imm) == work.plan.imm;
    if (completion.opcode != (write ? WcOpcode::RecvRdmaWithImm : WcOpcode::Recv) ||
        completion.byte_len != work.plan.length || !imm_is_right) {
        return Failure{Wrong::Content,
                       fmt::format("{} reports {} with {} bytes, immediate data {}, for {}", where,
                                   engine::name_of(completion.opcode), completion.byte_len,
                                   completion.imm.value_or(0), name(direction, work))};
    }
    execute_through(direction, taker);
    if (taker >= state.done) settle_receive(direction, taker);
    ++state.receives_done;
    if (MaybeFailure wrong = look(responder(direction))) {
        return Failure{Wrong::NoEffect,
                       fmt::format("{} has completed, but {}", where, wrong->text)};
    }
    return std::nullopt;
}

MaybeFailure Model::finished() {
    for (std::size_t i = 0; i < directions_.size(); ++i) {
        const Direction& state = directions_[i];
        if (state.done < state.works.size()) {
            return Failure{Wrong::Unfinished,
                           fmt::format("{} never completed", name(i, state.works[state.done]))};
        }
        if (state.receives_done < state.takers.size()) {
            return Failure{Wrong::Unfinished,
                           fmt::format("the receive for {} never completed",
                                       name(i, state.works[state.takers[state.receives_done]]))};
        }
    }
    for (std::size_t endpoint = 0; endpoint < memories_.size(); ++endpoint) {
        if (MaybeFailure wrong = look(endpoint)) return wrong;
        // Each addition must have found the value that another one left.
        std::vector<SharedAdd>& adds = shared_[endpoint];
        std::ranges::sort(adds, {}, &SharedAdd::original);
        std::uint64_t value = shared_begin_[endpoint];
        for (const SharedAdd& add : adds) {
            if (add.original != value) {
                return Failure{
                    Wrong::NoEffect,
                    fmt::format("an atomic read {} from endpoint {}'s counter, expected {}",
                                add.original, endpoint, value)};
            }
            value += add.add;
        }
        if (number_at(memories_[endpoint], kCounterAt) != value) {
            return Failure{Wrong::Memory,
                           fmt::format("endpoint {}'s counter is {}, expected {}", endpoint,
                                       number_at(memories_[endpoint], kCounterAt), value)};
        }
    }
    return std::nullopt;
}

} // namespace veriroce::sim
