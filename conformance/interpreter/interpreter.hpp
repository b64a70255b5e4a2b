// The dialogue of one run of a case: the script interpreter, sans-IO. It plays the script against a
// device that it knows only by packets, answers of the DUT contract and the time, and ends with a
// result. Its room's other files are its parts:
//
//   connect.cpp    QPs on both sides, from the case's header to RTS
//   forge.cpp      `>` lines: what the script makes of what an honest peer would send
//   honest_peer.cpp  which is this
//   values.cpp     expressions, fields and addresses as numbers
//   matching.cpp   which packet satisfies a line, and which packets need no line
//   waiting.cpp    lines that wait for something, alone or beside others: unordered
//   expect.cpp     `<` lines: packets that they wait for
//   silence.cpp    no, quiet, dropped, wait
//   attributes.cpp attributes of a QP as the DUT contract has them, modify
//   work.cpp       dut post, dut recv
//   commands.cpp   dut … and tester …: completions, states, events
//   queues.cpp     protection domains, dut cq, dut srq, arm, notified, counters
//   windows.cpp    dut mw, BIND_MW, dereg
//   tester.cpp     tester post, recv, done, state, modify: our engine as its user sees it
//   frames.cpp     RAW, FRAGMENT, PFC, encap=rocev1
//   regions.cpp    memory of both sides, expect
//   blocks.cpp     any, repeat
//   traffic.cpp    packets in and out: the record, fault rules, our engine
//
// Surface for drivers: see `events.hpp` (events in, actions out), then `start` and `finish`.
// Source: conformance/script/README.md.
#pragma once

#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/interpreter/awaited.hpp"
#include "conformance/interpreter/case_result.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/judging.hpp"
#include "conformance/interpreter/order.hpp"
#include "conformance/interpreter/peer.hpp"
#include "conformance/interpreter/qp_book.hpp"
#include "conformance/interpreter/task.hpp"
#include "conformance/script/ast.hpp"
#include "conformance/script/evaluate.hpp"
#include "transport/engine/engine.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::interpreter {

// Why a line was not met.
struct Unmet {
    Verdict verdict = Verdict::Fail;
    std::string reason;
    script::SourceSpan span;
    std::string expected; // the line; filled in from the span where it is empty
    std::string actual;
    bool refused = false;             // the DUT refused a verb; `dut refuses` waits for this
    std::vector<Finding> before = {}; // what was found before this became an ERROR
};
template <typename T = void>
using Met = std::expected<T, Unmet>;

class Interpreter {
  public:
    Interpreter(const script::Case& script, const script::Run& run, const Environment& environment);

    // Plays up to the first wait. The driver then feeds `events()` until finished().
    void start(wire::Instant now);
    [[nodiscard]] bool finished() const { return play_.done(); }
    Events& events() { return events_; }
    // The time went on: deadlines of the script and of our engine.
    void advance(wire::Instant now);
    [[nodiscard]] std::optional<wire::Instant> deadline() const;
    // When a frame that a SendFrame action asked for was on the wire.
    void sent(std::uint64_t number, Interval at);

    // After finished(), or when the driver gives up: what was found.
    CaseResult finish();

  private:
    // What a QP has unless the case says otherwise. No settle time reaches this timeout (1.07 s),
    // so that a slow lab is not taken for a retransmission.
    static constexpr std::int64_t default_timeout = 18;
    static constexpr std::int64_t default_retries = 7;
    static constexpr std::uint64_t default_receive = 256; // bytes
    // Of a storm of packets, so many are kept.
    static constexpr std::size_t packets_that_show = 1000;

    // --- dialogue.cpp
    Task<void> play();
    Task<Met<>> play_all();
    Task<Met<>> block(const script::Block& statements);
    Task<Met<>> statement(const script::Statement& statement);
    Task<Met<>> conclude();
    Task<Met<>> no_event_left();
    Task<Met<>> all_claimed(Peer& peer);
    void conclude_with(const Met<>& outcome);
    [[nodiscard]] Finding finding_of(const Unmet& unmet) const;
    void hear(wire::Bytes frame, Interval at);
    void pump_engine();
    [[nodiscard]] std::vector<Violation> violations() const;
    Entry& record(Side from, std::vector<std::byte> bytes, Interval at);
    void transmit(Peer* peer, std::vector<std::byte> frame);
    void take_in(Peer& peer, std::size_t index);
    std::optional<std::vector<fault::Emission>> fault(Side from, const Peer& peer, Entry& entry);
    void put_off(std::vector<fault::Emission> emissions);
    void delay(std::vector<fault::Emission> emissions);
    void release_delayed();
    void close_faults(Met<>& outcome);
    void hold_to_own_times(Met<>& outcome) const;
    void hold_to_record(Met<>& outcome) const;
    void keep_few();
    Peer* peer_with(Side from, wire::Qpn destination);
    [[nodiscard]] const Peer* peer_with(Side from, wire::Qpn destination) const;
    // The DUT's answer; a failure of the verb is an ERROR: the harness could not set the scene.
    template <typename Result>
    Task<Met<Result>> ask(dut::Request request, script::SourceSpan span) {
        const dut::Answer answer = co_await events_.call(std::move(request));
        if (!answer) {
            Unmet unmet = error(span, refusal_text(answer.error()));
            unmet.refused = answer.error().refused();
            co_return std::unexpected(std::move(unmet));
        }
        const auto* result = std::get_if<Result>(&*answer);
        if (result == nullptr) {
            co_return std::unexpected(error(span, "the DUT answered another question"));
        }
        co_return *result;
    }
    [[nodiscard]] static std::string refusal_text(const dut::Failure& failure);
    [[nodiscard]] Unmet failed(script::SourceSpan span, std::string reason,
                               std::string actual = {}) const;
    [[nodiscard]] Unmet error(script::SourceSpan span, std::string reason) const;
    void become_error(Met<>& outcome, script::SourceSpan span, std::string_view reason) const;

    // --- connect.cpp
    Task<Met<>> connect();
    Task<Met<>> make_peer(const script::QpSetup& setup, std::string name);
    Task<Met<>> raise_dut(Peer& peer, std::string last);
    Met<> raise_engine(Peer& peer);
    Task<Met<>> make_unused_qpn();
    [[nodiscard]] QpIdentity fresh_identity(const Peer& peer, QpIdentity known) const;
    Task<Met<>> reconnect(Peer& peer, const script::Reconnect& line, script::SourceSpan span);
    Met<Peer*> peer_of(const script::QpRef& ref);

    // --- attributes.cpp
    [[nodiscard]] static std::int64_t attribute(const script::QpSetup* setup, std::string_view name,
                                                std::int64_t otherwise);
    [[nodiscard]] static std::string word_of(const script::QpSetup& setup, std::string_view name,
                                             std::string_view otherwise);
    [[nodiscard]] static engine::QpType type_of(const script::QpSetup& setup);
    [[nodiscard]] static wire::Qkey qkey_of(const script::QpSetup& setup);
    // What brings a QP of this type to this state, and nothing else.
    [[nodiscard]] dut::QpAttributes step_to(engine::QpState state, const Peer& peer) const;
    void put(std::string_view name, const Peer& peer, dut::QpAttributes& into) const;
    // What an owner may do with QPs and regions of his own, whatever a line writes.
    static constexpr engine::Access own_rights{.local_write = true};
    // The rights that a line writes, beside those that are there anyway.
    static engine::Access rights_of(const std::vector<script::Word>& words, engine::Access access);
    [[nodiscard]] engine::Access qp_access(const Peer& peer) const;
    [[nodiscard]] dut::AddressVector vector_of(const Peer& peer) const;
    // Where the tester's end of this QP is; false if the case has no such address.
    [[nodiscard]] bool take_address(Peer& peer) const;
    Task<Met<>> modify(Peer& peer, const script::Modify& line, script::SourceSpan span);

    // --- queues.cpp
    Task<Met<>> make_queues(); // those that QPs are connected with
    Task<Met<dut::PdHandle>> domain(std::int64_t number, script::SourceSpan span);
    Task<Met<>> make_cq(const script::MakeCq& line, script::SourceSpan span);
    Task<Met<>> make_srq(const script::MakeSrq& line, script::SourceSpan span);
    Task<Met<>> arm(const script::ArmCq& line, script::SourceSpan span);
    Task<Met<>> unnotified(const script::CqQuiet& line, script::SourceSpan span);
    Task<Met<bool>> notification(const std::string& cq, wire::Duration time,
                                 script::SourceSpan span);
    Task<Met<>> note_counters();
    Task<Met<>> counter(const script::Counter& line, script::SourceSpan span);
    Task<Met<>> arm_limit(const std::string& srq, script::SourceSpan span);
    std::deque<std::uint64_t>& receives_of(Peer& peer);

    // --- windows.cpp
    Task<Met<>> make_window(const script::MakeMw& line, script::SourceSpan span);
    Task<Met<>> bind(Peer& peer, const script::Post& post, script::SourceSpan span);
    Task<Met<>> deregister(const script::Dereg& line, script::SourceSpan span);
    [[nodiscard]] Window* window(std::string_view name);

    // --- tester.cpp
    Task<Met<>> tester_command(Peer& peer, const script::SideCommand& line,
                               script::SourceSpan span);
    Met<> answers(Peer& peer, script::SourceSpan span);
    Met<> tester_post(Peer& peer, const script::Post& post, script::SourceSpan span);
    Met<> tester_receive(Peer& peer, const script::Recv& recv, script::SourceSpan span);
    Met<> tester_modify(Peer& peer, const script::Modify& line, script::SourceSpan span);
    void collect_tester_completions();
    Task<void> wait_for_engine(wire::Instant deadline);
    Met<std::vector<engine::Sge>> tester_pieces(const std::vector<script::RegionSlice>& slices,
                                                std::uint64_t otherwise, const Peer& peer,
                                                std::optional<wire::Lkey> lkey,
                                                script::SourceSpan span);

    // --- frames.cpp
    Met<> send_raw(const script::SendRaw& line);
    Met<> send_fragment(const script::SendFragment& line, script::SourceSpan span);
    Met<> send_pfc(const script::SendPfc& line, script::SourceSpan span);

    // --- forge.cpp
    Task<Met<>> send(const script::SendPacket& line, script::SourceSpan span);
    Met<std::vector<wire::PacketSpec>> packets_of(const script::SendPacket& line, Peer& peer);
    Met<wire::PacketSpec> spec_of(const script::SendPacket& line, Peer& peer, std::uint8_t opcode);
    Met<> write(wire::PacketSpec& spec, const script::FieldWrite& field, Peer& peer);
    [[nodiscard]] std::int64_t next_psn(const Peer& peer, std::uint8_t opcode) const;
    [[nodiscard]] wire::Pkey pkey_of(const Peer& peer) const;
    wire::Sender honest_sender(const Peer& peer, std::uint8_t opcode,
                               const wire::PacketSpec& spec) const;

    // --- values.cpp
    Met<std::int64_t> number(const script::Expr& expr, const Peer& peer,
                             std::optional<script::FieldName> field = {},
                             const Entry* at_hand = nullptr) const;
    Met<script::Bounds> bounds(const script::ValueRange& range, const Peer& peer,
                               std::optional<script::FieldName> field = {},
                               const Entry* at_hand = nullptr) const;
    // The time that a line states, else `otherwise`.
    Met<wire::Duration> time_or(const std::optional<script::Expr>& expr, wire::Duration otherwise,
                                const Peer& peer) const;
    [[nodiscard]] std::optional<std::int64_t> resolve(std::string_view name, const Peer& peer,
                                                      std::optional<script::FieldName> field) const;
    [[nodiscard]] std::optional<std::int64_t> field_of(const Peer& peer, const Entry& entry,
                                                       const script::FieldName& field) const;
    [[nodiscard]] std::optional<wire::IpAddress> address_of(const script::Address& address) const;

    // --- matching.cpp
    struct Match {
        bool satisfied = false;
        bool claims = true; // a READ response that covers an ACK line stays for its own line
        std::string why;    // where it is not satisfied
    };
    // Of a packet that is in another VLAN than the case is played in, that it is; else empty.
    [[nodiscard]] std::string foreign_vlan(const Entry& entry) const;
    Met<Match> match(const script::ExpectPacket& line, const Peer& peer, const Entry& entry) const;
    Met<Match> match_fields(const std::vector<script::FieldMatch>& matches, const Peer& peer,
                            const Entry& entry, bool skip_psn) const;
    Met<bool> field_matches(const script::FieldMatch& match, const Peer& peer,
                            const Entry& entry) const;
    [[nodiscard]] bool kind_matches(const script::PacketKind& kind, const Peer& peer,
                                    const Entry& entry) const;
    Met<std::optional<Match>> covers(const script::ExpectPacket& line, const Peer& peer,
                                     const Entry& entry) const;
    // What may come without a line that asks for it.
    [[nodiscard]] bool tolerated(const Peer& peer, const Entry& entry) const;
    [[nodiscard]] bool timer_may_have_run_out(const Peer& peer, const Entry& entry) const;
    [[nodiscard]] bool crosses_ours(const Peer& peer, const Entry& entry) const;
    // Of a packet that is no line's: whether that is lawful. The record keeps the answer.
    bool needs_no_line(const Peer& peer, Entry& entry);

    // --- waiting.cpp
    // What a line waits for; nothing if it does not wait.
    Met<std::optional<Awaited>> awaited(const script::Statement& line);
    Met<Awaited> awaited_packet(const script::ExpectPacket& line, script::SourceSpan span);
    Met<std::optional<Awaited>> awaited_of_side(const script::SideCommand& line,
                                                script::SourceSpan span);
    // Until all of them are met, in whatever order; `span` is theirs as a whole.
    Task<Met<>> await_all(std::vector<Awaited> open, script::SourceSpan span);
    Task<Met<>> await_one(Awaited line);
    Task<Met<>> expect(const script::ExpectPacket& line, script::SourceSpan span);
    Task<Met<>> unordered(const script::Unordered& block, script::SourceSpan span);
    // Whether what the line waits for is there, or its next part.
    [[nodiscard]] Met<bool> is_there(const Awaited& line) const;
    Met<> take_what_came(std::span<Awaited> open, script::SourceSpan span);
    Met<> take_completions(std::span<Awaited> open, const Awaited& of);
    [[nodiscard]] bool take_event(const script::EventSeen& wanted, const Peer& peer);
    Task<Met<>> ask_or_wait(std::span<Awaited> open);
    Task<Met<>> ask(Awaited& line, wire::Duration wait);
    Task<Met<>> ask_state(Awaited::State& state, const Peer& peer, script::SourceSpan span);
    [[nodiscard]] Unmet overdue(const Awaited& line) const;
    [[nodiscard]] wire::Instant deadline_of(const Awaited& line) const;
    [[nodiscard]] Interval interval_of(const Moment& moment) const;
    void line_ended();                  // now
    void line_ended(std::size_t index); // with this packet of history_

    // --- expect.cpp
    // Of a whole message the length, of which the packets are to come one after the other.
    Met<std::optional<std::uint64_t>> length_of(const script::ExpectPacket& line, const Peer& peer,
                                                script::SourceSpan span) const;
    // The line for the packet at hand.
    static script::ExpectPacket packet_wanted(const Awaited::Packet& packet, const Peer& peer);
    Met<> take_packets(std::span<Awaited> open, script::SourceSpan span);
    Met<> take_packet(std::span<Awaited> open, Peer& peer, std::size_t index,
                      script::SourceSpan span);
    Met<> claim(Awaited& line, std::size_t index);
    [[nodiscard]] Met<> in_time(const Awaited& line, std::size_t index) const;
    Met<> judge_time(const Awaited& line, std::size_t index);
    Task<Met<>> compare_data(const Awaited& line);
    [[nodiscard]] std::string notation(const Peer* peer, const Entry& entry) const;

    // --- silence.cpp
    Task<Met<>> no(const script::No& line, script::SourceSpan span);
    Task<Met<>> quiet(const script::Quiet& line, script::SourceSpan span);
    Task<Met<>> dropped(const script::Dropped& line, script::SourceSpan span);
    Task<Met<>> nothing_heard(Peer& peer, wire::Duration time, script::SourceSpan span);
    Task<Met<>> still_ready(Peer& peer, script::SourceSpan span);
    Task<Met<>> probe(Peer& peer, script::SourceSpan span);
    Task<Met<>> judged(const script::Judged& line, script::SourceSpan span);
    Task<Met<>> pause(wire::Duration time);

    // --- work.cpp
    Met<Order> order_of(const script::Post& post, const Peer& peer);
    Task<Met<>> post(Peer& peer, const script::Post& post, script::SourceSpan span);
    Task<Met<>> post_receive(Peer& peer, const script::Recv& recv, script::SourceSpan span);
    Met<Ids> ids_of(const script::IdRange& range, const Peer& peer) const;
    Met<std::uint32_t> key_of(const script::Key& key, const Peer& peer) const;
    Met<std::optional<wire::Lkey>> lkey_of(const std::optional<script::Key>& key,
                                           const Peer& peer) const;

    // --- commands.cpp
    // How long one call to the DUT may wait: never so long that it outlives its case by much.
    static std::uint32_t wait_ms_of(wire::Duration left);
    Task<Met<>> command(const script::SideCommand& line, script::SourceSpan span);
    Task<Met<>> dut_command(Peer& peer, const script::SideCommand& line, script::SourceSpan span);
    Task<Met<>> object_command(const script::SideCommand& line, script::SourceSpan span);
    Task<Met<>> carry_out(const script::SideCommand& line, script::SourceSpan span);
    Met<bool> is_as_wanted(const dut::Completion& seen, std::uint64_t id, const script::Done& done,
                           const Peer& peer) const;
    Task<Met<>> collect_completions(Peer& peer, wire::Duration wait, script::SourceSpan span);
    Task<Met<>> collect_events(wire::Duration wait, script::SourceSpan span);
    // --- regions.cpp
    Task<Met<>> make_region(const script::MakeMr& mr, script::Side side, script::SourceSpan span);
    Met<> make_tester_region(const script::MakeMr& mr, script::SourceSpan span);
    Task<Met<Memory*>> anonymous_region(std::uint64_t length, dut::PdHandle pd,
                                        script::SourceSpan span);
    Met<Memory*> anonymous_tester_region(std::uint64_t length, script::SourceSpan span);
    Task<Met<>> write_memory(const script::WriteMemory& write, script::SourceSpan span);
    Task<Met<>> expect_region(const script::ExpectRegion& line, script::SourceSpan span);
    Task<Met<std::vector<std::byte>>> read_memory(const Memory& memory, std::uint64_t offset,
                                                  std::uint64_t length, script::SourceSpan span);
    Task<Met<>> guards_intact();
    Task<Met<>> guards_intact(const Memory& memory, script::SourceSpan span);
    struct Piece {
        Memory* memory = nullptr;
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
    };
    Met<Piece> piece_of(const script::RegionSlice& slice, const Peer& peer);

    // --- blocks.cpp
    Task<Met<>> any(const script::AnyBlock& block, script::SourceSpan span);
    Task<Met<>> take(const script::Alternative& alternative);
    std::optional<bool> pass_over(std::span<const Awaited> openings, bool silence,
                                  std::string& came);
    Task<Met<>> repeat(const script::Repeat& block, script::SourceSpan span);

    const script::Case& script_;
    const script::Run& run_;
    Environment environment_; // with the case's `tester address` names
    Events events_;
    Task<void> play_;
    CaseResult result_;

    std::deque<Entry> history_;
    std::uint64_t recorded_bytes_ = 0; // in it
    std::uint64_t unrecorded_ = 0;     // packets of the DUT for which it had no room
    std::uint64_t foreign_ = 0;        // packets of the DUT that belong to no QP of this case
    std::size_t last_foreign_ = 0;     // of those that are kept
    std::map<std::string, Peer> peers_;
    std::deque<Memory> regions_; // in the order in which they were made
    std::map<std::string, std::size_t> named_packets_;
    std::vector<std::pair<std::string, std::int64_t>>
        counters_; // of `repeat NAME in`, innermost last
    std::deque<dut::Event> dut_events_;
    std::optional<std::size_t> stranger_; // a packet of the DUT to a QPN that nobody has

    std::map<std::int64_t, dut::PdHandle> pds_; // by the script's numbers; 1 is the usual one
    std::map<std::string, dut::CqHandle> cqs_;
    std::map<std::string, dut::SrqHandle> srqs_;
    std::map<std::string, std::deque<std::uint64_t>> srq_receives_;
    std::map<std::string, std::uint32_t> srq_limits_; // not armed yet
    std::deque<Window> windows_;
    std::map<std::string, std::uint64_t> counters_before_;
    // QPs as they were before a `reconnect`: the judge has to see each time by itself.
    struct Past {
        std::string name;
        JudgedQp qp;
        std::size_t end = 0; // of history_
    };
    std::vector<Past> past_;
    wire::Qpn unused_qpn_;
    std::unique_ptr<engine::Engine> engine_; // the tester's
    engine::PdId engine_pd_;
    engine::CqId engine_cq_;
    fault::Injector faults_;
    struct Delayed {
        Side from = Side::Tester;
        std::vector<std::byte> frame;
    };
    // `> … after T`: a packet of ours, and the one after which it was to leave so much later.
    struct Timed {
        std::size_t packet = 0; // of history_
        std::size_t behind = 0;
        wire::Duration after{0};
        script::SourceSpan span;
    };
    std::vector<Timed> timed_;
    std::multimap<wire::Instant, Delayed> delayed_; // by fault rules, until when
    Moment line_end_;                               // of the previous line
    std::uint16_t ip_id_ = 0;
    std::uint64_t made_regions_ = 0;
};

} // namespace veriroce::interpreter
