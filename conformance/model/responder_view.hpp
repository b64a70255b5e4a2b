// What the tester's requests to one RC QP may do to the device's memory, by their PSNs and by the
// device's answers.
//
// A request is in one of four places: behind every PSN that the device has answered for (a
// duplicate), among those that it may or may not have taken, at the end of them (the next one), or
// ahead of that (dropped). `low_` and `high_` are these bounds of the expected PSN.
//
// PSNs are counted from the first one that the device expects. Source: rules RSP-01, RSP-02,
// RSP-08, RSP-15, OPC-01 to OPC-10, LEN-01 to LEN-06, N-07.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "conformance/model/completions.hpp"
#include "conformance/model/deviation.hpp"
#include "conformance/model/due_answer.hpp"
#include "conformance/model/posted.hpp"
#include "conformance/model/registered.hpp"
#include "conformance/model/story.hpp"

namespace veriroce::model {

// A place in memory that a work request's pieces put bytes of a message to.
struct Place {
    Region* region = nullptr;
    ByteRange range;
    std::uint64_t from = 0; // of the bytes that are placed
};
// Where `length` bytes from `offset` of the message go.
std::vector<Place> places_of(const std::vector<dut::Sge>& pieces, std::uint64_t offset,
                             std::uint64_t length, Registered& memory);

// A range that a packet names and must not change: named in a finding if it did.
struct Untouchable {
    Region* region = nullptr;
    ByteRange range;
    std::string rule;
    std::string why;
    std::size_t packet = 0; // in CaseResult::packets
};

// Why a SEND that the device refused fails its receive.
struct ReceiveFault {
    enum class Kind : std::uint8_t { TooShort, LocalKey };
    Kind kind = Kind::TooShort;
    std::uint64_t receive = 0; // its number
    std::size_t packet = 0;    // in CaseResult::packets
};

// Numbers that are unique in a story.
struct Counters {
    std::uint64_t serial = 0; // of steps
    std::uint64_t write = 0;
    std::uint64_t snapshot = 0;
    wire::Instant now{};
    bool loose = false; // of some QP nothing can be said any more
};

class ResponderView {
  public:
    ResponderView(const Story& story, Posted& posted, Registered& memory, Counters& counters,
                  std::vector<Untouchable>& untouchable, std::uint64_t origin)
        : story_(story), posted_(posted), memory_(memory), counters_(counters),
          untouchable_(untouchable), origin_(origin) {}

    // A request of the tester that reaches the QP.
    void request(Qp& qp, const Packet& packet);
    // An answer of the device; what it tells must be among what memory may hold.
    void answer(Qp& qp, const Packet& packet, std::vector<Deviation>& found);
    // Whether no message came that can complete the next receive.
    [[nodiscard]] bool nothing_came() const;
    // A receive of the QP completed with success. The message that it took, if that is certain.
    std::optional<Message> received(Qp& qp, ReceiveWork& work);
    // A message that the device acknowledged, and no receive has completed for it.
    struct Unreported {
        Message message;
        wire::Instant acknowledged;
    };
    [[nodiscard]] std::optional<Unreported> unreported(const Qp& qp) const;
    // When the QP surely went to ERR.
    [[nodiscard]] std::optional<wire::Instant> ended_at() const { return ended_at_; }
    // The QP ended: requests that come from now on change nothing.
    void ended() {
        ended_ = true;
        if (!ended_at_) ended_at_ = counters_.now;
    }
    // At the end of the story: answers that a QP which is alive should have sent.
    void overdue(const Qp& qp, std::vector<Deviation>& found) const;
    void excuse() { owed_.clear(); }
    // The fault of the receive that the device refused a SEND for, if that is certain.
    [[nodiscard]] const std::optional<ReceiveFault>& receive_fault() const { return fault_; }
    // Every request that came leaves the device no choice but to accept it, or to let it wait, and
    // no message is unfinished.
    [[nodiscard]] bool harmless() const;
    // Nothing can be said of this QP any more.
    void loosen(Qp& qp);
    [[nodiscard]] bool loose() const { return loose_; }

    // Messages that began and may be in a receive that has not completed.
    [[nodiscard]] bool message_open() const;
    // Requests that were dropped for certain, or come too late.
    void dropped(Qp& qp, const Packet& packet, std::string rule, std::string why);

  private:
    using Context = OpenMessage;
    // What the device must still send.
    struct Owed {
        enum class Kind : std::uint8_t { Answer, FatalNak, RnrNak, SequenceNak };
        Kind kind = Kind::Answer;
        std::int64_t before = 0; // an answer for the PSN before this one is enough
        wire::Instant since;
        std::string_view rule;
        std::string_view why;
        std::size_t packet = 0; // in CaseResult::packets
    };
    struct Effect {
        Region* region = nullptr;
        ByteRange range;
        Write write;
    };
    struct Slot {
        std::int64_t first = 0;
        std::int64_t packets = 1;
        Context before;
        const Packet* packet = nullptr;
        DueAnswer due;
        bool one_due = true; // it was the same each time that the packet was sent
        bool legal = false;  // a right device accepts it, as far as can be seen
        bool alone = true;   // no other packet with this PSN may have been taken in its place
        bool done = false;
        std::uint64_t write = 0; // id
        std::uint64_t made = 0;
        std::vector<Effect> effects;
        std::optional<std::uint64_t> receive;  // the number of the receive that takes its bytes
        std::optional<std::uint64_t> original; // of an atomic that was answered
        std::vector<std::uint64_t> snapshots;
    };
    // A READ request, and what may be in its answer.
    struct Read {
        std::int64_t first = 0;
        std::uint64_t length = 0;
        Region* region = nullptr; // null: cannot be compared
        std::uint64_t snapshot = 0;
        std::size_t packet = 0;
    };

    [[nodiscard]] Slot* slot_of(std::int64_t psn);
    [[nodiscard]] bool same(const Packet& a, const Packet& b) const;

    void take(Qp& qp, const Packet& packet, std::int64_t psn);
    // Receive `number` of the QP, now.
    [[nodiscard]] Receives receive_for(Qp& qp, std::uint64_t number);
    void examine(Qp& qp, Slot& slot);
    // What the device owes for a request that reaches it.
    void owe(const Qp& qp, const Packet& packet, std::int64_t psn);
    void owe_for(const Slot& slot, const Packet& packet);
    void owe_nak(const Packet& packet);
    // The device refuses the request with a fatal NAK.
    void check_refusal(const Packet& packet, std::int64_t psn, std::vector<Deviation>& found);
    // Everything before this PSN was accepted, as the packet says.
    void check_accepted(const Packet& packet, std::int64_t before, std::vector<Deviation>& found);
    void next(Qp& qp, const Packet& packet, std::int64_t psn, bool alone);
    void apply(Qp& qp, Slot& slot, Context& after);
    void apply_write(Qp& qp, Slot& slot, Context& after);
    void apply_send(Qp& qp, Slot& slot, Context& after);
    void apply_atomic(Qp& qp, Slot& slot);
    void apply_read(Qp& qp, Slot& slot);
    void put(Slot& slot, Region& region, std::uint64_t offset, wire::Bytes data);
    // Every request before this PSN was accepted.
    void cover(Qp& qp, std::int64_t before);
    void settle(Slot& slot);
    // A completion shows its owner all that was written before this PSN.
    void show(std::int64_t before);
    // The message that ends with this slot.
    [[nodiscard]] Message message_of(const Slot& last) const;
    void refuse(Qp& qp, std::int64_t psn);
    void note_fault(const Qp& qp, const Slot& refused, wire::NakCode code);
    void retry(Qp& qp, const Packet& packet, std::int64_t psn);
    void check_read(const Qp& qp, const Packet& packet, std::int64_t psn,
                    std::vector<Deviation>& found);
    void take_original(const Packet& packet, std::int64_t psn, std::vector<Deviation>& found);

    const Story& story_;
    Posted& posted_;
    Registered& memory_;
    Counters& counters_;
    std::vector<Untouchable>& untouchable_;
    std::uint64_t origin_ = 0;
    std::int64_t low_ = 0;
    std::int64_t high_ = 0;
    std::int64_t taken_ = 0; // before it a packet may have taken each PSN that another one has now
    Context context_;
    std::deque<Slot> slots_;  // in the order of their PSNs
    std::size_t covered_ = 0; // how many of them the device answered for
    std::size_t told_ = 0;    // before which no slot belongs to an open receive
    std::size_t shown_ = 0;   // how many of them a completion has made visible
    std::deque<Read> reads_;
    std::uint64_t received_ = 0; // receives that completed with success
    wire::Instant covered_at_{}; // when `low_` last moved
    // Every request before this PSN has reached the device, which can only have accepted it.
    std::int64_t sure_ = 0;
    int at_sure_ = 0;                   // packets with that PSN which the device may have accepted
    bool nak_sent_ = false;             // a NAK asks for `sure_`
    std::optional<wire::Instant> wait_; // an RNR NAK asks to wait until then
    std::deque<Owed> owed_;
    std::optional<Owed> missed_nak_; // the packet that it asks for came long after it was due
    std::optional<ReceiveFault> fault_;
    bool refused_ = false; // a fatal NAK was sent
    bool checked_ = false; // the device accepted what it must refuse
    bool ended_ = false;
    std::optional<wire::Instant> ended_at_;
    bool loose_ = false;
};

} // namespace veriroce::model
