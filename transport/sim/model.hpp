// The reference model of a run: what memory and completions must be, from the verbs' meaning alone.
// It knows what was posted and what was reported complete, and looks at the memory; it sees no
// packet, no clock and nothing of the engine but its values (verbs.hpp).
//
//   const Work& work = model.post(direction, plan, signaled);   what the application asks for
//   model.completed(direction, completion)                      what it was told
//   model.look(endpoint)                                        what memory says meanwhile
//
// What it holds an endpoint to:
//   - each byte of memory is what it was, unless a posted request names it and may have come so
//   far:
//     requests of a QP are carried out in order, each once (ATM-04, RSP-10)
//   - a completion says the truth: its effect is there, and that of all before it (N-20, N-21)
//   - completions come in order, one for each signaled request and each receive
//   - a READ brings what the memory held from when its turn came; what a fenced request changes
//     comes too late for it (REQ-28)
//   - an atomic's result is what the requests before it have left; the counter that several QPs add
//     to passes from one to the next without a gap
//
// Memory is the caller's and is only read; what the application itself writes it tells.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dissector/wire/bytes.hpp"
#include "transport/sim/layout.hpp"

namespace veriroce::sim {

enum class Wrong : std::uint8_t {
    Memory,     // bytes that no request explains
    NoEffect,   // completed, but the bytes are not there
    Order,      // a completion that is not the next
    Content,    // a completion's fields
    Status,     // a completion in error
    Event,      // an asynchronous event that nothing explains
    Refused,    // a verb
    Unfinished, // nothing happens any more, and not all is complete
    Endless,    // things happen for ever
};
std::string_view name_of(Wrong wrong);

struct Failure {
    Wrong wrong = Wrong::Memory;
    std::string text; // one sentence
};
using Verdict = std::optional<Failure>; // nothing: all is well

// A posted request.
struct Work {
    WorkPlan plan;
    bool signaled = true;
    Pieces local;
    // SEND, WRITE: what is sent. READ: what its target held when it was posted. Atomic: its result.
    std::vector<std::byte> data;
    std::uint64_t compare = 0;
    Range written;                 // of the target area, as ranges of the peer's memory
    std::vector<std::byte> writes; // what it makes of that range
    std::size_t receive = 0;       // which receive it takes, if it takes one
};

class Model {
  public:
    // `memories` are the endpoints' whole memories, filled.
    Model(const Scenario& scenario, const Layout& layout, std::vector<wire::Bytes> memories);

    // The application writes the message into the local pieces, then posts. The work is valid until
    // the next call.
    const Work& post(std::size_t direction, const WorkPlan& plan, bool signaled);
    void post_receive(std::size_t direction);
    // The application has written here by itself: what stands there now is right.
    void wrote(std::size_t endpoint, Range range);

    // A completion of the queue of requests, or of receives, of this direction.
    Verdict completed(std::size_t direction, const engine::Completion& completion);
    // The bytes of an endpoint; cheap while nothing has changed.
    Verdict look(std::size_t endpoint);
    // When nothing happens any more.
    Verdict finished();

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
        std::vector<std::size_t> takers; // works that take a receive
        std::array<Pieces, kReceiveSlots> receives;
        std::vector<std::byte> planned; // the target area when all that is posted was done
        std::size_t executed = 0;       // works whose whole effect stands in the image
        std::size_t done = 0;
        std::size_t receives_posted = 0;
        std::size_t receives_done = 0;
    };
    struct SharedAdd {
        std::uint64_t original = 0;
        std::uint64_t add = 0;
    };

    [[nodiscard]] std::size_t asking(std::size_t direction) const;
    [[nodiscard]] std::size_t answering(std::size_t direction) const;
    void plan_effect(std::size_t direction, Work& work);
    void execute_through(std::size_t direction, std::size_t work);
    void settle_receive(std::size_t direction, std::size_t taker);
    Verdict finish(std::size_t direction, const Work& work);
    Verdict finish_shared(std::size_t direction, const Work& work);
    Verdict completed_send(std::size_t direction, const engine::Completion& completion);
    Verdict completed_receive(std::size_t direction, const engine::Completion& completion);

    // Whether what stands in the range is explained; then the image follows it.
    bool explain(std::size_t endpoint, std::size_t at);
    bool explain_target(std::size_t direction);
    bool explain_local(std::size_t direction, std::size_t at);
    bool explain_receive(std::size_t direction, std::size_t at);
    bool explain_counter(std::size_t endpoint);
    [[nodiscard]] bool may_land(std::size_t direction, std::size_t work, std::size_t offset,
                                std::byte value) const;
    bool follows(std::size_t direction, const Work* next);
    Failure stranger(std::size_t endpoint, std::size_t at) const;
    [[nodiscard]] std::string name(std::size_t direction, const Work& work) const;

    const Scenario& scenario_;
    const Layout& layout_;
    std::vector<wire::Bytes> memories_;
    std::vector<std::vector<std::byte>> images_; // what is known to stand there
    std::vector<Direction> directions_;
    std::vector<std::vector<SharedAdd>> shared_; // by endpoint
    std::vector<std::uint64_t> shared_begin_;    // by endpoint
    std::vector<std::uint64_t> shared_most_;     // with all that was posted
    std::uint64_t completions_ = 0;
};

} // namespace veriroce::sim
