#include "conformance/interpreter/regions.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/dut/pattern.hpp"
#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/patience.hpp"
#include "conformance/interpreter/queues.hpp"
#include "conformance/interpreter/tester_peer.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/model/shadow.hpp"

namespace veriroce::interpreter {
namespace {

constexpr std::size_t kBytesThatShow = 8; // differing bytes that a finding shows

// Writes the pattern to `bytes`; hex bytes repeat to the end.
void fill(wire::MutableBytes bytes, const script::Pattern& pattern, std::uint64_t offset,
          std::uint64_t key) {
    if (const auto* kind = std::get_if<script::PatternKind>(&pattern)) {
        dut::write_pattern(bytes, *kind, offset, key);
        return;
    }
    const auto& hex = std::get<script::HexBytes>(pattern).bytes;
    for (std::size_t i = 0; i < bytes.size() && !hex.empty(); ++i)
        bytes[i] = hex[i % hex.size()];
}

void take(Memory& memory, const dut::MrRegistered& made) {
    memory.mr = made.mr;
    memory.address = made.address;
    memory.rkey = made.rkey;
    memory.lkey = made.lkey;
}

std::string hex_from(const std::vector<std::byte>& bytes, std::size_t at) {
    std::string text;
    for (std::size_t i = at; i < std::min(bytes.size(), at + kBytesThatShow); ++i)
        text +=
            fmt::format("{}{:02x}", text.empty() ? "" : " ", std::to_integer<unsigned>(bytes[i]));
    return text.empty() ? "none" : text;
}

// The content that the line expects in the region.
class WantedContent {
  public:
    WantedContent(Interpreter& interpreter, const Piece& piece, Span span)
        : interpreter_(interpreter), piece_(piece), span_(span) {}

    Task<Met<std::vector<std::byte>>> operator()(const script::RegionSlice& other) const {
        Objects& objects = interpreter_.objects();
        const Piece held = co_await piece_of(objects, other, objects.own_qp());
        std::vector<std::byte> bytes = co_await read_memory(interpreter_, held, span_);
        co_return std::move(bytes);
    }
    Task<Met<std::vector<std::byte>>> operator()(const script::PatternKind& kind) const {
        std::vector<std::byte> bytes(piece_.length);
        fill(bytes, kind, piece_.offset, piece_.memory->pattern_key);
        co_return std::move(bytes);
    }
    Task<Met<std::vector<std::byte>>> operator()(const script::HexBytes& hex) const {
        co_return hex.bytes;
    }
    Task<Met<std::vector<std::byte>>> operator()(const script::Untouched& /*untouched*/) const {
        const Memory& memory = *piece_.memory;
        const wire::Bytes whole = memory.side == Side::Dut ? memory.bytes : memory.written;
        const wire::Bytes before = whole.subspan(piece_.offset, piece_.length);
        co_return std::vector<std::byte>(before.begin(), before.end());
    }

  private:
    Interpreter& interpreter_;
    const Piece& piece_;
    Span span_;
};

// ACK-05: whether bytes that differ may be right later, because packets changed memory of the DUT
// that its owner does not see yet. What must be untouched can only become worse. If a completion
// says that the bytes are visible, the model finds the first look that differs.
bool may_become_visible(Objects& objects, const Piece& piece,
                        const decltype(script::ExpectRegion::holds)& holds) {
    if (std::holds_alternative<script::Untouched>(holds)) return false;
    const auto* other = std::get_if<script::RegionSlice>(&holds);
    const Memory* named = other == nullptr ? nullptr : objects.region(other->region);
    return piece.memory->side == Side::Dut || (named != nullptr && named->side == Side::Dut);
}

engine::Access rights_of(const script::MakeMr& line) {
    return line.read_only ? line.access : line.access | kOwnRights;
}

} // namespace

// --- making -----------------------------------------------------------------------------------

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeMr& line, Span span) {
    Objects& objects = interpreter.objects();
    const std::int64_t length = co_await number(objects, line.length, objects.own_qp());
    const std::int64_t pd_number = co_await number_or(objects, line.pd, 1, objects.own_qp());
    const dut::PdHandle pd = co_await domain(interpreter, pd_number, span);
    Memory memory{.name = line.name.text,
                  .side = Side::Dut,
                  .access = rights_of(line),
                  .pattern_key = objects.next_pattern_key(),
                  .pd = pd};
    memory.bytes.resize(static_cast<std::size_t>(length));
    dut::MrRegister request{
        .pd = pd, .length = static_cast<std::uint64_t>(length), .access = memory.access};
    const auto* kind = line.fill ? std::get_if<script::PatternKind>(&*line.fill) : nullptr;
    if (kind != nullptr) request.fill = dut::Fill{*kind, memory.pattern_key};
    if (line.fill) fill(memory.bytes, *line.fill, 0, memory.pattern_key);
    if (line.iova) {
        const std::int64_t iova = co_await number(objects, *line.iova, objects.own_qp());
        request.iova = static_cast<std::uint64_t>(iova);
    }
    const std::optional<std::uint64_t> iova = request.iova;
    dut::Request call = std::move(request);
    const dut::MrRegistered made =
        co_await ask<dut::MrRegistered>(interpreter, std::move(call), span);
    if (iova && made.address != *iova) // an agent of the first contract
        co_return unsupported(span, "the agent registers no region at a chosen address");
    take(memory, made);
    if (line.fill && kind == nullptr) {
        dut::Request write = dut::MrWrite{.mr = memory.mr, .offset = 0, .data = memory.bytes};
        co_await ask<dut::Done>(interpreter, std::move(write), span);
    }
    objects.regions.push_back(std::move(memory));
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Met<> make_tester_region(Interpreter& interpreter, const script::MakeMr& line, Span span) {
    Objects& objects = interpreter.objects();
    const auto length = number(objects, line.length, objects.own_qp());
    if (!length) return std::unexpected(length.error());
    const auto iova =
        number_or(objects, line.iova,
                  static_cast<std::int64_t>(TesterPeer::address_of_region(objects.regions.size())),
                  objects.own_qp());
    if (!iova) return std::unexpected(iova.error());
    Memory& memory =
        objects.regions.emplace_back(Memory{.name = line.name.text,
                                            .side = Side::Tester,
                                            .address = static_cast<std::uint64_t>(*iova),
                                            .access = rights_of(line),
                                            .pattern_key = objects.next_pattern_key()});
    memory.bytes.resize(static_cast<std::size_t>(*length));
    if (line.fill) fill(memory.bytes, *line.fill, 0, memory.pattern_key);
    memory.written = memory.bytes;
    return interpreter.tester().register_region(memory, span);
}

Met<Memory*> anonymous_tester_region(Interpreter& interpreter, std::uint64_t length, Span span) {
    Objects& objects = interpreter.objects();
    Memory& memory = objects.regions.emplace_back(
        Memory{.side = Side::Tester,
               .address = TesterPeer::address_of_region(objects.regions.size()),
               .access = {.local_write = true},
               .pattern_key = objects.next_pattern_key()});
    memory.bytes.resize(static_cast<std::size_t>(length));
    dut::write_pattern(memory.bytes, dut::Pattern::Offsets, 0, memory.pattern_key);
    const Met<> registered = interpreter.tester().register_region(memory, span);
    if (!registered) return std::unexpected(registered.error());
    return &memory;
}

Task<Met<Memory*>> anonymous_region(Interpreter& interpreter, std::uint64_t length,
                                    dut::PdHandle pd, std::string purpose, Span span) {
    Objects& objects = interpreter.objects();
    Memory memory{.purpose = std::move(purpose),
                  .access = {.local_write = true},
                  .pattern_key = objects.next_pattern_key(),
                  .pd = pd};
    memory.bytes.resize(static_cast<std::size_t>(length));
    dut::write_pattern(memory.bytes, dut::Pattern::Offsets, 0, memory.pattern_key);
    dut::Request call =
        dut::MrRegister{.pd = pd,
                        .length = length,
                        .access = memory.access,
                        .fill = dut::Fill{dut::Pattern::Offsets, memory.pattern_key}};
    const dut::MrRegistered made =
        co_await ask<dut::MrRegistered>(interpreter, std::move(call), span);
    take(memory, made);
    objects.regions.push_back(std::move(memory));
    co_return &objects.regions.back();
}

// --- writing and reading ----------------------------------------------------------------------

Task<Met<>> play_dut(Interpreter& interpreter, const script::WriteMemory& line, Span span) {
    Objects& objects = interpreter.objects();
    const Piece piece = co_await piece_of(objects, line.where, objects.own_qp());
    Memory& memory = *piece.memory;
    const auto bytes = wire::MutableBytes(memory.bytes).subspan(piece.offset, piece.length);
    fill(bytes, line.pattern, piece.offset, memory.pattern_key);
    if (memory.side == Side::Tester) {
        std::ranges::copy(bytes,
                          memory.written.begin() + static_cast<std::ptrdiff_t>(piece.offset));
    } else {
        dut::Request call = dut::MrWrite{
            .mr = memory.mr, .offset = piece.offset, .data = {bytes.begin(), bytes.end()}};
        co_await ask<dut::Done>(interpreter, std::move(call), span);
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<std::vector<std::byte>>> read_memory(Interpreter& interpreter, const Piece& piece,
                                              Span span) {
    const Memory& memory = *piece.memory;
    if (memory.gone) {
        co_return unplayable(span, "the region is deregistered and cannot be read");
    }
    if (memory.side == Side::Tester) {
        const auto bytes = wire::Bytes(memory.bytes).subspan(piece.offset, piece.length);
        co_return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    if (piece.length == 0) co_return std::vector<std::byte>{};
    dut::Request call =
        dut::MrRead{.mr = memory.mr, .offset = piece.offset, .length = piece.length};
    dut::MrData data = co_await ask<dut::MrData>(interpreter, std::move(call), span);
    if (data.data.size() != piece.length) {
        co_return unplayable(span, "the DUT returned too few bytes of its region");
    }
    co_return std::move(data.data);
}

std::vector<Difference> byte_differences(const std::vector<std::byte>& expected,
                                         const std::vector<std::byte>& actual,
                                         std::uint64_t first) {
    std::vector<Difference> differences;
    if (expected.size() != actual.size()) {
        differences.push_back(
            {"bytes", fmt::format("{}", expected.size()), fmt::format("{}", actual.size())});
    }
    const auto [wanted, seen] = std::ranges::mismatch(expected, actual);
    if (wanted == expected.end() || seen == actual.end()) return differences;
    const auto at = static_cast<std::size_t>(wanted - expected.begin());
    differences.push_back({"data",
                           fmt::format("{} from byte {} on", hex_from(expected, at), first + at),
                           hex_from(actual, at)});
    return differences;
}

Task<Met<>> play(Interpreter& interpreter, const script::ExpectRegion& line, Span span) {
    Objects& objects = interpreter.objects();
    const Piece piece = co_await piece_of(objects, line.region, objects.own_qp());
    const WantedContent holds(interpreter, piece, span);
    const bool may_come = may_become_visible(objects, piece, line.holds);
    Patience patience(interpreter);
    while (true) {
        const std::vector<std::byte> seen = co_await read_memory(interpreter, piece, span);
        const std::vector<std::byte> wanted = co_await std::visit(holds, line.holds);
        auto differing = byte_differences(wanted, seen, piece.offset);
        if (differing.empty()) break;
        if (may_come) {
            const bool again = co_await patience.look_again();
            if (again) continue;
        }
        Finding finding = mismatch(span, std::move(differing), "other bytes");
        finding.detail = "region " + piece.memory->name;
        co_return failed(std::move(finding));
    }
    interpreter.clock().line_ended();
    co_return Met<>{};
}

// --- guard pages ------------------------------------------------------------------------------

Task<Met<>> guards_intact(Interpreter& interpreter) {
    for (const Memory& memory : interpreter.objects().regions) {
        if (memory.side != Side::Dut || memory.gone) continue;
        co_await guards_intact(interpreter, memory, {});
    }
    co_return Met<>{};
}

// For the model, which compares every byte with what the run may have left there.
Task<Met<>> read_for_model(Interpreter& interpreter, const Memory& memory, Span span) {
    const std::uint64_t length = memory.bytes.size();
    if (length == 0 || length > model::kMostRead) co_return Met<>{};
    dut::Request call = dut::MrRead{.mr = memory.mr, .offset = 0, .length = length};
    co_await ask<dut::MrData>(interpreter, std::move(call), span);
    co_return Met<>{};
}

Task<Met<>> guards_intact(Interpreter& interpreter, const Memory& memory, Span span) {
    if (interpreter.environment().judged) co_await read_for_model(interpreter, memory, span);
    dut::Request call = dut::MrDigest{.mr = memory.mr, .offset = 0, .length = memory.bytes.size()};
    const dut::MrDigested digest =
        co_await ask<dut::MrDigested>(interpreter, std::move(call), span);
    if (digest.guards_intact) co_return Met<>{};
    const auto where = [](std::uint64_t byte, std::string_view side) {
        return fmt::format("written, byte {} {} its first one", byte, side);
    };
    std::string found = "written";
    if (digest.guard_before) found = where(*digest.guard_before, "before");
    if (digest.guard_behind) found = where(*digest.guard_behind, "behind");
    std::vector<Difference> differing;
    differing.push_back({fmt::format("guard page beside {}",
                                     memory.name.empty() ? memory.purpose
                                                         : fmt::format("region '{}'", memory.name)),
                         "untouched", std::move(found)});
    Finding finding = mismatch(span, std::move(differing), "memory outside the region changed");
    finding.known_class = rules::FindingClass::Contradiction;
    co_return failed(std::move(finding));
}

} // namespace veriroce::interpreter
