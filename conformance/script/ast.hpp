// A checked test case as plain values: what the interpreter executes.
//
// A Case is the header of a file and its source. Its body exists once per *run*: `compile`
// (script.hpp) makes one Run for each combination of `for` values. In a Run, every {name} is
// replaced by its word, every `let`, `for` and `qp.FIELD` name and `mtu` by its value, and every
// opcode by its code. The interpreter resolves the names that only the run knows: regions, QPs,
// `repeat` counters, and fields of the packet being matched (see evaluate.hpp).
//
// Units: sizes are bytes, times are nanoseconds, PSNs are relative to the requesting side's first.
// A node's span says where it was written; Case::line_text returns that line.
// How the large variants are copied, moved and destroyed is compiled once, in ast.cpp: it takes
// seconds in each source that does it.
// Errors: none; a wrong script never becomes a Case.
// Source: README.md of this folder, the reference of the language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/connection_event.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "dissector/wire/syndrome.hpp"
#include "dissector/wire/verbs.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::script {

// Lines and columns start at 1; a column is a character, not a byte.
struct SourceSpan {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t length = 0;

    friend bool operator==(const SourceSpan&, const SourceSpan&) = default;
};

struct Word {
    std::string text;
    SourceSpan span;
};

// Fields that are not bits of one header: parts of the syndrome, and values the encoder computes.
enum class SpecialField : std::uint8_t {
    Length,      // len: payload bytes, without pad
    Data,        // data: RegionSlice or HexBytes
    PadBytes,    // padbytes: HexBytes, instead of zeros
    Icrc,        // icrc: wire::IcrcKind or Expr
    UdpChecksum, // udp.checksum: wire::UdpChecksumKind or Expr
    IpOptions,   // ip.options: HexBytes
    Credits,     // credits: the credit code of an ACK
    Timer,       // timer: the timer code of an RNR NAK; compared by its time
    Code,        // code: wire::NakCode, or a reserved code as Expr
};
// A field of a management datagram: `mad.transactionid`, `cm.serviceid`. Numbers have up to 64
// bits; what is wider is bytes, or an address of 128 bits.
struct MadField {
    std::string_view name; // of the table in mad_fields.cpp, which lives for ever
    std::uint16_t bit = 0; // from the datagram's first bit
    std::uint16_t bits = 0;

    friend bool operator==(const MadField&, const MadField&) = default;
};
// `pad` is wire::Field::Pad: it sets the field and adds no bytes.
using FieldName = std::variant<wire::Field, SpecialField, MadField>;

// --- expressions ------------------------------------------------------------------------------

enum class Unit : std::uint8_t { None, Time, Size };

// Numbers are 64-bit two's complement: 0xFFFFFFFFFFFFFFFF is -1 (the same bits).
struct Expr {
    enum class Kind : std::uint8_t {
        Number,  // number, unit
        Name,    // name: a region, a QP, `dut`, `tester`, `unused`, a `repeat` counter
        Field,   // field: of the packet being matched, in `<` lines
        Rnr,     // rnr(operand): the time in ns that an RNR NAK with this timer code asks for
        Timeout, // timeout(operand): ns, 4.096 us * 2^operand
        Negate,
        Add,
        Subtract,
        Multiply,
        Divide,
        Power,
    };
    Kind kind = Kind::Number;
    std::int64_t number = 0;
    Unit unit = Unit::None;
    std::string name;
    FieldName field = wire::Field::Psn;
    std::vector<Expr> operands; // one for Rnr, Timeout, Negate; two for the rest
    SourceSpan span;
};

// a..b, a.., ..b; includes both ends. A single value is never a ValueRange.
struct ValueRange {
    std::optional<Expr> low;
    std::optional<Expr> high;
    SourceSpan span;
};

// id=3, id=1..8; includes both ends.
struct IdRange {
    Expr first;
    Expr last;
};

// --- values -----------------------------------------------------------------------------------

// A region, or its piece [offset +length]. Without a length, the piece ends with the region.
struct RegionSlice {
    std::string region;
    std::optional<Expr> offset;
    std::optional<Expr> length;
    SourceSpan span;
};

struct HexBytes {
    std::vector<std::byte> bytes;
    SourceSpan span;
};

// abs:X: the number on the wire, for fields that usually take a name (of a QP, a region, an
// address); for `psn`, an absolute PSN.
struct Absolute {
    Expr value;
};

// An address of the tester or the DUT: `tester`, `dut`, the name of a `tester address` or a
// `dut address`, or `dut+1`.
// It means the IP address in ip.* fields and the MAC address in eth.* fields.
struct Address {
    std::string name;
    std::int64_t offset = 0;
    SourceSpan span;
};

using PatternKind = wire::FillPattern;
using Pattern = std::variant<PatternKind, HexBytes>;

// The value that a field is set to or compared with. Only `<` lines contain a ValueRange.
// A bare Expr for destqp, srcqp, rkey, ikey, va contains the name of a QP or region.
struct Value : std::variant<Expr, ValueRange, Absolute, Address, wire::NakCode, wire::IcrcKind,
                            wire::UdpChecksumKind, RegionSlice, HexBytes> {
    using variant::variant;
    Value();
    Value(const Value&);
    Value(Value&&) noexcept;
    Value& operator=(const Value&);
    Value& operator=(Value&&) noexcept;
    ~Value();
};

// --- packets ----------------------------------------------------------------------------------

// The empty name is the case's default QP. An index selects one of `qp NAME[COUNT]`.
struct QpRef {
    std::string name;
    std::optional<Expr> index;
    SourceSpan span;
};

// An opcode by its code; its service is that of the QP's type.
struct Opcode {
    std::uint8_t code = 0;
};
// ACK, NAK, RNR_NAK: an ACKNOWLEDGE, named by its syndrome.
enum class Acknowledgement : std::uint8_t { Ack, Nak, RnrNak };
// A whole message, with all its packets in order.
enum class Message : std::uint8_t {
    Send,
    SendWithImm,
    SendWithInv,
    RdmaWrite,
    RdmaWriteWithImm,
    RdmaReadResponse,
};
// `< = NAME`: the packet of that name again; from opcode to payload only AckReq, MigReq, FECN and
// BECN may differ.
struct SameAs {
    std::string name;
};
// A message of connection management, by its attribute: CM_REQ, CM_REJ. A UD SEND_ONLY with a
// management datagram.
struct Management {
    std::uint16_t attribute = 0;
};
using PacketKind = std::variant<Opcode, Acknowledgement, Message, SameAs, Management>;

// QP 1 of both hosts, for lines that name it and for messages of connection management.
inline constexpr std::string_view kGsiName = "gsi";

struct FieldWrite {
    FieldName field;
    Value value;
    SourceSpan span;
};

enum class Comparison : std::uint8_t { Equal, NotEqual, AtMost, AtLeast };

struct FieldMatch {
    FieldName field;
    Comparison comparison = Comparison::Equal; // Equal and a ValueRange: inside the range
    Value value;
    SourceSpan span;
};

struct FlipBit {
    // A field, or @BYTE counted from the IP header.
    std::variant<wire::Field, Expr, MadField> where;
    Expr bit;
};

// Applied last, in this order, after ICRC and checksums; `inverts` before them.
struct DamageSpec {
    std::vector<FlipBit> inverts;
    std::optional<Expr> truncate;
    std::optional<Expr> cut;
    std::optional<Expr> trailer;
    std::vector<FlipBit> flips;
    bool untagged = false;
};

// [QP] > OPCODE FIELD…
struct SendPacket {
    QpRef qp;
    PacketKind kind;                // never SameAs
    std::vector<FieldWrite> fields; // in the order of the line; a flag has the value 1
    DamageSpec damage;
    bool rocev1 = false;       // encap=rocev1
    std::optional<Expr> after; // at least this long after the QP's latest earlier packet
    std::optional<Word> as;
};

// > RAW hex"…": a whole frame, Ethernet header first.
struct SendRaw {
    HexBytes frame;
};
// > FRAGMENT of NAME at=N len=N: an IPv4 fragment of the packet that was sent `as NAME`.
struct SendFragment {
    Word of;
    Expr at;
    Expr length;
};
// > PFC class=3 quanta=65535
struct SendPfc {
    Expr priority;
    Expr quanta;
};
// `measure NAME[index]`
struct Measure {
    std::string name;
    std::optional<Expr> index;
};

// [QP] < OPCODE MATCH…
struct ExpectPacket {
    QpRef qp;
    PacketKind kind;
    std::vector<FieldMatch> matches;
    std::optional<Expr> within;      // ns from the end of the previous line; default: the patience
    std::optional<ValueRange> after; // ns from the QP's latest earlier packet, either direction
    std::optional<Measure> measure;
    std::optional<Word> as;
    bool exact = false;
};

// --- the two sides ----------------------------------------------------------------------------

using rules::Side;

// FIELD=… of `qp`, `tester qp`, `modify`. A Word is the name of a CQ, an SRQ or an address.
struct Attribute {
    std::string name;
    std::variant<Expr, Word, wire::QpType, wire::QpState, wire::MigState, wire::Access> value;
    SourceSpan span;
};

// A key: that of a region (`a`), or a wrong one (`a+1`, `abs:0`).
using Key = std::variant<Expr, Absolute>;

struct Post {
    wire::WrOpcode operation = wire::WrOpcode::Send;
    IdRange ids; // several ids form one chain with one doorbell
    std::vector<RegionSlice> local;
    std::optional<RegionSlice> remote;
    std::optional<Expr> length;
    std::optional<Expr> imm;
    std::optional<Expr> compare;
    std::optional<Expr> swap;
    std::optional<Expr> add;
    std::optional<Expr> placement;   // of a FLUSH
    std::optional<Expr> selectivity; // of a FLUSH
    std::optional<Expr> address;     // overrides that of `remote`
    std::optional<Key> ikey;         // of the region or window to invalidate
    std::optional<Key> lkey;         // overrides the local region's key
    std::optional<Key> rkey;         // overrides the remote region's key
    std::optional<Word> mw;          // the window of a BIND_MW
    // Of a datagram, instead of what the QP's line says.
    std::optional<Address> to;
    std::optional<Expr> dscp;
    std::optional<Expr> qkey;
    std::optional<wire::Access> access;
    bool fence = false;
    bool inline_data = false;
    bool solicited = false;
    bool unsignaled = false;
};
struct Recv {
    IdRange ids;
    std::optional<Expr> length; // default without `local`: 256 bytes
    std::vector<RegionSlice> local;
    std::optional<Key> lkey;
    std::optional<Word> srq;
};
struct MakeMr {
    Word name;
    Expr length;
    wire::Access access;
    std::optional<Pattern> fill;
    std::optional<Expr> pd;
    std::optional<Expr> iova; // the address of its first byte
    bool read_only = false;   // without local write, which any other region has
};
struct MakeMw {
    Word name;
    Word on; // the region it is bound to
    std::uint8_t type = 1;
};
struct Dereg {
    Word name; // of a region or a window
};
struct WriteMemory { // dut write R [off +len] = PATTERN
    RegionSlice where;
    Pattern pattern;
};
struct MakeCq {
    Word name;
    Expr depth;
};
struct MakeSrq {
    Word name;
    Expr depth;
    std::optional<Expr> limit;
};
struct RearmSrq { // dut rearm SRQ limit=N
    Word srq;
    Expr limit;
};
struct ArmCq {
    Word cq;
    bool solicited = false;
};
struct Congestion { // dut congestion [np=on|off] [rp=on|off] [interval=T] [dscp=N]
    std::optional<bool> np;
    std::optional<bool> rp;
    std::optional<Expr> interval; // ns; between two CNPs
    std::optional<Expr> dscp;     // of CNPs
};
// dut cm …: a program on the device's host that listens for connections.
struct Connection {
    enum class Step : std::uint8_t { Listen, Accept, Reject, Disconnect, Event };
    Step step = Step::Listen;
    std::optional<wire::QpState> state; // of Accept: to which it brings the QP; default RTS
    std::optional<Expr> responder_resources;
    std::optional<Expr> initiator_depth;
    wire::ConnectionEvent event = wire::ConnectionEvent::ConnectRequest;
    std::optional<Expr> within; // of Event
};
struct Modify {
    std::vector<Attribute> attributes;
};
struct Reconnect {
    std::optional<Expr> psn;
    std::optional<Expr> tester_psn;
    bool new_peer = false; // to another QPN of the tester
    std::vector<Attribute> attributes;
};
struct AnyFailure {}; // status=FAILED: every status but SUCCESS
using StatusMatch = std::variant<wire::WcStatus, AnyFailure>;
struct Done { // completions in this order, each exactly once, without others in between
    wire::Queue queue = wire::Queue::Send;
    IdRange ids;
    std::vector<StatusMatch> statuses{wire::WcStatus::Success}; // any of them
    std::optional<Expr> length;
    std::optional<Expr> imm;
    std::optional<wire::WcOpcode> opcode;
    std::optional<Expr> within;
};
struct State {
    wire::QpState state = wire::QpState::Reset;
    std::optional<Expr> within;
};
struct EventSeen {
    wire::EventType type = wire::EventType::CommEst;
    std::optional<Expr> within;
};
struct Notified {
    Word cq;
    std::optional<Expr> within;
};
struct CqQuiet { // dut quiet CQ [for T]: no notification
    Word cq;
    std::optional<Expr> time; // ns; default: the settle time
};
struct Counter { // dut counter NAME += N: growth since the case began
    wire::DeviceCounter counter = wire::DeviceCounter::IcrcError;
    Expr by;
};

// `tester answers`: from now on our engine answers on this QP as a correct peer.
struct Answers {};

struct Command : std::variant<Post, Recv, MakeMr, MakeMw, Dereg, WriteMemory, MakeCq, MakeSrq,
                              RearmSrq, ArmCq, Congestion, Connection, Modify, Reconnect, Done,
                              State, EventSeen, Notified, CqQuiet, Counter, Answers> {
    using variant::variant;
    Command();
    Command(const Command&);
    Command(Command&&) noexcept;
    Command& operator=(const Command&);
    Command& operator=(Command&&) noexcept;
    ~Command();
};

// dut …, tester …
struct SideCommand {
    Side side = Side::Dut;
    QpRef qp;
    Command command;
    bool refused = false; // `dut refuses …`: expects the verb to fail
};

// --- checks and faults ---------------------------------------------------------------------------

struct FaultLine {
    fault::Rule rule; // `line` is the line of the script
};

struct Untouched {}; // unchanged since it was filled or last written
struct ExpectRegion {
    RegionSlice region;
    std::variant<RegionSlice, PatternKind, HexBytes, Untouched> holds;
};

// no NAK, no RDMA_READ_REQUEST psn=3, no CNP for 60s
struct No {
    QpRef qp;
    PacketKind kind;
    std::vector<FieldMatch> matches;
    std::optional<Expr> time; // ns; else the settle time
};
struct Quiet { // no RoCE packet of the QP at all
    QpRef qp;
    std::optional<Expr> time;
};
struct Dropped { // no packet, completion, event or state change; then a SEND works
    QpRef qp;
};
struct Judged { // anything that the rules allow; the judge looks at it
    QpRef qp;
    std::optional<Expr> time;
};
struct Wait {
    Expr time;
};

// --- blocks -----------------------------------------------------------------------------------

struct Statement;
using Block = std::vector<Statement>;

struct Alternative;
// any … or … or warn "…" … end
struct AnyBlock {
    std::vector<Alternative> alternatives;
};
struct Unordered {
    Block body;
};
// The turns of all loops of a run, inner ones counted again for each turn of the outer one.
constexpr std::int64_t kMostTurns = 10'000;

// repeat N … end, repeat NAME in A..B … end
struct Repeat {
    std::variant<Expr, ValueRange> times; // a count, or the range of `counter`
    std::optional<Word> counter;
    Block body;
};

struct Node
    : std::variant<SendPacket, SendRaw, SendFragment, SendPfc, ExpectPacket, SideCommand, FaultLine,
                   ExpectRegion, No, Quiet, Dropped, Judged, Wait, AnyBlock, Unordered, Repeat> {
    using variant::variant;
    Node();
    Node(const Node&);
    Node(Node&&) noexcept;
    Node& operator=(const Node&);
    Node& operator=(Node&&) noexcept;
    ~Node();
};

struct Statement {
    Node node;
    SourceSpan span; // the whole line without its comment; of a block, the first line
};

struct Alternative {
    std::optional<std::string> warn; // set if this alternative means WARN; its text
    Block body;
    SourceSpan span; // of `any` or `or`
};

// --- the case ---------------------------------------------------------------------------------

// The role of the device that the case tests.
using rules::Level;
using rules::Role;

// qp [NAME[COUNT]] FIELD=…. The case's default QP has the empty name.
struct QpSetup {
    std::string name;
    std::uint32_t count = 1;
    std::vector<Attribute> attributes; // if a name is repeated, the last one counts
    SourceSpan span;

    [[nodiscard]] const Attribute* attribute(std::string_view wanted) const {
        for (auto one = attributes.rbegin(); one != attributes.rend(); ++one) {
            if (one->name == wanted) return &*one;
        }
        return nullptr;
    }
};

// The value of a `for` name in one run.
struct Binding {
    std::string name;
    std::variant<std::int64_t, std::string> value;
};

// A capability of the DUT contract or of the link; `at_least` is for amounts: "sge>=3". With
// `of_value` only the runs with that value need it: "needs atomics for op=FETCH_ADD".
struct Need {
    std::string word;
    std::optional<std::int64_t> at_least;
    std::optional<Binding> of_value = {};
    SourceSpan span;
};

struct Let {
    Word name;
    Expr value;
};

// for NAME in …; `attribute` if it is written qp.FIELD (then the name is FIELD).
struct For {
    Word name;
    bool attribute = false;
    // A number, a range of numbers, or words: opcodes, fields, ICRC kinds. A class (`requests`,
    // `responses`, `all`) is already replaced by its opcodes.
    std::vector<std::variant<Expr, ValueRange, Word>> values;
};

struct Case {
    std::string path;  // as given to load
    std::string group; // the id is group/name: "rsp", "gap-nak" of ".../rsp/gap-nak.roce"
    std::string name;
    std::vector<Word> rules; // all exist in the catalogue
    std::string title;       // with its {name}s
    Role role = Role::Both;
    Level level = Level::Must; // as written; default: that of the first rule
    std::vector<Need> needs;
    std::vector<Word> unless;
    std::vector<Word> tags;
    std::vector<Let> lets;
    std::vector<For> fors;
    std::vector<Word> tester_addresses;
    std::vector<Word> dut_addresses; // of the DUT's host; not RoCEv2 GIDs
    std::string text;                // the file

    [[nodiscard]] std::string id() const { return group.empty() ? name : group + "/" + name; }
    [[nodiscard]] bool tagged(std::string_view tag) const {
        for (const auto& word : tags) {
            if (word.text == tag) return true;
        }
        return false;
    }
    // The source line of a span, without line end and comment; empty beyond the end.
    [[nodiscard]] std::string_view line_text(const SourceSpan& span) const;
};

struct Run {
    std::string suffix; // "[mtu=256,n=1]"; empty if the case has no `for`
    std::vector<Binding> bindings;
    std::string title; // {name}s replaced
    // The default QP always exists and is the first; it has the attributes of `for qp.FIELD`.
    std::vector<QpSetup> qps;
    std::vector<QpSetup> tester_qps;
    bool management = false; // whether a line is about QP 1
    Block body;
};

} // namespace veriroce::script
