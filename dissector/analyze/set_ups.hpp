// Internal to this room: the CM exchanges of a capture, by the QPs that they connect.
//
// Memory is bounded: kMostOpen unanswered requests, kMostKept answered ones.
// Source: rules CM-02, CM-03.
#pragma once

#include "dissector/analyze/facts.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/flow/table.hpp"

namespace veriroce::analyze {

class SetUps {
  public:
    static constexpr std::size_t kMostOpen = 256;
    static constexpr std::size_t kMostKept = 65'536;
    static constexpr std::size_t kMostRefusals = 64;

    void note(const flow::Packet& packet);
    // Of the connection on which `path` is one direction, the latest one.
    [[nodiscard]] const Setup* find(const flow::Path& path) const;
    [[nodiscard]] const std::vector<Refusal>& refusals() const { return refusals_; }
    // Whether an exchange was not kept for want of room. Refusals are not counted: the first ones
    // are always kept.
    [[nodiscard]] bool limited() const { return limited_; }

  private:
    struct Open {
        wire::IpAddress client;
        wire::IpAddress server;
        flow::CmMessage request;
        std::uint64_t number = 0;
        flow::Moment time;
        bool answered = true;
    };

    void request(const flow::Packet& packet, const flow::CmMessage& message);
    void reply(const flow::Packet& packet, const flow::CmMessage& message);
    void reject(const flow::Packet& packet, const flow::CmMessage& message);
    Open* asked(const flow::Packet& answer, std::uint32_t local_id);

    std::vector<Open> open_;
    std::size_t next_ = 0;
    std::vector<Setup> kept_;
    flow::Table<flow::Path> by_path_; // both directions
    std::vector<Refusal> refusals_;
    bool limited_ = false;
};

} // namespace veriroce::analyze
