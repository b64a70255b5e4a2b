// Turns the packets of captures into what happened on each connection.
//
//   Analyzer analyzer;
//   for (...) analyzer.observe(dissections);   // in the order of time
//   analyzer.finish();
//   for (const Conversation* conversation : analyzer.conversations()) ...
//
// What a packet means comes from flow::Tracker. A claim about the network rests on what a device
// said or did (a NAK, a READ that was asked for again), never on a packet that the capture lacks.
//
// Memory is bounded: the tracker's Limits, and Options::conversations of fixed size with at most
// DirectionWatch::kMostEpisodes episodes each. Deterministic. Errors: none.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dissector/analyze/facts.hpp"
#include "dissector/decode/dissection.hpp"
#include "dissector/flow/divided_packets.hpp"
#include "dissector/flow/frame_packet.hpp"

namespace veriroce::analyze {

struct Options {
    flow::Limits flow;
    std::size_t conversations = 131'072; // kept; packets of more are only counted
    bool messages = false;               // whether messages() is filled
    std::size_t traces = 0; // of this many conversations, the first ones, graphs are kept
};

// The most that an analyzer has ever needed of what is limited (flow::Need).
struct Need {
    flow::Need flow;
    std::size_t conversations = 0;
    std::size_t open_set_ups = 0;
    std::size_t set_ups = 0;

    void add(const Need& other);
    [[nodiscard]] bool within(const Options& options) const;
};

// A frame that holds no packet: flow::read_packet() returns false.
void count_frame(const decode::Dissection& frame, Totals& totals);

class Analyzer {
  public:
    explicit Analyzer(Options options = {});
    ~Analyzer();
    Analyzer(Analyzer&&) noexcept;
    Analyzer& operator=(Analyzer&&) noexcept;

    // With many connections less time is spent waiting for memory if several frames come together.
    void observe(std::span<const decode::Dissection> frames);
    static constexpr std::size_t kTogether = 16; // this many are taken at a time
    // The same, with what flow::read_packets() gave for them.
    void observe(std::span<const decode::Dissection> frames,
                 std::span<const flow::FramePacket> packets);
    // Frames that all hold packets.
    void observe(std::span<const flow::FramePacket> packets);
    void observe(const flow::Packet& packet);
    // Of a batch that several analyzers divide, the share of this one.
    void observe(std::span<const decode::Dissection> frames, const flow::DividedPackets& packets,
                 std::size_t share);
    // After the last packet. Observing afterwards is an error.
    void finish();

    // The messages that the last call of observe() completed.
    [[nodiscard]] std::span<const FinishedMessage> messages() const;
    // The packets with which it gave conversations their ids, in their order.
    [[nodiscard]] std::span<const std::uint64_t> named() const;
    [[nodiscard]] const Totals& totals() const;
    // Whether a limit of memory took something away. If not, what is said of a conversation does
    // not depend on packets between other addresses.
    [[nodiscard]] bool limited() const;
    [[nodiscard]] Need need() const;
    // After finish(); in the order of their first packets.
    [[nodiscard]] std::vector<const Conversation*> conversations() const;
    [[nodiscard]] std::vector<Conversation*> conversations();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace veriroce::analyze
