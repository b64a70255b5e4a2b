#include "transport/sim/swarm.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <unordered_map>

#include <fmt/format.h>

#include "transport/sim/endpoints.hpp"
#include "transport/sim/network.hpp"

namespace veriroce::sim {

namespace {

using engine::WrOpcode;
using namespace std::chrono_literals;

constexpr std::uint64_t kMaxSteps = 50'000;
constexpr wire::Duration kLongestRun = std::chrono::hours(1);
constexpr std::size_t kLongestChain = 4;
// Consecutive unsignaled requests. Together with a chain they must fit into the send queue.
constexpr std::size_t kMaxUnsignaled = 3;
constexpr std::uint32_t kReplayMemory = 16;
constexpr std::size_t kMaxRefusals = 8; // reported per endpoint

// A key that is registered nowhere.
wire::Rkey strange(wire::Rkey rkey) {
    return {rkey.value ^ 0x5A5A5A00};
}

void earlier(std::optional<wire::Instant>& next, std::optional<wire::Instant> other) {
    if (other && (!next || *other < *next)) next = other;
}

class Run {
  public:
    Run(const Scenario& scenario, const Defect& defect, NetworkFaults faults,
        const FrameObserver* observer = nullptr)
        : scenario_(scenario), observer_(observer), layout_(layout_of(scenario)),
          endpoints_(scenario, layout_, defect), model_(scenario, layout_, endpoints_.memories()),
          faults_(std::move(faults)), network_(scenario.endpoints.size()),
          injector_(scenario.seed, faults_.longest_delay()), progress_(layout_.directions.size()),
          watched_only_(defect.watched_only) {
        injector_.remember(kReplayMemory);
        for (std::size_t i = 0; i < scenario.connections.size(); ++i)
            outcome_.qpns.push_back({endpoints_.side(i, 0).qpn, endpoints_.side(i, 1).qpn});
        for (std::size_t i = 0; i < progress_.size(); ++i)
            prepare(i);
    }

    Outcome play();

  private:
    // The application's progress in one direction.
    struct Progress {
        std::size_t next = 0;       // next work request to post
        std::size_t unsignaled = 0; // consecutive
        std::size_t receives = 0;   // receives needed by the remaining plan
        // First PSN of each request, relative to the first of all.
        std::vector<std::uint32_t> begins;
        std::uint32_t end = 0;  // PSN after the last request
        std::uint32_t sent = 0; // PSN after the last one sent
    };

    [[nodiscard]] const ConnectionPlan& connection(std::size_t direction) const {
        return scenario_.connections[direction / 2];
    }
    [[nodiscard]] const DirectionPlan& plan(std::size_t direction) const {
        return connection(direction).directions[direction % 2];
    }
    void prepare(std::size_t direction);
    void fail(const MaybeFailure& failure) {
        if (!outcome_.failure && !watched_only_) outcome_.failure = failure;
    }
    void fail(Wrong wrong, std::string text) { fail(Failure{wrong, std::move(text)}); }

    // the application
    void act();
    void post(std::size_t direction);
    void post_chain(std::size_t direction, std::size_t count);
    engine::SendRequest request(std::size_t direction, const Work& work,
                                std::vector<engine::Sge>& sges);
    void write_local(std::size_t direction, const Work& work, std::byte mask);
    void post_receives(std::size_t direction);
    void poll(std::size_t endpoint);
    void take(std::size_t endpoint, const engine::Completion& completion);
    void events(std::size_t endpoint);
    [[nodiscard]] std::optional<wire::Instant> next_due() const;
    void conclude();
    void report_refusals();

    // the wire
    void deliver();
    void pump();
    void note_sent(const PacketId& packet_id);
    void carry(std::size_t port, wire::Bytes frame);
    void emit(std::span<const fault::Emission> emissions);
    struct Seen {
        PacketId packet_id;
        std::int64_t psn = 0;
        std::uint32_t qpn = 0;
        bool request = false; // false for a CNP, whatever its PSN
    };
    std::optional<Seen> look_at(wire::Bytes frame);
    [[nodiscard]] std::optional<wire::Instant> next() const;

    const Scenario& scenario_;
    const FrameObserver* observer_; // may be null
    Layout layout_;
    Endpoints endpoints_;
    Model model_;
    NetworkFaults faults_;
    Network network_;
    fault::Injector injector_;
    std::vector<Progress> progress_; // by direction
    std::unordered_map<std::uint64_t, std::uint32_t> passes_;
    wire::Instant now_;
    Outcome outcome_;
    bool watched_only_ = false;
};

void Run::prepare(std::size_t direction) {
    Progress& progress = progress_[direction];
    for (const WorkPlan& work : plan(direction).works) {
        progress.begins.push_back(progress.end);
        progress.end += packets_of(work, connection(direction).mtu);
        if (takes_receive(work.opcode)) ++progress.receives;
    }
}

// --- the application -----------------------------------------------------------------------------

void Run::act() {
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        post_receives(i);
        post(i);
    }
}

void Run::post_receives(std::size_t direction) {
    const DirectionLayout& layout = layout_.directions[direction];
    Endpoint& endpoint = endpoints_[layout.responder];
    const engine::QpId qp = endpoints_.side(direction / 2, 1 - direction % 2).qp;
    while (true) {
        const std::size_t number = model_.receives_posted(direction);
        const bool room = number - model_.receives_done(direction) < kReceiveSlots;
        if (number == progress_[direction].receives || !room ||
            wire::Instant{plan(direction).receives[number]} > now_) {
            return;
        }
        std::vector<engine::Sge> sges;
        for (const Range& piece : receive_pieces(plan(direction), connection(direction).longest,
                                                 layout.receive(number))) {
            sges.push_back({.address = endpoint.base + piece.begin,
                            .length = static_cast<std::uint32_t>(piece.size()),
                            .lkey = endpoint.region.lkey});
        }
        const engine::ReceiveRequest receive{.id = number, .sges = sges};
        if (endpoint.engine.post_receive(qp, std::span(&receive, 1)).refused) {
            return fail(Wrong::Refused, fmt::format("q{}: post_recv failed", direction / 2));
        }
        model_.post_receive(direction);
    }
}

void Run::post(std::size_t direction) {
    const std::vector<WorkPlan>& works = plan(direction).works;
    Progress& progress = progress_[direction];
    const std::size_t slots = std::min<std::size_t>(kLocalSlots, plan(direction).max_send);
    while (progress.next < works.size() && !outcome_.failure) {
        std::size_t count = 1;
        while (count < kLongestChain && progress.next + count < works.size() &&
               works[progress.next + count].chained) {
            ++count;
        }
        const std::size_t flying = progress.next - model_.done(direction);
        if (wire::Instant{works[progress.next].at} > now_ || flying + count > slots) return;
        post_chain(direction, count);
    }
}

void Run::post_chain(std::size_t direction, std::size_t count) {
    const DirectionPlan& plan = this->plan(direction);
    Progress& progress = progress_[direction];
    std::vector<std::vector<engine::Sge>> sges(count);
    std::vector<engine::SendRequest> chain;
    const std::size_t first = progress.next;
    for (std::size_t i = 0; i < count; ++i) {
        const WorkPlan& work = plan.works[progress.next++];
        const bool forced =
            progress.unsignaled == kMaxUnsignaled || progress.next == plan.works.size();
        const bool signaled = work.flags.signaled || forced || connection(direction).signal_all;
        progress.unsignaled = signaled ? 0 : progress.unsignaled + 1;
        const Work& posted = model_.post(direction, work, signaled);
        write_local(direction, posted, std::byte{0});
        chain.push_back(request(direction, posted, sges[i]));
        chain.back().flags.signaled = work.flags.signaled || forced;
    }
    Endpoint& home = endpoints_[layout_.directions[direction].requester];
    const engine::QpId qp = endpoints_.side(direction / 2, direction % 2).qp;
    const auto posted = home.engine.post_send(qp, chain, now_);
    outcome_.tally.works += posted.posted;
    if (posted.refused) {
        fail(Wrong::Refused,
             fmt::format("q{}: post_send of request {} failed with {}", direction / 2,
                         plan.works[first + posted.posted].id, engine::name_of(*posted.refused)));
    }
    // The application may reuse inline data at once.
    for (std::size_t i = 0; i < count; ++i) {
        const Work& work = model_.work(direction, first + i);
        if (work.plan.flags.inline_data) write_local(direction, work, std::byte{0xFF});
    }
}

// Writes the message where the request will read it, or its complement (mask).
void Run::write_local(std::size_t direction, const Work& work, std::byte mask) {
    if (asks_atomic(work.plan.opcode) || work.plan.opcode == WrOpcode::RdmaRead) return;
    const std::size_t endpoint = layout_.directions[direction].requester;
    std::size_t offset = 0;
    for (const Range& piece : work.local) {
        for (std::size_t at = piece.begin; at < piece.end; ++at)
            endpoints_[endpoint].memory[at] = work.data[offset++] ^ mask;
        model_.wrote(endpoint, piece);
    }
}

engine::SendRequest Run::request(std::size_t direction, const Work& work,
                                 std::vector<engine::Sge>& sges) {
    const DirectionLayout& layout = layout_.directions[direction];
    const Endpoint& home = endpoints_[layout.requester];
    const Endpoint& peer = endpoints_[layout.responder];
    for (const Range& piece : work.local) {
        sges.push_back({.address = home.base + piece.begin,
                        .length = static_cast<std::uint32_t>(piece.size()),
                        .lkey = home.region.lkey});
    }
    const std::size_t target =
        work.plan.shared ? kCounterAt : layout.target.begin + work.plan.target;
    const bool swaps = work.plan.opcode == WrOpcode::AtomicCmpAndSwp;
    return {.id = work.plan.id,
            .opcode = work.plan.opcode,
            .sges = sges,
            .remote_address = peer.base + target,
            .rkey = work.plan.wrong_key ? strange(peer.region.rkey) : peer.region.rkey,
            .imm = work.plan.imm,
            .compare_or_add = swaps ? work.compare : work.plan.add_or_swap,
            .swap = work.plan.add_or_swap,
            .flags = work.plan.flags};
}

void Run::poll(std::size_t endpoint) {
    Endpoint& home = endpoints_[endpoint];
    for (const engine::CqId queue : home.queues) {
        while (const auto completion = home.engine.poll_completion(queue)) {
            const auto seen = home.filter ? home.filter->completion(*completion) : completion;
            if (seen) take(endpoint, *seen);
            if (outcome_.failure) return;
        }
    }
}

void Run::take(std::size_t endpoint, const engine::Completion& completion) {
    const auto place = endpoints_.with(endpoint, completion.qp);
    if (!place) return fail(Wrong::Content, "a completion for an unknown QP");
    const bool send = completion.queue == engine::Queue::Send;
    const std::size_t requester = send ? place->side : 1 - place->side;
    if (send) faults_.progress(place->connection, requester);
    fail(model_.completed(2 * place->connection + requester, completion));
}

void Run::events(std::size_t endpoint) {
    while (const auto event = endpoints_[endpoint].engine.poll_event()) {
        if (event->type == engine::EventType::CommEst) continue; // STA-04
        fail(Wrong::Event,
             fmt::format("endpoint {} reports {}", endpoint, engine::name_of(event->type)));
    }
}

std::optional<wire::Instant> Run::next_due() const {
    std::optional<wire::Instant> next;
    const auto consider = [&](wire::Duration at) {
        if (wire::Instant{at} > now_) earlier(next, wire::Instant{at});
    };
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        const DirectionPlan& direction = plan(i);
        const std::size_t receive = model_.receives_posted(i);
        if (progress_[i].next < direction.works.size()) {
            consider(direction.works[progress_[i].next].at);
        }
        if (receive < progress_[i].receives) consider(direction.receives[receive]);
    }
    return next;
}

// --- the wire ------------------------------------------------------------------------------------

// Identifies the packet: which packet of which request. Empty if it belongs to none.
std::optional<Run::Seen> Run::look_at(wire::Bytes bytes) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame) return std::nullopt;
    const auto bth = wire::Bth::decode(frame->transport);
    const auto place = bth ? endpoints_.with(bth->dest_qp) : std::nullopt;
    if (!place) return std::nullopt;
    const bool response = wire::opcode_info(bth->opcode).response();
    PacketId packet_id{.connection = place->connection,
                       .requester = response ? place->side : 1 - place->side,
                       .response = response};
    const std::size_t direction = 2 * packet_id.connection + packet_id.requester;
    const Progress& progress = progress_[direction];
    const std::int64_t psn = wire::distance(plan(direction).first_psn, bth->psn);
    if (psn < 0 || psn >= progress.end) return std::nullopt;
    const auto behind = std::ranges::upper_bound(progress.begins, static_cast<std::uint32_t>(psn));
    const auto work = static_cast<std::size_t>(behind - progress.begins.begin()) - 1;
    packet_id.work = plan(direction).works[work].id;
    packet_id.packet = static_cast<std::uint32_t>(psn) - progress.begins[work];
    const std::uint64_t key =
        (direction * 2 + (response ? 1 : 0)) << 32U | static_cast<std::uint64_t>(psn);
    packet_id.pass = ++passes_[key];
    const wire::OpcodeInfo& info = wire::opcode_info(bth->opcode);
    const bool request = info.service == wire::Service::Rc && info.request();
    return Seen{packet_id, psn, bth->dest_qp.value, request};
}

void Run::emit(std::span<const fault::Emission> emissions) {
    for (const fault::Emission& emission : emissions)
        network_.send(Endpoints::sender_of(emission.frame), emission.frame, now_, emission.delay);
}

// Whether the packet belongs to a request that was sent before.
void Run::note_sent(const PacketId& packet_id) {
    if (observer_ == nullptr) return;
    const std::size_t direction = 2 * packet_id.connection + packet_id.requester;
    Progress& progress = progress_[direction];
    const WorkPlan& work = plan(direction).works[packet_id.work];
    const bool read = work.opcode == WrOpcode::RdmaRead;
    const std::uint32_t begin = progress.begins[packet_id.work] + packet_id.packet;
    const std::uint32_t end =
        read ? progress.begins[packet_id.work] + packets_of(work, connection(direction).mtu)
             : begin + 1;
    outcome_.sent.back().request = true;
    outcome_.sent.back().again = begin < progress.sent;
    progress.sent = std::max(progress.sent, end);
}

void Run::carry(std::size_t port, wire::Bytes frame) {
    ++outcome_.tally.frames;
    if (observer_ != nullptr) {
        (*observer_)(port, frame, now_);
        outcome_.sent.push_back({.endpoint = port});
    }
    const auto seen = look_at(frame);
    if (!seen) {
        network_.send(port, frame, now_);
        return;
    }
    if (seen->request) note_sent(seen->packet_id);
    const auto injected = faults_.fault_for(seen->packet_id, seen->psn, frame.size(), now_);
    std::vector<fault::Action> chosen;
    if (injected) chosen.push_back(injected->action);
    const std::string name = "q" + std::to_string(seen->packet_id.connection);
    const fault::Decision decision =
        injector_.handle({.from = seen->packet_id.from() == 0 ? fault::End::A : fault::End::B,
                          .qp = name,
                          .qpn = seen->qpn,
                          .psn = seen->psn,
                          .now = now_,
                          .frame = frame},
                         chosen);
    if (decision.chosen > 0) {
        outcome_.injected.push_back(*injected);
        ++outcome_.tally.faults[static_cast<std::size_t>(injected->kind)];
        if (observer_ != nullptr) outcome_.sent.back().fault = injected->kind;
    }
    if (decision.untouched) {
        network_.send(port, frame, now_);
    } else {
        emit(decision.emissions);
    }
}

void Run::deliver() {
    while (const auto arrival = network_.deliver(now_)) {
        if (observer_ != nullptr) (*observer_)(arrival->port, arrival->frame, now_);
        endpoints_[arrival->port].nic.receive(arrival->frame, now_);
        fail(model_.look(arrival->port));
        if (outcome_.failure) return;
    }
    emit(injector_.release(now_));
}

void Run::pump() {
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        Nic& nic = endpoints_[i].nic;
        nic.advance(now_);
        while (const auto frame = nic.poll_frame(now_))
            carry(i, *frame);
        events(i);
    }
}

std::optional<wire::Instant> Run::next() const {
    std::optional<wire::Instant> next = network_.next_event();
    earlier(next, injector_.next_release());
    earlier(next, next_due());
    for (std::size_t i = 0; i < endpoints_.size(); ++i)
        earlier(next, endpoints_[i].nic.next_deadline());
    return next;
}

void Run::conclude() {
    fail(model_.finished());
    for (std::size_t i = 0; i < scenario_.connections.size(); ++i) {
        for (std::size_t side = 0; side < 2; ++side) {
            Endpoint& home = endpoints_[scenario_.connections[i].endpoints[side]];
            const auto report = home.engine.query_qp(endpoints_.side(i, side).qp);
            if (report && report->state == engine::QpState::Rts) continue;
            fail(Wrong::Status, fmt::format("q{} is no longer in RTS", i));
        }
    }
}

void Run::report_refusals() {
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        std::deque<std::string> newest;
        while (const auto refusal = endpoints_[i].engine.poll_refusal()) {
            newest.push_back(fmt::format("endpoint {} at {} us: {}", i,
                                         refusal->at.time_since_epoch() / 1us,
                                         engine::text_of(*refusal)));
            if (newest.size() > kMaxRefusals) newest.pop_front();
        }
        outcome_.refusals.insert(outcome_.refusals.end(), newest.begin(), newest.end());
    }
}

Outcome Run::play() {
    for (std::uint64_t step = 1; !outcome_.failure; ++step) {
        outcome_.tally.steps = step;
        outcome_.tally.time = now_.time_since_epoch();
        deliver();
        std::optional<wire::Instant> next = this->next();
        const bool quiet = !next; // before the poll: what comes after it is not polled yet
        if (step % scenario_.poll_every == 0 || quiet) {
            for (std::size_t i = 0; i < endpoints_.size() && !outcome_.failure; ++i)
                poll(i);
        }
        if (outcome_.failure) break;
        act();
        pump();
        next = this->next();
        if (!next && !quiet) continue; // poll once more before stopping
        if (!next) {
            conclude();
            break;
        }
        now_ = std::max(now_, *next);
        if (step == kMaxSteps || now_ > wire::Instant{kLongestRun}) {
            fail(Wrong::Endless,
                 fmt::format("still active after {} steps and {} ms", step,
                             now_.time_since_epoch() / std::chrono::milliseconds(1)));
            break;
        }
    }
    outcome_.tally.completions = model_.completions();
    if (outcome_.failure) report_refusals();
    return std::move(outcome_);
}

} // namespace

Outcome play(const Scenario& scenario, const Defect& defect) {
    return Run(scenario, defect, NetworkFaults(scenario)).play();
}

Outcome play(const Scenario& scenario, const Defect& defect, std::span<const Injected> exactly) {
    return Run(scenario, defect, NetworkFaults(scenario, exactly)).play();
}

Outcome play(const Scenario& scenario, const Defect& defect, const FrameObserver& observer) {
    return Run(scenario, defect, NetworkFaults(scenario), &observer).play();
}

Outcome run_swarm(std::uint64_t seed, const Defect& defect, const FrameObserver& observer) {
    const Scenario scenario = scenario_of(seed);
    return Run(scenario, defect, NetworkFaults(scenario), observer ? &observer : nullptr).play();
}

} // namespace veriroce::sim
