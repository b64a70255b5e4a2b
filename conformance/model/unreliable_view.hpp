// What the tester's packets to one UC or UD QP may do to the device's memory, and which receives
// they complete. No answer tells what the device took, so only where it is known what reached the
// device, and when, is anything demanded: a message that the device must deliver completes the next
// receive, with its fields and bytes; one that it must drop changes nothing; of a broken one the
// packets before the break may have been written.
//
// On a real link a packet may be lost, copied or overtaken. There a UD receive holds one of the
// datagrams that were sent, and what UC writes stays inside the ranges that its packets name.
//
// Source: rules EXT-05, EXT-06, KEY-14, N-15, N-21.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/model/completions.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/registered.hpp"
#include "conformance/model/responder_view.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

class UnreliableView {
  public:
    UnreliableView(const Story& story, Posted& posted, Registered& memory, Counters& counters,
                   std::vector<Untouchable>& untouchable, std::uint64_t origin)
        : story_(story), posted_(posted), memory_(memory), counters_(counters),
          untouchable_(untouchable), origin_(origin) {}

    // A packet of the tester that reaches the QP. `clear`: nothing outside the transport headers
    // gives the device a choice.
    void request(Qp& qp, const Packet& packet, bool clear);
    // A receive completed with success. The message that it took: the one with its fields, else one
    // that it must have taken; nothing if the model cannot know.
    std::optional<Message> received(Qp& qp, ReceiveWork& work, const dut::Completion& completion);
    // Whether no message at all can have completed the next receive.
    [[nodiscard]] bool nothing_came() const { return !wild_ && arrived_.empty(); }
    // A message that must be in a receive that has not completed.
    struct Due {
        Message message;
        wire::Instant since;
    };
    [[nodiscard]] std::optional<Due> unreported(const Qp& qp) const;
    void ended() {
        if (!ended_at_) ended_at_ = counters_.now;
    }
    [[nodiscard]] std::optional<wire::Instant> ended_at() const { return ended_at_; }
    // Before memory is compared: receives that may hold anything.
    void open_undecided(Qp& qp);

  private:
    // A stretch of a receive, and what is there.
    struct Stretch {
        std::uint64_t offset = 0;
        wire::Bytes bytes;
    };
    // A whole message that the device may, or must, deliver.
    struct Arrived {
        Message message;
        std::vector<Stretch> stretches; // in the receive; what they leave out is open
        bool sure = false;
        bool in_doubt = false;     // the QP may have failed before
        std::uint64_t written = 0; // how many WRITEs of the QP were done then
        wire::Instant at;
    };
    struct Effect {
        Region* region = nullptr;
        ByteRange range;
        Write write;
    };
    // The UC message that the next packet continues.
    struct Partial {
        bool open = false;
        bool sure = true;
        wire::Operation operation = wire::Operation::Send;
        wire::Reth reth;
        std::uint64_t bytes = 0;
        std::vector<Stretch> stretches;
        std::vector<Effect> effects; // of a WRITE
    };
    enum class Room : std::uint8_t { Enough, Unknown, TooShort, Missing };

    // UD
    void datagram(Qp& qp, const Packet& packet, bool clear);
    // UC
    void connected(Qp& qp, const Packet& packet, bool clear);
    void continue_message(Qp& qp, const Packet& packet);
    void write_packet(Qp& qp, const Packet& packet, wire::Bytes payload);
    void send_packet(Qp& qp, const Packet& packet, wire::Bytes payload);
    void end_message(Qp& qp, const Packet& packet);
    // The packet must change nothing.
    void drop(Qp& qp, const Packet& packet, std::string why);
    // Nothing more can be said of the QP, but where it may write.
    void loosen(Qp& qp);
    void open_named(Qp& qp, const wire::Reth& reth);

    // The receives that the next message may take, by their numbers: from the first one on, and
    // before the second one.
    [[nodiscard]] std::pair<std::size_t, std::size_t> next_receives() const;
    // Whether the next message has a receive of at least this many bytes.
    [[nodiscard]] Room room(Qp& qp, std::uint64_t bytes);
    // `length` bytes from `offset` of each receive that the next message may take are open.
    void open_receives(Qp& qp, const Packet& packet, std::uint64_t offset, std::uint64_t length);
    void open(Region& region, ByteRange range);
    void deliver(Arrived arrived);
    // What a receive holds now.
    void put(const ReceiveWork& work, const Arrived& arrived);
    // The place in `arrived_` of the message that the completion tells; nothing came if it is the
    // end. `alone`: no other message has its fields.
    [[nodiscard]] std::size_t match(const dut::Completion& completion, bool& alone) const;
    // A completion shows its owner the first WRITEs of the QP.
    void show(std::uint64_t writes);

    const Story& story_;
    Posted& posted_;
    Registered& memory_;
    Counters& counters_;
    std::vector<Untouchable>& untouchable_;
    std::uint64_t origin_ = 0;
    bool wild_ = false;        // see loosen()
    bool in_doubt_ = false;    // a packet may have ended the QP
    std::int64_t next_ = 0;    // UC: the PSN after all that came
    Partial partial_;          // UC
    std::size_t received_ = 0; // receives that completed with success
    // Messages that no receive has completed for. On a real link all that came.
    std::deque<Arrived> arrived_;
    // WRITEs that are done and that no completion has made visible, and how many are.
    std::deque<std::vector<Effect>> written_;
    std::uint64_t shown_ = 0;
    std::optional<wire::Instant> ended_at_;
};

} // namespace veriroce::model
