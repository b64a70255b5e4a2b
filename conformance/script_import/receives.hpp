// The receives that the device posts for what it is sent, and their completions. A batch is posted
// by one line in front of the requests that use it. Internal to this room.
// Source: rules RNR-01, RNR-06.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/script_import/draft.hpp"

namespace veriroce::script_import {

class Receives {
  public:
    explicit Receives(Draft& draft) : draft_(draft) {}

    // Room for a batch's line here.
    void begin();
    // Fills the line in, and writes the completions of what was received whole.
    void end();

    // A receive is there from the first packet of a SEND, or the last of a WRITE with immediate.
    [[nodiscard]] static bool takes_one(const wire::OpcodeInfo& info);
    [[nodiscard]] bool full() const { return count_ == kMost; }
    void use(const Event& event);

    // The receive that a SEND without an end has; nothing if none has.
    [[nodiscard]] std::optional<std::uint64_t> in_use() const;

  private:
    static constexpr std::uint64_t kMost = 64; // posted at a time

    struct Received {
        std::uint64_t bytes = 0;
        std::optional<std::uint32_t> imm;
        friend bool operator==(const Received&, const Received&) = default;
    };

    Draft& draft_;
    std::size_t room_ = 0; // of the draft
    std::uint64_t count_ = 0;
    std::uint64_t bytes_ = 0; // of the largest
    std::vector<Received> received_;
    std::uint64_t first_ = 1; // ids
    std::uint64_t last_ = 0;
    std::uint64_t first_done_ = 1;
    std::uint64_t message_bytes_ = 0;
    bool send_open_ = false;
};

} // namespace veriroce::script_import
