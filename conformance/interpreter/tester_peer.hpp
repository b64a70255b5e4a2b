// The tester's end of the QPs: the built-in engine. It stays silent until a QP's `tester answers`
// line; before that the script alone speaks. It knows no clock and no link: `Wire` fetches its
// frames.
#pragma once

#include <optional>
#include <vector>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/met.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::interpreter {

struct CaseQp;
struct Memory;
struct Objects;

class TesterPeer {
  public:
    explicit TesterPeer(const Environment& environment);

    [[nodiscard]] engine::Engine& engine() { return engine_; }

    // A QP as `tester qp` writes it; `setup` is null without such a line.
    Met<engine::QpId> create_qp(engine::QpType type, const script::QpSetup* setup, Span span);
    [[nodiscard]] wire::Qpn qpn_of(engine::QpId qp) const { return engine_.query_qp(qp)->qpn; }
    // From RESET to RTS, with the PSNs of the QP's book.
    Met<> raise(const CaseQp& qp, wire::Instant now);
    Met<> reset(const CaseQp& qp, wire::Instant now, Span span);
    [[nodiscard]] std::optional<engine::QpState> state_of(const CaseQp& qp) const;
    // New completions go to their QPs, as the device's agent would report them.
    void collect_completions(Objects& objects);

    // The virtual addresses of the tester's regions begin here.
    [[nodiscard]] static std::uint64_t address_of_region(std::size_t index);
    // Registers the region with the engine, and sets the region's keys.
    Met<> register_region(Memory& memory, Span span);

    [[nodiscard]] std::optional<wire::Instant> next_timeout() const {
        return engine_.next_timeout();
    }
    // True if a timer was due: there may be frames to fetch.
    bool advance(wire::Instant now);

  private:
    std::optional<engine::CqId> queue_with_room(std::uint32_t entries);

    const Environment& environment_;
    engine::Engine engine_;
    engine::PdId pd_;
    std::vector<engine::CqId> cqs_;
    std::uint32_t depth_ = kQueueDepth; // of the last of them; before the first, half of its
    std::uint32_t room_ = 0;            // entries of the last that no QP has
};

} // namespace veriroce::interpreter
