// The table of checks as an engine asks it, packet after packet.
//
// A list that is the standard one is asked as one function, into which the compiler has joined its
// functions in their order. A list in which an entry was replaced is called one by one. What is
// decided is the same, and so is who decides: the functions of the table.
#pragma once

#include "transport/engine/checks.hpp"

namespace veriroce::engine {

class JoinedChecks {
  public:
    explicit JoinedChecks(const Checks& checks);

    // The first check that refuses the packet; nothing if it passes.
    [[nodiscard]] std::optional<PacketCheck> refused_by(const PacketView& view) const;
    [[nodiscard]] std::optional<DatagramCheck> refused_by(const DatagramView& view) const;
    // The first verdict that is not Accept, or Accept.
    [[nodiscard]] RequestRuling judge(const RequestView& view) const;
    // Whether a duplicate that has a response of its own is answered.
    [[nodiscard]] bool answers_duplicate(const RequestView& view) const;
    // The first verdict that is not Take, or Take.
    [[nodiscard]] ResponseRuling judge(const ResponseView& view) const;
    [[nodiscard]] bool allows(SendCheck check, const SendView& view) const {
        return checks_.send[static_cast<std::size_t>(check)](view);
    }

  private:
    Checks checks_;
    // Which lists are the standard ones.
    bool packet_joined_ = false;
    bool request_joined_ = false;
    bool response_joined_ = false;
};

} // namespace veriroce::engine
