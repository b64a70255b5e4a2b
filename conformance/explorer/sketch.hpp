// A dialogue while it is made: the lines so far, the QPs with what both sides
// have said on them, and the memory that the lines name. The header and the
// regions are written last, when it is known how large they must be.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conformance/explorer/origin.hpp"
#include "conformance/explorer/reach.hpp"
#include "dissector/wire/instant.hpp"
#include "dissector/wire/syndrome.hpp"
#include "transport/sim/random.hpp"

namespace veriroce::explorer {

// What may happen in one dialogue. Each is on or off by itself: a defect that
// hides behind frequent events shows where these are off.
struct Features {
    bool sends = true;
    bool writes = true;
    bool reads = true;
    bool atomics = true;
    bool immediate = true;
    bool large = false;      // messages of 64 KiB
    bool interleaved = true; // packets of several QPs take turns
    bool duplicates = true;
    bool gaps = true;
    bool unready = true;  // no receive is posted
    bool dropped = true;  // packets that a receiver must drop
    bool illegal = true;  // packets that end a connection
    bool refusals = true; // the tester's NAKs
    bool losses = true;   // of answers; the device's timer expires
    bool ghosts = true;   // answers that answer nothing
    bool verbs = true;    // the application writes, modifies, ends
    bool wrap = false;    // first PSNs near the end of the range
    bool unsignaled = true;
    bool pieces = true;       // messages of two pieces of memory, and inline ones
    bool windows = false;     // memory windows
    bool marks = true;        // fields that the transport ignores, and congestion marks
    bool congestion = false;  // most packets of the tester are marked
    bool reconnects = true;   // a QP begins again, also one that has failed
    bool early = false;       // QPs that have not reached RTS
    bool notices = false;     // completion queues that are armed
    bool rights = true;       // the application takes rights away and gives them back
    bool exhaustion = false;  // the tester never answers, or has no receive for ever
    bool extensions = false;  // FLUSH and ATOMIC WRITE
    bool intruders = true;    // duplicates between the packets of a message
    bool bursts = false;      // many requests of the device before an answer
    bool timers = false;      // every code of an RNR timer
    bool aftermath = true;    // work that is posted to a QP in ERR; a message that a RESET cuts
    bool meanwhile = true;    // something else arrives while a side waits
    bool volume = false;      // hundreds of messages, a chain of receives
    bool probes = true;       // at the end each QP that lives is used once more, both ways
    bool few_retries = false; // other values of retry_cnt and rnr_retry
    bool together = false;    // QPs share a completion queue
    // What few dialogues have.
    bool checksums = false;    // packets whose IPv4 header has a wrong checksum
    bool alike = false;        // each connection of a QP begins as the one before
    bool other_mtu = false;    // each connection of a QP has its own path MTU
    bool replays = false;      // atomics far from each other are sent again
    bool all_signaled = false; // every request of a QP tells that it is done
    bool unreliable = false;   // several QPs, most of them UC or UD
    bool mixed_ends = false;   // retries of another kind before those that end the connection
    bool twins = false;        // QPs begin with the PSNs and the requests of the first one
    bool greetings = false;    // connection management beside the QPs
    bool addresses = false;    // the tester has a second address
    bool borders = false;      // regions lie across 4 GiB borders, or all at one address
    bool small_queues = false; // places of the queues come round
    bool moments = false;      // the tester acts while the device sends
    bool apart = false;        // receives complete into a queue of their own
};

// Who asks on a QP.
enum class Talk : std::uint8_t {
    TesterAsks, // the lines are the requester
    DutAsks,    // the lines are the responder
    Both,
    Peers,      // the tester's engine is the other end, and the network does damage
    Unreliable, // UC: without answers
    Datagrams,  // UD
};

struct Receive {
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
};

// The regions of the tester in which the device reads and writes. Each has a key of its own.
inline constexpr std::array<std::string_view, 2> kFarRegions{"r", "y"};

// In a region of one side.
struct Place {
    std::string region;
    std::uint64_t offset = 0;

    // As a packet names it.
    [[nodiscard]] std::string fields() const;
    // "r[8 +64]"
    [[nodiscard]] std::string piece(std::uint64_t bytes) const;
};

// A request of the tester that the device accepted, by the packets that carried
// it.
struct Sent {
    std::vector<std::string> packets; // lines
    std::int64_t first_psn = 0;
    std::int64_t last_psn = 0;
    bool atomic = false;
    bool read = false;
    // Of a READ: what else a requester may ask for again. Each is one packet.
    std::vector<std::string> variants = {};
};

// A work request of the device that the tester has not answered.
struct Asked {
    enum class Kind : std::uint8_t { Message, Read, Atomic, Extension };
    Kind kind = Kind::Message;
    std::string name; // of a whole message, or of its one packet
    std::uint64_t id = 0;
    std::uint64_t bytes = 0;
    Place from; // where a READ finds its data
    std::int64_t first_psn = 0;
    std::int64_t packets = 1; // PSNs that it takes
    bool takes_receive = false;
    bool signaled = true;
    bool seen = false;             // a line has waited for it
    std::int64_t acknowledged = 0; // of its packets: a right responder refuses none of them
};

struct Qp {
    std::string name; // empty: the case's own
    Talk talk = Talk::Both;
    std::uint32_t domain = 1;
    bool shared = false; // its receives are those of the shared queue
    bool early = false;  // it has not reached RTS
    bool begins_with_send = false;
    bool many = false;             // a chain of receives was posted
    bool notices = false;          // it has a completion queue of its own, which can be armed
    bool armed = false;            // that queue may be, for any completion
    bool armed_for_faults = false; // or for one that failed
    bool all_signaled = false;     // by its attribute
    std::optional<std::uint64_t> rnr_timer; // its code, if not the usual one
    std::uint32_t queue_key = 0;
    std::uint32_t old_queue_key = 0; // before it last changed
    int rnr_retries = 7;             // 7: for ever
    int retries = 7;                 // after silence
    bool may_read = true;            // the tester, by the rights of the device's QP
    bool may_write = true;
    bool may_atomic = true;
    // Lines of this QP that come next, in order; lines of other QPs may come
    // between them.
    std::deque<std::string> pending;

    // The tester asks.
    std::int64_t psn = 0; // the device's expected PSN
    bool known = true;    // whether the rules leave the device one answer to a legal request
    bool dead = false;
    bool in_error = false;     // for certain
    std::uint32_t unheard = 0; // READs and atomics whose answer no line has waited for
    std::deque<Receive> receives;
    std::vector<Sent> sent;

    // The device asks.
    std::uint32_t dut_first = 0; // the first PSN of each side, on the wire
    std::uint32_t tester_first = 0;
    std::int64_t dut_psn = 0; // of its next request
    bool counts_on = true;    // for certain: a UC request that failed may have taken a PSN
    std::deque<Asked> open;
    bool answers_known = true;     // whether the tester answered as a right peer does
    std::optional<Asked> answered; // the latest READ or atomic that is done
    bool dut_dead = false;
    bool drains = false; // what is posted now waits for RTS
    std::uint32_t posted = 0;
    wire::Duration answered_at{0}; // of the dialogue: when the tester last answered a request
    int tried_again = 0;           // since then, at most: each may use up a retry

    // The tester makes the device try again.
    void retry(int times) {
        tried_again += times;
        if (tried_again > (retries + 1) / 2) known = answers_known = false;
    }
    // The QP begins again, with the first PSNs.
    void begin_again();
    // The connection ends, or may have ended: neither side asks or expects anything any more.
    void close() {
        known = answers_known = false;
        dead = dut_dead = true;
    }
};

class Sketch {
  public:
    Sketch(const Origin& origin, const Reach& reach);

    // Everything that is drawn is drawn from here.
    sim::Random& random() {
        if (draws_++ == next_turn_) turn();
        return random_;
    }
    [[nodiscard]] std::uint64_t draws() const { return draws_; } // so far
    [[nodiscard]] bool percent(std::uint64_t chance) { return random().below(100) < chance; }
    [[nodiscard]] const Features& features() const { return features_; }
    [[nodiscard]] const Reach& reach() const { return reach_; }
    // Which of the steps that may come next comes more often, by its number in any list of them.
    [[nodiscard]] std::optional<std::uint64_t> favourite() const { return favourite_; }
    [[nodiscard]] std::uint32_t mtu() const { return mtu_; }
    // Another one, of every QP.
    void change_mtu();
    // Which packets congestion marks: a part of the lines that send them.
    [[nodiscard]] std::string_view marked_kind() const { return marked_kind_; }
    [[nodiscard]] bool tagged() const { return vlan_.has_value(); } // with a VLAN
    [[nodiscard]] std::uint64_t address_bits() const { return address_bits_; }
    [[nodiscard]] std::uint32_t domains() const { return domains_; }
    std::vector<Qp>& qps() { return qps_; }

    // Adds a line `wait`. Meanwhile the device may send requests without an answer again.
    void wait(wire::Duration time);
    // The next line may take this long.
    void pass(wire::Duration time);
    [[nodiscard]] wire::Duration now() const { return now_; }
    [[nodiscard]] wire::Duration ack_timeout() const { return *wire::ack_timeout(timeout_); }
    // An ACK timeout of one QP above that of the others.
    [[nodiscard]] std::uint64_t longer_timeout() { return timeout_ + 1 + random().below(2); }
    // The code of an RNR timer.
    [[nodiscard]] std::uint64_t rnr_code() {
        return features_.timers ? random().below(32) : 1 + random().below(12);
    }
    // Attributes of an address vector, which show in headers; often none. A blank ends each.
    [[nodiscard]] std::string address_vector();
    // The next line of the dialogue.
    void say(std::string line);
    [[nodiscard]] std::uint64_t next_id() { return ++id_; }
    // Its number, from 1.
    [[nodiscard]] std::uint64_t next_window(int type) {
        window_types_.push_back(type);
        return ++windows_;
    }
    [[nodiscard]] std::uint64_t windows() const { return windows_; } // so far
    // Receives of the shared queue that no message has taken.
    std::uint64_t& shared_receives() { return shared_receives_; }
    [[nodiscard]] std::int64_t packets_of(std::uint64_t bytes) const;
    // A length of a message: mostly short, and near the borders of packets.
    [[nodiscard]] std::uint64_t length();
    // Whether the dialogue has room for this many more bytes on the wire.
    [[nodiscard]] bool has_room(std::uint64_t bytes) const { return bytes_ + bytes <= most_bytes_; }
    void count(std::uint64_t bytes) { bytes_ += bytes; }

    // Offsets of pieces. Targets and sources overlap as they like; no two sinks
    // do, and unused bytes lie between them.
    [[nodiscard]] std::uint64_t target(std::uint32_t domain, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t source(std::uint32_t domain, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t sink(std::uint32_t domain, std::uint64_t bytes);
    [[nodiscard]] std::uint64_t constant(std::uint64_t bytes); // in a region that stays as it is
    // Splits a length into those of at most `most` pieces of memory, often one. A piece may be
    // empty.
    [[nodiscard]] std::vector<std::uint64_t> parts(std::uint64_t bytes, std::uint64_t most);
    // Pieces of the device's memory of these lengths, as a line names them: "s1[0 +8],s1[40 +2]".
    [[nodiscard]] std::string sources(std::uint32_t domain, std::span<const std::uint64_t> parts);
    [[nodiscard]] std::string sinks(std::uint32_t domain, std::span<const std::uint64_t> parts);
    // The same number of ids, which follow each other: the first.
    [[nodiscard]] std::uint64_t next_ids(std::uint64_t count) {
        return std::exchange(id_, id_ + count) + 1;
    }
    [[nodiscard]] Place far(std::uint64_t bytes);          // in a region of the tester
    [[nodiscard]] std::uint64_t near(std::uint64_t bytes); // where the tester's engine receives
    // 8 bytes at a multiple of 8 that the tester may use; and in a region of the tester.
    [[nodiscard]] Place word(std::uint32_t domain);
    [[nodiscard]] Place far_word();
    // The region that may be deregistered, once.
    [[nodiscard]] bool take_spare(std::uint32_t domain) {
        return !std::exchange(extents_[domain].spare_taken, true);
    }

    // The script. `title` follows the seed.
    [[nodiscard]] std::string text(std::string_view title) const;

  private:
    // What one domain's regions must hold.
    struct Extent {
        std::uint64_t target = 0;
        std::uint64_t source = 0;
        std::uint64_t sink = 0;
        bool spare_taken = false;
    };
    static std::string pieces(std::string_view region, std::span<const std::uint64_t> parts,
                              const std::function<std::uint64_t(std::uint64_t)>& place);
    std::uint64_t place(std::uint64_t& extent, std::uint64_t bytes);
    std::uint64_t word_place(std::uint64_t& extent);
    [[nodiscard]] std::size_t far_region() { return random().one_in(3) ? 1 : 0; }
    [[nodiscard]] std::uint64_t next_turn() const; // the draws before it
    // Its retries may be used up by now, and the QP may be in ERR.
    void doubt_if_late(Qp& qp) const;
    void turn(); // draws from the next seed of the origin
    void choose_features();
    void choose_rare_features(std::uint64_t seed);
    [[nodiscard]] std::uint32_t some_mtu();
    void choose_qps();
    void limit_timers();
    void choose_rights(Qp& qp);
    void choose_state(Qp& qp);
    [[nodiscard]] std::string qp_lines() const;
    [[nodiscard]] std::string place_of_region(sim::Random& random) const;
    [[nodiscard]] std::string region_lines() const;

    Origin origin_;
    sim::Random random_;
    std::uint64_t draws_ = 0;
    std::size_t turns_ = 0; // taken so far
    std::uint64_t next_turn_;
    Reach reach_;
    std::uint64_t address_bits_;
    Features features_;
    std::optional<std::uint64_t> favourite_;
    std::uint64_t border_seed_ = 0; // where regions lie
    std::uint64_t depth_seed_ = 0;  // how small the queues are
    sim::Random moments_{0};        // when the tester acts while the device sends
    std::string_view marked_kind_;
    std::uint32_t mtu_ = 1024;
    std::uint32_t first_mtu_ = 1024;
    std::optional<std::uint16_t> vlan_;
    std::uint64_t priority_ = 0; // of its tag
    std::uint8_t timeout_ = 14;  // of every QP: while one waits, all do
    wire::Duration now_{0};
    std::uint32_t domains_ = 1;
    std::vector<Qp> qps_;
    std::vector<std::string> lines_;
    std::vector<std::string> attributes_; // of each QP: those that only its header tells
    std::vector<Extent> extents_;
    std::array<std::uint64_t, kFarRegions.size()> far_{};
    std::uint64_t near_ = 0;
    std::uint64_t constant_ = 0;
    std::uint64_t id_ = 0;
    std::uint64_t windows_ = 0;
    std::vector<int> window_types_;
    std::uint64_t shared_receives_ = 0;
    std::string shared_limit_; // of the shared queue
    std::uint64_t bytes_ = 0;
    std::uint64_t most_bytes_ = 0;
};

// The rights of a QP as a script names them; the one that is left is never empty.
std::string rights_of(Sketch& sketch, Qp& qp);

// `name > ` or `> `, and `name ` or nothing.
std::string sends(const Qp& qp);
std::string expects(const Qp& qp);
std::string of(const Qp& qp);
// Its completion queue, if it has one of its own.
std::string queue_of(const Qp& qp);
[[nodiscard]] constexpr bool is_reliable(Talk talk) {
    return talk != Talk::Unreliable && talk != Talk::Datagrams;
}

inline constexpr std::size_t kColumns = 100; // of a script

// The line with an option after it, if it then still fits into a line of a
// script.
std::string with_option(std::string line, std::string_view option);

// A packet line that differs in its payload alone: where a device takes it for another one, memory
// tells.
std::string with_other_data(std::string line);

// FIRST, MIDDLE, LAST or ONLY: which of `count` packets of a message number `i` is, from 0.
std::string_view place_of(std::int64_t i, std::int64_t count);

// The packet line, at times with a field that the transport ignores (BTH-15, BTH-16, ENC-03,
// ENC-11, CRC-02 to CRC-05), or with a mark that a notification point answers with CNPs.
std::string with_marks(Sketch& sketch, std::string line);

// A field that makes a packet one that every receiver must drop without an answer (CRC-07, BTH-07,
// BTH-19, BTH-02, ENC-14).
std::string damage(Sketch& sketch);

// The line with other data and such a field; nothing if it has no room for the field, or has it.
std::optional<std::string> damaged(std::string line, std::string_view fault);

// The regions of every dialogue, by the QP's domain. A line of a script is
// short, and so are their names: tN, which the tester may read and write; sN,
// from which the device sends; kN, where it receives; fN, of exactly
// kFixedBytes; oN, of kOddBytes; nN, which may only be read. The tester's are r and y; u, which
// stays as it is; and p, where its engine receives. gN, whose region is deregistered when a line
// says so.
inline constexpr std::uint64_t kFixedBytes = 4096;
inline constexpr std::uint64_t kOddBytes = 1237;
inline constexpr int kForEver = 7; // rnr_retry
// Behind a packet line, of the RNR NAK that a line has expected.
inline constexpr std::string_view kAfterTimer = " after rnr(timer)";
inline constexpr std::string_view kLongPause = "wait 250ms"; // longer than anything is due
inline constexpr wire::Duration kSilence =
    std::chrono::milliseconds(200); // what expects none waits
// Every receive of the shared queue `q`: which QP takes which one is up to the
// device.
inline constexpr std::uint64_t kSharedReceiveBytes = 3000;

} // namespace veriroce::explorer
