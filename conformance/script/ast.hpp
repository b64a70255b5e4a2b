// A checked test case as plain values: what the interpreter executes.
//
// A Case is the header of a file and its source. Its body exists once per *run*: `expand`
// (script.hpp) makes one Run for each combination of `for` values, in which every {name} is the
// word itself, every `let`, `for` and `qp.FIELD` name and `mtu` in an expression has become its
// value, and every opcode is its code. What is left to the interpreter is what only the run knows:
// regions, QPs, `repeat` counters, and fields of the packet at hand (see evaluate.hpp).
//
// Units: sizes are bytes, times are nanoseconds, PSNs count from the asking side's first.
// A node's span says where it was written; Case::line_text gives that line back.
// Errors: none; what is wrong with a script never becomes a Case.
// Source: README.md of this folder, the reference of the language.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "conformance/rules/rules.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "dissector/wire/syndrome.hpp"
#include "dissector/wire/work_request.hpp"
#include "transport/fault/rule.hpp"

namespace veriroce::script {

// Lines and columns begin at 1; a column is a character, not a byte.
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

// Fields that are not bits of one header: parts of the syndrome, and what the encoder works out.
enum class SpecialField : std::uint8_t {
    Length,      // len: payload bytes, without pad
    Data,        // data: RegionSlice or HexBytes
    PadBytes,    // padbytes: HexBytes, instead of zeros
    Icrc,        // icrc: wire::IcrcKind or Expr
    UdpChecksum, // udp.checksum: wire::UdpChecksumKind or Expr
    IpOptions,   // ip.options: HexBytes
    Credits,     // credits: code of an ACK
    Timer,       // timer: code of an RNR NAK; compares by its time
    Code,        // code: wire::NakCode, or a reserved code as Expr
};
// `pad` is wire::Field::Pad: it writes the field and adds no byte.
using FieldName = std::variant<wire::Field, SpecialField>;

// --- expressions ------------------------------------------------------------------------------

enum class Unit : std::uint8_t { None, Time, Size };

// Numbers are 64-bit in two's complement: 0xFFFFFFFFFFFFFFFF is -1, the same bits.
struct Expr {
    enum class Kind : std::uint8_t {
        Number,  // number, unit
        Name,    // name: a region, a QP, `dut`, `tester`, `unused`, a `repeat` counter
        Field,   // field: of the packet at hand, in `<` lines
        Rnr,     // rnr(operand): ns that an RNR NAK with this timer code asks for
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

// a..b, a.., ..b; both ends belong to it. A single value is never a ValueRange.
struct ValueRange {
    std::optional<Expr> low;
    std::optional<Expr> high;
    SourceSpan span;
};

// id=3, id=1..8: both ends belong to it.
struct IdRange {
    Expr first;
    Expr last;
};

// --- values -----------------------------------------------------------------------------------

// A region, or the piece [offset +length] of it. Without a length: up to its end.
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

// abs:X, a number as it stands on the wire, where a name (of a QP, a region, an address) is usual;
// for `psn` one that does not count from the first.
struct Absolute {
    Expr value;
};

// An address of ours or of the DUT's: `tester`, `dut`, the name of a `tester address`, and `dut+1`.
// In ip.* fields the IP address, in eth.* fields the MAC address.
struct Address {
    std::string name;
    std::int64_t offset = 0;
    SourceSpan span;
};

enum class PatternKind : std::uint8_t { Zero, Ones, Offsets, Random };
using Pattern = std::variant<PatternKind, HexBytes>;

// What a packet's field is written as or compared with. ValueRange stands in `<` lines only.
// A bare Expr for destqp, srcqp, rkey, ikey, va contains the name of a QP or region.
using Value = std::variant<Expr, ValueRange, Absolute, Address, wire::NakCode, wire::IcrcKind,
                           wire::UdpChecksumKind, RegionSlice, HexBytes>;

// --- packets ----------------------------------------------------------------------------------

// The empty name is the case's own QP. An index picks one of `qp NAME[COUNT]`.
struct QpRef {
    std::string name;
    std::optional<Expr> index;
    SourceSpan span;
};

// An opcode by its code: the service is that of the QP's type.
struct Opcode {
    std::uint8_t code = 0;
};
// ACK, NAK, RNR_NAK: an acknowledge by its syndrome.
enum class Acknowledgement : std::uint8_t { Ack, Nak, RnrNak };
// A whole message: all its packets in order.
enum class Message : std::uint8_t {
    Send,
    SendWithImm,
    SendWithInv,
    RdmaWrite,
    RdmaWriteWithImm,
    RdmaReadResponse,
};
// `< = NAME`: the packet of that name again, equal from opcode to payload except AckReq.
struct SameAs {
    std::string name;
};
using PacketKind = std::variant<Opcode, Acknowledgement, Message, SameAs>;

struct FieldWrite {
    FieldName field;
    Value value;
    SourceSpan span;
};

enum class Comparison : std::uint8_t { Equal, NotEqual, AtMost, AtLeast };

struct FieldMatch {
    FieldName field;
    Comparison comparison = Comparison::Equal; // Equal to a ValueRange: inside it
    Value value;
    SourceSpan span;
};

struct FlipBit {
    std::variant<wire::Field, Expr> where; // a field, or @BYTE from the IP header on
    Expr bit;
};

// Done last, in this order, after ICRC and checksums.
struct DamageSpec {
    std::optional<Expr> truncate;
    std::optional<Expr> cut;
    std::optional<Expr> trailer;
    std::vector<FlipBit> flips;
};

// [QP] > OPCODE FIELD…
struct SendPacket {
    QpRef qp;
    PacketKind kind;                // never SameAs
    std::vector<FieldWrite> fields; // in the order in which they are written; flags are 1
    DamageSpec damage;
    bool rocev1 = false;       // encap=rocev1
    std::optional<Expr> after; // not before this long after the QP's latest earlier packet
    std::optional<Word> as;
};

// > RAW hex"…": a whole frame, Ethernet header first.
struct SendRaw {
    HexBytes frame;
};
// > FRAGMENT of NAME at=N len=N: an IPv4 fragment of a packet that was sent `as NAME`.
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
// > CM_REQ field=…, < CM_REP …; the fields are chapter CM's.
struct CmField {
    std::string name;
    Comparison comparison = Comparison::Equal;
    Value value;
    SourceSpan span;
};
struct CmMessage {
    bool send = true;
    Word type;
    std::vector<CmField> fields;
    std::optional<Expr> within;
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
    std::optional<Expr> within;      // ns from the end of the previous line; else the patience
    std::optional<ValueRange> after; // ns from the QP's latest earlier packet, either direction
    std::optional<Measure> measure;
    std::optional<Word> as;
    bool exact = false;
};

// --- the two sides ----------------------------------------------------------------------------

enum class Side : std::uint8_t { Dut, Tester };

// FIELD=… of `qp`, `tester qp`, `modify`, `mr`: a number, or a word of the field's own list
// (RTS, remote_write, a CQ's or an address's name).
struct Attribute {
    std::string name;
    std::variant<Expr, std::vector<Word>> value; // several words only for access
    SourceSpan span;
};

// A key: that of a region, `a`, or one that is wrong, `a+1`, `abs:0`.
using Key = std::variant<Expr, Absolute>;

struct Post {
    wire::WrOpcode operation = wire::WrOpcode::Send;
    IdRange ids; // more than one: one chain, one doorbell
    std::vector<RegionSlice> local;
    std::optional<RegionSlice> remote;
    std::optional<Expr> length;
    std::optional<Expr> imm;
    std::optional<Expr> compare;
    std::optional<Expr> swap;
    std::optional<Expr> add;
    std::optional<Key> ikey; // of the region or window to invalidate
    std::optional<Key> lkey; // instead of the local region's
    std::optional<Key> rkey; // instead of the remote region's
    std::optional<Word> mw;  // the window of a BIND_MW
    std::vector<Word> access;
    bool fence = false;
    bool inline_data = false;
    bool solicited = false;
    bool unsignaled = false;
};
struct Recv {
    IdRange ids;
    std::optional<Expr> length; // 256 bytes if neither this nor `local` is written
    std::vector<RegionSlice> local;
    std::optional<Key> lkey;
    std::optional<Word> srq;
};
struct MakeMr {
    Word name;
    Expr length;
    std::vector<Word> access; // words of ibv_access_flags in lower case: remote_write, ...
    std::optional<Pattern> fill;
    std::optional<Expr> pd;
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
struct ArmCq {
    Word cq;
    bool solicited = false;
};
struct Modify {
    std::vector<Attribute> attributes;
};
struct Reconnect {
    std::optional<Expr> psn;
    std::optional<Expr> tester_psn;
};
enum class Queue : std::uint8_t { Send, Recv };
struct Done { // completions in this order, each exactly once, no other before
    Queue queue = Queue::Send;
    IdRange ids;
    // ibv_wc_status without prefix, any one of them; FAILED is all but SUCCESS.
    std::vector<std::string> statuses{"SUCCESS"};
    std::optional<Expr> length;
    std::optional<Expr> imm;
    std::optional<Word> opcode; // ibv_wc_opcode without prefix
    std::optional<Expr> within;
};
struct State {
    std::string state; // RESET INIT RTR RTS SQD SQE ERR
    std::optional<Expr> within;
};
struct EventSeen {
    std::string type; // ibv_event_type without prefix
    std::optional<Expr> within;
};
struct Notified {
    Word cq;
    std::optional<Expr> within;
};
struct CqQuiet { // dut quiet CQ [for T]: no notification
    Word cq;
    std::optional<Expr> time; // ns; else the settle time
};
struct Counter { // dut counter NAME += N: since the case began
    Word name;
    Expr by;
};

// `tester answers`: from here our engine is an honest peer on this QP.
struct Answers {};

using Command =
    std::variant<Post, Recv, MakeMr, MakeMw, Dereg, WriteMemory, MakeCq, MakeSrq, ArmCq, Modify,
                 Reconnect, Done, State, EventSeen, Notified, CqQuiet, Counter, Answers>;

// dut …, tester …
struct SideCommand {
    Side side = Side::Dut;
    QpRef qp;
    Command command;
    bool refused = false; // `dut refuses …`: the verb must fail
};

// --- what is judged ---------------------------------------------------------------------------

struct FaultLine {
    fault::Rule rule; // `line` is that of the script
};

struct Untouched {}; // as it was filled or last written
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
struct Dropped { // quiet, no completion, no event, state unchanged, then a SEND works
    QpRef qp;
};
struct Judged { // whatever the reference model allows
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
// repeat N … end, repeat NAME in A..B … end
struct Repeat {
    std::variant<Expr, ValueRange> times; // a count; or the range that `counter` runs through
    std::optional<Word> counter;
    Block body;
};

struct Statement {
    std::variant<SendPacket, SendRaw, SendFragment, SendPfc, CmMessage, ExpectPacket, SideCommand,
                 FaultLine, ExpectRegion, No, Quiet, Dropped, Judged, Wait, AnyBlock, Unordered,
                 Repeat>
        node;
    SourceSpan span; // the whole line without its comment; of a block, its first line
};

struct Alternative {
    std::optional<std::string> warn; // its text: taking this alternative gives WARN
    Block body;
    SourceSpan span; // of `any` or `or`
};

// --- the case ---------------------------------------------------------------------------------

// What a case is about: the role of the device that it tests.
using rules::Level;
using rules::Role;

// qp [NAME[COUNT]] FIELD=…. The case's own QP has the empty name.
struct QpSetup {
    std::string name;
    std::uint32_t count = 1;
    std::vector<Attribute> attributes; // the last of a name counts
    SourceSpan span;

    [[nodiscard]] const Attribute* attribute(std::string_view wanted) const {
        for (auto one = attributes.rbegin(); one != attributes.rend(); ++one) {
            if (one->name == wanted) return &*one;
        }
        return nullptr;
    }
};

// A capability of the DUT's contract or of the link; `at_least` only for "mtu>=4096".
struct Need {
    std::string word;
    std::optional<std::int64_t> at_least;
    SourceSpan span;
};

struct Let {
    Word name;
    Expr value;
};

// for NAME in …; `attribute` if it was written qp.FIELD (the name is then FIELD).
struct For {
    Word name;
    bool attribute = false;
    // A number, a range of numbers, or words: opcodes, fields, icrc kinds. A class (`requests`,
    // `responses`, `all`) has already become its opcodes.
    std::vector<std::variant<Expr, ValueRange, Word>> values;
};

struct Case {
    std::string path;  // as it was given to load
    std::string group; // the id is group/name: "responder", "gap" of ".../responder/gap.roce"
    std::string name;
    std::vector<Word> rules; // exist in the catalogue
    std::string title;       // with its {name}s
    Role role = Role::Both;
    Level level = Level::Must; // as written, else that of the first rule
    std::vector<Need> needs;
    std::vector<Word> unless;
    std::vector<Word> tags;
    std::vector<Let> lets;
    std::vector<For> fors;
    std::vector<Word> tester_addresses;
    std::string text; // the file

    [[nodiscard]] std::string id() const { return group.empty() ? name : group + "/" + name; }
    [[nodiscard]] bool tagged(std::string_view tag) const {
        for (const auto& word : tags) {
            if (word.text == tag) return true;
        }
        return false;
    }
    // The source line that a span stands in, without its end and comment; empty beyond the end.
    [[nodiscard]] std::string_view line_text(const SourceSpan& span) const;
};

// What a `for` name is in one run.
struct Binding {
    std::string name;
    std::variant<std::int64_t, std::string> value;
};

struct Run {
    std::string suffix; // "[mtu=256,n=1]"; empty if the case has no `for`
    std::vector<Binding> bindings;
    std::string title; // {name}s replaced
    // The case's own QP is always there and the first; attributes of `for qp.FIELD` are in it.
    std::vector<QpSetup> qps;
    std::vector<QpSetup> tester_qps;
    Block body;
};

} // namespace veriroce::script
