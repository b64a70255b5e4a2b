// Runs the check lists of an engine on each packet.
//
// The compiler joins the standard list into one inlined function; a list with a replaced entry is
// called entry by entry. Both call the same functions in the same order.
#pragma once

#include <optional>

#include "transport/engine/refusal.hpp"

namespace veriroce::engine {

struct RequestRuling {
    RequestVerdict verdict = RequestVerdict::Accept;
    std::optional<RequestCheck> by; // nothing if all accept
};
struct ResponseRuling {
    ResponseVerdict verdict = ResponseVerdict::Take;
    std::optional<ResponseCheck> by; // nothing if all take it
};

class CheckRunner {
  public:
    explicit CheckRunner(const Checks& checks);

    // The first check that refuses the packet; nothing if it passes.
    [[nodiscard]] std::optional<PacketCheck> refused_by(const PacketView& view) const;
    [[nodiscard]] std::optional<DatagramCheck> refused_by(const DatagramView& view) const;
    // The first verdict that is not Accept, or Accept.
    [[nodiscard]] RequestRuling judge(const RequestView& view) const;
    // The check that keeps a duplicate with a response of its own from being answered; nothing if
    // it is answered.
    [[nodiscard]] std::optional<RefusedBy> duplicate_refused_by(const RequestView& view) const;
    // The first verdict that is not Take, or Take.
    [[nodiscard]] ResponseRuling judge(const ResponseView& view) const;
    [[nodiscard]] bool allows(SendCheck check, const SendView& view) const {
        return checks_.function(check)(view);
    }

  private:
    template <CheckEnum Check>
    [[nodiscard]] const auto& functions() const {
        return checks_.of<Check>().functions;
    }

    Checks checks_;
    // Whether the list is the standard one.
    bool packet_standard_ = false;
    bool request_standard_ = false;
    bool response_standard_ = false;
};

} // namespace veriroce::engine
