// The reference model of a run: what memory and completions must be, derived only from the meaning
// of the verbs. The model knows what was posted and what was reported complete, and it inspects
// memory. It sees no packets and no clock, and uses nothing of the engine except the verbs' value
// types (verbs.hpp).
//
//   const Work& work = model.post(direction, plan, signaled);   a request is posted
//   model.completed(direction, completion)                      a completion is reported
//   model.look(endpoint)                                        inspects memory at any time
//
// The model checks:
//   - each byte of memory is unchanged, unless a posted request covers it and may have executed
//     that far; the requests of a QP execute in order, each once (ATM-04, RSP-10)
//   - a completed request has taken effect, and so have all requests before it (N-20, N-21)
//   - completions come in order, one per signaled request and one per receive
//   - a READ returns the memory at the time of its execution; the effect of a fenced request comes
//     later than that (REQ-28)
//   - an atomic returns the value that earlier requests left; for the counter shared by several
//     QPs, the results form one gapless sequence
//
// The caller owns the memory; the model only reads it. The caller reports what the application
// writes there itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "transport/sim/layout.hpp"

namespace veriroce::sim {

enum class Wrong : std::uint8_t {
    Memory,     // bytes that no request explains
    NoEffect,   // completed, but the bytes are missing
    Order,      // not the next expected completion
    Content,    // the fields of a completion are wrong
    Status,     // a completion in error
    Event,      // an unexpected asynchronous event
    Refused,    // a verb failed
    Unfinished, // no more activity, but not everything has completed
    Endless,    // activity never ends
};
std::string_view name_of(Wrong wrong);

struct Failure {
    Wrong wrong = Wrong::Memory;
    std::string text; // one sentence
};
using MaybeFailure = std::optional<Failure>; // empty: no failure

// A posted request.
struct Work {
    WorkPlan plan;
    bool signaled = true;
    Pieces local;
    // SEND, WRITE: the data sent. READ: the target's contents when the READ was posted. Atomic: the
    // result.
    std::vector<std::byte> data;
    std::uint64_t compare = 0;
    Range written;                 // within the target area, as a range of the peer's memory
    std::vector<std::byte> writes; // what the request writes to that range
    std::size_t receive = 0;       // index of the receive that it consumes, if any
};

class Model {
  public:
    // `memories`: the complete, initialised memory of each endpoint.
    Model(const Scenario& scenario, const Layout& layout, std::vector<wire::Bytes> memories);

    // The application writes the message into the local pieces and then posts. The Work is valid
    // until the next call.
    const Work& post(std::size_t direction, const WorkPlan& plan, bool signaled);
    void post_receive(std::size_t direction);
    // The application itself has written here: the current contents are correct.
    void wrote(std::size_t endpoint, Range range);

    // A completion from this direction's send queue or receive queue.
    MaybeFailure completed(std::size_t direction, const engine::Completion& completion);
    // Checks an endpoint's memory; cheap if nothing has changed.
    MaybeFailure look(std::size_t endpoint);
    // Final check, when there is no more activity.
    MaybeFailure finished();

    [[nodiscard]] const Work& work(std::size_t direction, std::size_t number) const {
        return directions_[direction].works[number];
    }
    [[nodiscard]] std::size_t done(std::size_t direction) const; // in order, signaled or not
    [[nodiscard]] std::size_t receives_posted(std::size_t direction) const;
    [[nodiscard]] std::size_t receives_done(std::size_t direction) const;
    [[nodiscard]] std::uint64_t completions() const { return completions_; }

  private:
    struct Direction {
        std::vector<Work> works;
        std::vector<std::size_t> takers; // requests that consume a receive
        std::array<Pieces, kReceiveSlots> receives;
        std::vector<std::byte> planned; // the target area after all posted requests
        std::size_t executed = 0;       // requests whose full effect is in the image
        std::size_t done = 0;
        std::size_t receives_posted = 0;
        std::size_t receives_done = 0;
    };
    struct SharedAdd {
        std::uint64_t original = 0;
        std::uint64_t add = 0;
    };

    [[nodiscard]] std::size_t requester(std::size_t direction) const;
    [[nodiscard]] std::size_t responder(std::size_t direction) const;
    void plan_effect(std::size_t direction, Work& work);
    void execute_through(std::size_t direction, std::size_t work);
    void settle_receive(std::size_t direction, std::size_t taker);
    MaybeFailure finish(std::size_t direction, const Work& work);
    MaybeFailure finish_shared(std::size_t direction, const Work& work);
    MaybeFailure completed_send(std::size_t direction, const engine::Completion& completion);
    MaybeFailure completed_receive(std::size_t direction, const engine::Completion& completion);

    // Whether the contents of the range are explained; updates the image if so.
    bool explain(std::size_t endpoint, std::size_t at);
    bool explain_target(std::size_t direction);
    bool explain_local(std::size_t direction, std::size_t at);
    bool explain_receive(std::size_t direction, std::size_t at);
    bool explain_counter(std::size_t endpoint);
    [[nodiscard]] bool may_land(std::size_t direction, std::size_t work, std::size_t offset,
                                std::byte value) const;
    bool follows(std::size_t direction, const Work* next);
    Failure unexplained(std::size_t endpoint, std::size_t at) const;
    [[nodiscard]] std::string name(std::size_t direction, const Work& work) const;

    const Scenario& scenario_;
    const Layout& layout_;
    std::vector<wire::Bytes> memories_;
    std::vector<std::vector<std::byte>> images_; // the last explained contents
    std::vector<Direction> directions_;
    std::vector<std::vector<SharedAdd>> shared_; // by endpoint
    std::vector<std::uint64_t> shared_begin_;    // by endpoint
    std::vector<std::uint64_t> shared_most_;     // once everything posted has executed
    std::uint64_t completions_ = 0;
};

} // namespace veriroce::sim
