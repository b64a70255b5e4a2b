// Lawful oddities that the device's host sees: completions, verbs, limits.
#include "conformance/mutants/groups.hpp"
#include "conformance/mutants/host_late.hpp"
#include "conformance/mutants/packets.hpp"

#include <chrono>

namespace veriroce::mutants::of_lawful_host {
namespace {

using engine::Completion;
using engine::WcStatus;

// The verbs define nothing but id, QP and status of a completion in error.
void with_garbage(Completion& completion) {
    if (completion.status == WcStatus::Success) return;
    completion.opcode = engine::WcOpcode::FetchAdd;
    completion.byte_len = 0xDEADBEEF;
    completion.imm = 0xBAD0BAD0;
}

// "Local operation error" for what others call a protection error, and the other way round for what
// a peer did.
void with_other_codes(Completion& completion) {
    const bool receive = completion.queue == engine::Queue::Receive;
    if (completion.status == WcStatus::LocProtErr) {
        completion.status = receive ? WcStatus::LocAccessErr : WcStatus::LocQpOpErr;
    } else if (completion.status == WcStatus::LocQpOpErr && receive) {
        completion.status = WcStatus::RemInvReqErr;
    }
}

template <void (*Edit)(Completion&)>
class EditsCompletions final : public engine::SurfaceFilter {
  public:
    std::optional<Completion> completion(const Completion& completion) override {
        Completion edited = completion;
        Edit(edited);
        return edited;
    }
};

constexpr std::array kOddities{
    Mutant{.name = "failed_completions_full_of_garbage",
           .rule = "STA-07",
           .description = "Opcode, length and immediate of a completion in error say nothing.",
           .make_filter = make<EditsCompletions<with_garbage>>},
    Mutant{.name = "other_error_codes",
           .rule = "KEY-12",
           .description = "Local faults complete with other error codes that the rules allow.",
           .make_filter = make<EditsCompletions<with_other_codes>>},
    Mutant{.name = "one_read_at_a_time",
           .rule = "REQ-27",
           .description = "The device has room for one READ or atomic in each direction.",
           .lacks = "rd_atomic>=2,dest_rd_atomic>=2"},
    Mutant{.name = "reliable_connections_alone",
           .rule = "STA-09",
           .description = "The device has QPs of type RC, one piece of memory in a request, and "
                          "no shared queues, windows or inline data.",
           .lacks = "uc,ud,sqd,srq,mw,mw1,mw2,send_inv,flush,atomic_write,inline>=1,sge>=2"},
    Mutant{.name = "core_without_comfort",
           .rule = "OPC-09",
           .description = "The device has RC, SEND, WRITE and READ alone, and reports no state.",
           .lacks = "uc,ud,atomics,imm,send_inv,sqd,flush,notify,srq,atomic_write,mw,mw1,mw2,"
                    "mtu256,query_qp,sge>=2,inline>=1,mtu>=4096"},
    Mutant{.name = "completions_thirty_ms_late",
           .rule = "ACK-05",
           .description = "The host sees each completion 30 ms later than it could.",
           .make_filter = make<HostLate<30'000, 0, 0>>},
    Mutant{.name = "memory_thirty_ms_late",
           .rule = "ACK-05",
           .description = "The host sees what packets wrote 30 ms later, or with the next "
                          "completion that it polls.",
           .make_filter = make<HostLate<0, 30'000, 0>>},
    Mutant{.name = "host_one_ms_late",
           .rule = "ACK-05",
           .description = "The host sees completions, and what packets wrote, 1 ms later.",
           .make_filter = make<HostLate<1'000, 1'000, 0>>},
    Mutant{.name = "events_thirty_ms_late",
           .rule = "N-25",
           .description = "The host sees asynchronous events 30 ms later than it could.",
           .make_filter = make<HostLate<0, 0, 30'000>>},
    Mutant{.name = "posting_in_error_refused",
           .rule = "STA-07",
           .description = "Posting to a QP in ERR is refused.",
           .make_filter = make<HostLate<0, 0, 0, true>>},
};

} // namespace
} // namespace veriroce::mutants::of_lawful_host

namespace veriroce::mutants {

std::span<const Mutant> lawful_host() {
    return of_lawful_host::kOddities;
}

} // namespace veriroce::mutants
