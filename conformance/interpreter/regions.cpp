// Memory of both sides: dut mr, tester mr, write, expect.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/dut/pattern.hpp"
#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {
namespace {

// Where the tester's regions begin; a virtual address needs no memory behind it of the same number.
constexpr std::uint64_t tester_memory = 0x7E57'0000'0000;
constexpr std::uint64_t tester_spacing = 0x1'0000'0000;

dut::Pattern pattern_of(script::PatternKind kind) {
    switch (kind) {
    case script::PatternKind::Zero: return dut::Pattern::Zero;
    case script::PatternKind::Ones: return dut::Pattern::Ones;
    case script::PatternKind::Offsets: return dut::Pattern::Offsets;
    case script::PatternKind::Random: return dut::Pattern::Random;
    }
    return dut::Pattern::Zero;
}

// What a fill or a write leaves in `bytes`; hex bytes repeat to its end.
void fill(wire::MutableBytes bytes, const script::Pattern& pattern, std::uint64_t offset,
          std::uint64_t key) {
    if (const auto* kind = std::get_if<script::PatternKind>(&pattern)) {
        dut::write_pattern(bytes, pattern_of(*kind), offset, key);
        return;
    }
    const auto& hex = std::get<script::HexBytes>(pattern).bytes;
    for (std::size_t i = 0; i < bytes.size() && !hex.empty(); ++i)
        bytes[i] = hex[i % hex.size()];
}

} // namespace

Met<Interpreter::Piece> Interpreter::piece_of(const script::RegionSlice& slice, const Peer& peer) {
    const auto found = std::ranges::find(regions_, slice.region, &Memory::name);
    if (found == regions_.end()) {
        return std::unexpected(
            error(slice.span, fmt::format("no region is called '{}'", slice.region)));
    }
    Piece piece{.memory = &*found, .offset = 0, .length = found->bytes.size()};
    if (slice.offset) {
        const auto offset = number(*slice.offset, peer);
        if (!offset) return std::unexpected(offset.error());
        piece.offset = static_cast<std::uint64_t>(*offset);
    }
    piece.length = found->bytes.size() - std::min<std::uint64_t>(piece.offset, found->bytes.size());
    if (slice.length) {
        const auto length = number(*slice.length, peer);
        if (!length) return std::unexpected(length.error());
        piece.length = static_cast<std::uint64_t>(*length);
    }
    if (piece.offset > found->bytes.size() || piece.length > found->bytes.size() - piece.offset) {
        return std::unexpected(error(
            slice.span, fmt::format("'{}' has only {} bytes", slice.region, found->bytes.size())));
    }
    return piece;
}

Task<Met<>> Interpreter::make_region(const script::MakeMr& mr, script::Side side,
                                     script::SourceSpan span) {
    if (side == script::Side::Tester) co_return make_tester_region(mr, span);
    const auto length = number(mr.length, peers_.begin()->second);
    if (!length) co_return std::unexpected(length.error());
    Met<std::int64_t> domain_number = 1;
    if (mr.pd) domain_number = number(*mr.pd, peers_.begin()->second);
    if (!domain_number) co_return std::unexpected(domain_number.error());
    const auto pd = co_await domain(*domain_number, span);
    if (!pd) co_return std::unexpected(pd.error());
    Memory memory{.name = mr.name.text,
                  .side = side,
                  .access = rights_of(mr.access, own_rights),
                  .pattern_key = ++made_regions_ << 32,
                  .pd = *pd};
    memory.bytes.resize(static_cast<std::size_t>(*length));
    dut::MrRegister request{
        .pd = *pd, .length = static_cast<std::uint64_t>(*length), .access = memory.access};
    const auto* kind = mr.fill ? std::get_if<script::PatternKind>(&*mr.fill) : nullptr;
    if (kind != nullptr) request.fill = dut::Fill{pattern_of(*kind), memory.pattern_key};
    if (mr.fill) fill(memory.bytes, *mr.fill, 0, memory.pattern_key);
    dut::Request call = std::move(request);
    const auto made = co_await ask<dut::MrRegistered>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    memory.mr = made->mr;
    memory.address = made->address;
    memory.rkey = made->rkey;
    memory.lkey = made->lkey;
    if (mr.fill && kind == nullptr) {
        dut::Request write = dut::MrWrite{.mr = memory.mr, .offset = 0, .data = memory.bytes};
        const auto written = co_await ask<dut::Done>(std::move(write), span);
        if (!written) co_return std::unexpected(written.error());
    }
    regions_.push_back(std::move(memory));
    line_ended();
    co_return Met<>{};
}

Met<> Interpreter::make_tester_region(const script::MakeMr& mr, script::SourceSpan span) {
    const auto length = number(mr.length, peers_.begin()->second);
    if (!length) return std::unexpected(length.error());
    Memory& memory =
        regions_.emplace_back(Memory{.name = mr.name.text,
                                     .side = script::Side::Tester,
                                     .address = tester_memory + regions_.size() * tester_spacing,
                                     .access = rights_of(mr.access, own_rights),
                                     .pattern_key = ++made_regions_ << 32});
    memory.bytes.resize(static_cast<std::size_t>(*length));
    if (mr.fill) fill(memory.bytes, *mr.fill, 0, memory.pattern_key);
    memory.written = memory.bytes;
    const auto region =
        engine_->register_region(engine_pd_, memory.bytes, memory.address, memory.access);
    if (!region) return std::unexpected(error(span, "the tester's engine refused the region"));
    memory.rkey = region->rkey;
    memory.lkey = region->lkey;
    return {};
}

// A region of the tester that no line names.
Met<Memory*> Interpreter::anonymous_tester_region(std::uint64_t length, script::SourceSpan span) {
    Memory& memory =
        regions_.emplace_back(Memory{.side = script::Side::Tester,
                                     .address = tester_memory + regions_.size() * tester_spacing,
                                     .access = {.local_write = true},
                                     .pattern_key = ++made_regions_ << 32});
    memory.bytes.resize(static_cast<std::size_t>(length));
    dut::write_pattern(memory.bytes, dut::Pattern::Offsets, 0, memory.pattern_key);
    const auto region =
        engine_->register_region(engine_pd_, memory.bytes, memory.address, memory.access);
    if (!region) return std::unexpected(error(span, "the tester's engine refused a region"));
    memory.lkey = region->lkey;
    memory.rkey = region->rkey;
    return &memory;
}

// A region of the DUT that no line names: the buffer of a work request without `local`.
Task<Met<Memory*>> Interpreter::anonymous_region(std::uint64_t length, dut::PdHandle pd,
                                                 script::SourceSpan span) {
    Memory memory{.access = {.local_write = true}, .pattern_key = ++made_regions_ << 32, .pd = pd};
    memory.bytes.resize(static_cast<std::size_t>(length));
    dut::write_pattern(memory.bytes, dut::Pattern::Offsets, 0, memory.pattern_key);
    dut::Request call =
        dut::MrRegister{.pd = pd,
                        .length = length,
                        .access = memory.access,
                        .fill = dut::Fill{dut::Pattern::Offsets, memory.pattern_key}};
    const auto made = co_await ask<dut::MrRegistered>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    memory.mr = made->mr;
    memory.address = made->address;
    memory.rkey = made->rkey;
    memory.lkey = made->lkey;
    regions_.push_back(std::move(memory));
    co_return &regions_.back();
}

Task<Met<>> Interpreter::write_memory(const script::WriteMemory& write, script::SourceSpan span) {
    const auto piece = piece_of(write.where, peers_.begin()->second);
    if (!piece) co_return std::unexpected(piece.error());
    const auto bytes =
        wire::MutableBytes(piece->memory->bytes).subspan(piece->offset, piece->length);
    fill(bytes, write.pattern, piece->offset, piece->memory->pattern_key);
    if (piece->memory->side == script::Side::Tester) {
        std::ranges::copy(bytes, piece->memory->written.begin() +
                                     static_cast<std::ptrdiff_t>(piece->offset));
    } else {
        dut::Request call = dut::MrWrite{
            .mr = piece->memory->mr, .offset = piece->offset, .data = {bytes.begin(), bytes.end()}};
        const auto written = co_await ask<dut::Done>(std::move(call), span);
        if (!written) co_return std::unexpected(written.error());
    }
    line_ended();
    co_return Met<>{};
}

Task<Met<std::vector<std::byte>>> Interpreter::read_memory(const Memory& memory,
                                                           std::uint64_t offset,
                                                           std::uint64_t length,
                                                           script::SourceSpan span) {
    if (memory.gone) {
        co_return std::unexpected(error(span, "the region is deregistered: nobody can read it"));
    }
    if (memory.side == script::Side::Tester) {
        const auto bytes = wire::Bytes(memory.bytes).subspan(offset, length);
        co_return std::vector<std::byte>(bytes.begin(), bytes.end());
    }
    if (length == 0) co_return std::vector<std::byte>{};
    dut::Request call = dut::MrRead{.mr = memory.mr, .offset = offset, .length = length};
    auto data = co_await ask<dut::MrData>(std::move(call), span);
    if (!data) co_return std::unexpected(data.error());
    if (data->data.size() != length) {
        co_return std::unexpected(error(span, "the DUT returned too few bytes of its region"));
    }
    co_return std::move(data->data);
}

Task<Met<>> Interpreter::expect_region(const script::ExpectRegion& line, script::SourceSpan span) {
    const Peer& peer = peers_.begin()->second;
    const auto piece = piece_of(line.region, peer);
    if (!piece) co_return std::unexpected(piece.error());
    const auto seen = co_await read_memory(*piece->memory, piece->offset, piece->length, span);
    if (!seen) co_return std::unexpected(seen.error());

    std::vector<std::byte> wanted(seen->size());
    if (const auto* other = std::get_if<script::RegionSlice>(&line.holds)) {
        const auto held = piece_of(*other, peer);
        if (!held) co_return std::unexpected(held.error());
        auto bytes = co_await read_memory(*held->memory, held->offset, held->length, span);
        if (!bytes) co_return std::unexpected(bytes.error());
        wanted = std::move(*bytes);
    } else if (const auto* kind = std::get_if<script::PatternKind>(&line.holds)) {
        fill(wanted, *kind, piece->offset, piece->memory->pattern_key);
    } else if (const auto* hex = std::get_if<script::HexBytes>(&line.holds)) {
        wanted = hex->bytes;
    } else {
        const Memory& memory = *piece->memory;
        const wire::Bytes whole = memory.side == script::Side::Dut ? memory.bytes : memory.written;
        const auto before = whole.subspan(piece->offset, piece->length);
        wanted.assign(before.begin(), before.end());
    }
    const auto difference = std::ranges::mismatch(*seen, wanted);
    if (difference.in1 != seen->end() || difference.in2 != wanted.end()) {
        co_return std::unexpected(failed(
            span,
            fmt::format("the region differs from byte {} on",
                        piece->offset + static_cast<std::uint64_t>(difference.in1 - seen->begin())),
            fmt::format("{} bytes compared, {} expected", seen->size(), wanted.size())));
    }
    line_ended();
    co_return Met<>{};
}

// Whatever a script says: the pages around the DUT's regions are nobody's to touch.
Task<Met<>> Interpreter::guards_intact() {
    for (const Memory& memory : regions_) {
        if (memory.side != script::Side::Dut || memory.gone) continue;
        const Met<> met = co_await guards_intact(memory, {});
        if (!met) co_return met;
    }
    co_return Met<>{};
}

Task<Met<>> Interpreter::guards_intact(const Memory& memory, script::SourceSpan span) {
    dut::Request call = dut::MrDigest{.mr = memory.mr, .offset = 0, .length = memory.bytes.size()};
    const auto digest = co_await ask<dut::MrDigested>(std::move(call), span);
    if (!digest) co_return std::unexpected(digest.error());
    if (digest->guards_intact) co_return Met<>{};
    co_return std::unexpected(
        failed(span, fmt::format("a guard page beside the region '{}' was written", memory.name),
               "memory outside the region changed"));
}

} // namespace veriroce::interpreter
