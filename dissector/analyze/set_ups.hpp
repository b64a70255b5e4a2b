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
    // The most requests without an answer that there ever were, and the exchanges kept.
    [[nodiscard]] std::size_t most_open() const { return most_open_; }
    [[nodiscard]] std::size_t kept() const { return kept_.size(); }

  private:
    struct Open {
        wire::IpAddress client;
        wire::IpAddress server;
        flow::CmMessage request;
        std::uint64_t number = 0;
        flow::Moment time;
    };

    void request(const flow::Packet& packet, const flow::CmMessage& message);
    void reply(const flow::Packet& packet, const flow::CmMessage& message);
    void reject(const flow::Packet& packet, const flow::CmMessage& message);
    std::optional<Open> asked(const flow::Packet& answer, std::uint32_t local_id);

    std::vector<Open> open_; // without an answer; the oldest first
    std::size_t most_open_ = 0;
    std::vector<Setup> kept_;
    flow::Table<flow::Path> by_path_; // both directions
    std::vector<Refusal> refusals_;
    bool limited_ = false;
};

} // namespace veriroce::analyze
