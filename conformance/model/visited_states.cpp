#include "conformance/model/visited_states.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "conformance/model/connection.hpp"
#include "dissector/wire/splitmix64.hpp"

namespace veriroce::model {
namespace {

// A number made of small ones, of which each has room for `bits`.
class Packed {
  public:
    template <typename T>
    Packed& add(T value, unsigned bits) {
        const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
        value_ = value_ << bits | (static_cast<std::uint64_t>(value) & mask);
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0;
};

unsigned at_most(std::int64_t count, unsigned most) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(count, 0, most));
}

// What an answer says; nothing, of a packet without a syndrome.
enum class Says : std::uint8_t { Nothing, Done, Wait, Again, Never };

Says says(const wire::Packet& packet) {
    if (!packet.headers.has(wire::Header::Aeth)) return Says::Nothing;
    const wire::Syndrome syndrome = packet.aeth.syndrome;
    switch (syndrome.kind()) {
    case wire::AckKind::Ack: return Says::Done;
    case wire::AckKind::RnrNak: return Says::Wait;
    case wire::AckKind::Reserved: return Says::Never;
    case wire::AckKind::Nak:
        return syndrome.nak_code() == wire::NakCode::PsnSequence ? Says::Again : Says::Never;
    }
    return Says::Nothing;
}

// Where a PSN lies among the requests of one side.
enum class Where : std::uint8_t { Next, Ahead, FarAhead, BeforeAll, Latest, Open, Answered };

// One direction of requests: those of the tester, or of the device.
struct Requests {
    std::int64_t end = 0;        // of all that were sent
    std::int64_t newest = 0;     // the first PSN of the latest
    std::int64_t answered = 0;   // all before it
    Says answer = Says::Nothing; // the latest
    bool open = false;           // a message is unfinished

    [[nodiscard]] Where where(std::int64_t psn) const {
        constexpr std::int64_t far = 500;
        if (psn == end) return Where::Next;
        if (psn > end) return psn < end + far ? Where::Ahead : Where::FarAhead;
        if (psn < 0) return Where::BeforeAll;
        if (psn >= newest) return Where::Latest;
        return psn >= answered ? Where::Open : Where::Answered;
    }
    [[nodiscard]] unsigned state() const {
        return static_cast<unsigned>(
            Packed().add(open, 1).add(answer, 3).add(at_most(end - answered, 2), 2).value());
    }
    void send(const wire::Packet& packet, std::int64_t psn, wire::Mtu mtu) {
        if (psn != end) return;
        const wire::OpcodeInfo& info = packet.info();
        const bool read = info.operation == wire::Operation::RdmaReadRequest;
        newest = psn;
        end = psn + (read ? wire::packets_of(packet.reth.dma_length, mtu) : 1);
        open = !info.ends_message();
    }
    void reply(const wire::Packet& packet, std::int64_t psn) {
        answer = says(packet);
        const bool refuses = answer > Says::Done;
        answered = std::max(answered, std::min(end, psn + (refuses ? 0 : 1)));
    }
};

struct Past {
    Requests to_dut;
    Requests from_dut;
    wire::QpState state = wire::QpState::Reset;
    std::int64_t receives = 0; // posted and not completed
};

class Tour {
  public:
    explicit Tour(const Story& story) : story_(story), connections_(story.setting) {}

    std::vector<std::uint32_t> run() {
        for (const Step& step : story_.steps) {
            switch (step.kind) {
            case Step::Kind::Packet: packet(story_.packets[step.index]); break;
            case Step::Kind::Asked: asked(story_.calls[step.index]); break;
            case Step::Kind::Answered: answered(story_.calls[step.index]); break;
            }
        }
        std::ranges::sort(visited_);
        const auto rest = std::ranges::unique(visited_);
        visited_.erase(rest.begin(), rest.end());
        return std::move(visited_);
    }

  private:
    void visit(std::uint64_t a, std::uint64_t b) {
        const std::uint64_t mixed = wire::splitmix64_mix(wire::splitmix64_mix(a + 1) ^ b);
        visited_.push_back(static_cast<std::uint32_t>(mixed >> 32));
    }

    // Something of the QP, beside what is open.
    void happen(const Past& past, std::uint64_t event) {
        const std::uint64_t state = Packed()
                                        .add(past.state, 3)
                                        .add(past.receives > 0, 1)
                                        .add(past.to_dut.state(), 6)
                                        .value();
        visit(event, state);
        visit(event, std::uint64_t{1} << 32 | past.from_dut.state());
    }

    void packet(const Packet& packet);
    void asked(const Call& call);
    void answered(const Call& call);

    const Story& story_;
    Connections connections_;
    std::map<dut::QpHandle, Past> pasts_;
    std::vector<std::uint32_t> visited_;
};

void Tour::packet(const Packet& packet) {
    if (!packet.packet) return;
    const wire::Packet& what = *packet.packet;
    const bool ours = packet.from == Side::Tester;
    const Connection* qp =
        ours ? connections_.of_dut(what.bth.dest_qp) : connections_.of_peer(what.bth.dest_qp);
    Packed event;
    const wire::OpcodeInfo& info = what.info();
    event.add(1, 2).add(ours, 1).add(info.operation, 4).add(info.position, 2);
    event.add(packet.sound(), 1);
    if (qp == nullptr) return visit(event.value(), 0);
    Past& past = pasts_[qp->handle];
    const bool asks = !info.response();
    Requests& requests = asks == ours ? past.to_dut : past.from_dut;
    const std::int64_t psn = asks == ours ? qp->peer_psn(what.bth.psn) : qp->own_psn(what.bth.psn);
    event.add(requests.where(psn), 3).add(says(what), 3);
    happen(past, event.value());
    if (!packet.sound()) return;
    if (asks) {
        requests.send(what, psn, qp->mtu());
    } else {
        requests.reply(what, psn);
    }
}

void Tour::asked(const Call& call) {
    connections_.take(call);
    Packed event;
    event.add(2, 2).add(call.request.index(), 6).add(call.answer && *call.answer, 1);
    if (const auto* modify = std::get_if<dut::QpModify>(&call.request)) {
        const dut::QpAttributes& to = modify->attributes;
        const auto state = to.state.value_or(wire::QpState::Reset);
        event.add(to.state.has_value(), 1).add(state, 3).add(to.access.has_value(), 1);
        event.add(to.min_rnr_timer || to.timeout, 1).add(to.address_vector.has_value(), 1);
        Past& past = pasts_[modify->qp];
        happen(past, event.value());
        if (state == wire::QpState::Reset && to.state) past = {.to_dut = {}, .from_dut = {}};
        past.state = to.state.value_or(past.state);
        return;
    }
    if (const auto* post = std::get_if<dut::PostSend>(&call.request)) {
        for (const dut::SendRequest& one : post->requests) {
            Packed request = event;
            request.add(one.opcode, 4).add(one.flags.fence, 1);
            happen(pasts_[post->qp], request.value());
        }
        return;
    }
    if (const auto* post = std::get_if<dut::PostRecv>(&call.request)) {
        Past& past = pasts_[post->qp];
        happen(past, event.value());
        past.receives += std::ssize(post->requests);
        return;
    }
    const bool looks = std::holds_alternative<dut::Poll>(call.request) ||
                       std::holds_alternative<dut::QpQuery>(call.request) ||
                       std::holds_alternative<dut::Events>(call.request);
    if (looks) return;
    visit(event.value(), 0);
}

void Tour::answered(const Call& call) {
    if (!call.answer || !*call.answer) return;
    const auto* polled = std::get_if<dut::Polled>(&**call.answer);
    if (polled == nullptr) return;
    for (const dut::Completion& one : polled->completions) {
        Past& past = pasts_[one.qp];
        Packed event;
        event.add(3, 2).add(one.queue, 1).add(one.status, 5);
        if (one.status == wire::WcStatus::Success) event.add(one.opcode, 4);
        happen(past, event.value());
        if (one.queue == wire::Queue::Receive) --past.receives;
    }
}

} // namespace

std::vector<std::uint32_t> visited_states(const Story& story) {
    return Tour(story).run();
}

} // namespace veriroce::model
