#include "conformance/interpreter/windows.hpp"

#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/dut_calls.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/regions.hpp"
#include "conformance/interpreter/values.hpp"

namespace veriroce::interpreter {
namespace {

// As ibv_inc_rkey does: adds 1 to the lowest byte.
wire::Rkey incremented(wire::Rkey key) {
    constexpr std::uint32_t variant = 0xFF;
    return {(key.value & ~variant) | ((key.value + 1) & variant)};
}

// The rights of a region that concern a peer.
engine::Access remote_rights(engine::Access region) {
    return {.remote_write = region.remote_write,
            .remote_read = region.remote_read,
            .remote_atomic = region.remote_atomic};
}

std::unexpected<Unmet> no_region(const script::Word& name, Span span) {
    return unplayable(span, fmt::format("'{}' is not a region of the DUT", name.text));
}

} // namespace

Task<Met<>> play_dut(Interpreter& interpreter, const script::MakeMw& line, Span span) {
    Objects& objects = interpreter.objects();
    const Memory* region = objects.region(line.on.text);
    if (region == nullptr || region->side != Side::Dut) co_return no_region(line.on, span);
    dut::Request call = dut::MwAlloc{.pd = region->pd, .type = line.type};
    const dut::MwAllocated made =
        co_await ask<dut::MwAllocated>(interpreter, std::move(call), span);
    objects.windows.push_back({.name = line.name.text,
                               .on = line.on.text,
                               .type = line.type,
                               .mw = made.mw,
                               .rkey = made.rkey});
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> bind_window(Interpreter& interpreter, CaseQp& qp, const script::Post& post, Span span) {
    Objects& objects = interpreter.objects();
    Window* bound = post.mw ? objects.window(post.mw->text) : nullptr;
    if (bound == nullptr) co_return unplayable(span, "BIND_MW needs mw=WINDOW");
    const Ids ids = co_await ids_of(objects, post.ids, qp);
    const script::RegionSlice whole{.region = bound->on, .span = span};
    const Piece piece =
        co_await piece_of(objects, post.local.empty() ? whole : post.local.front(), qp);
    const auto length = static_cast<std::uint64_t>(
        co_await number_or(objects, post.length, static_cast<std::int64_t>(piece.length), qp));
    const engine::Access access = post.access ? *post.access : remote_rights(piece.memory->access);
    wire::Rkey key = incremented(bound->rkey);
    if (post.rkey) {
        const std::uint32_t written = co_await key_of(objects, *post.rkey, qp);
        key = {written};
    }
    if (bound->type == 1) {
        dut::Request call = dut::MwBind{.qp = qp.dut_qp,
                                        .mw = bound->mw,
                                        .mr = piece.memory->mr,
                                        .offset = piece.offset,
                                        .length = length,
                                        .access = access,
                                        .id = static_cast<std::uint64_t>(ids.first)};
        const dut::MwBound done = co_await ask<dut::MwBound>(interpreter, std::move(call), span);
        bound->rkey = done.rkey;
    } else {
        dut::SendRequest request{.id = static_cast<std::uint64_t>(ids.first),
                                 .opcode = engine::WrOpcode::BindMw,
                                 .rkey = key,
                                 .mw = bound->mw,
                                 .bind = dut::Bind{.mr = piece.memory->mr,
                                                   .offset = piece.offset,
                                                   .length = length,
                                                   .access = access},
                                 .flags = {.signaled = !post.unsignaled, .fence = post.fence}};
        dut::PostSend chain{.qp = qp.dut_qp};
        chain.requests.push_back(std::move(request));
        dut::Request call = std::move(chain);
        co_await ask<dut::Posted>(interpreter, std::move(call), span);
        bound->rkey = key;
    }
    bound->address = access.zero_based ? 0 : piece.memory->address + piece.offset;
    interpreter.clock().line_ended();
    co_return Met<>{};
}

Task<Met<>> play_dut(Interpreter& interpreter, const script::Dereg& line, Span span) {
    Objects& objects = interpreter.objects();
    Memory* region = objects.region(line.name.text);
    dut::Request call;
    if (const Window* closed = objects.window(line.name.text)) {
        call = dut::MwDealloc{.mw = closed->mw};
    } else if (region == nullptr || region->side != Side::Dut || region->gone) {
        co_return no_region(line.name, span);
    } else {
        // The guard pages disappear with the region, so they are checked now.
        co_await guards_intact(interpreter, *region, span);
        call = dut::MrDeregister{.mr = region->mr};
    }
    const auto done = co_await outcome_of(ask<dut::Done>(interpreter, std::move(call), span));
    interpreter.clock().line_ended();
    if (!done) co_return std::unexpected(done.error());
    if (region != nullptr) region->gone = true;
    co_return Met<>{};
}

} // namespace veriroce::interpreter
