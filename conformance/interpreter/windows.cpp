// Memory windows, and the end of regions and windows: dut mw, post BIND_MW, dereg.
#include <algorithm>

#include <fmt/format.h>

#include "conformance/interpreter/interpreter.hpp"

namespace veriroce::interpreter {
namespace {

// As ibv_inc_rkey: the same window, the next lowest byte.
wire::Rkey incremented(wire::Rkey key) {
    constexpr std::uint32_t variant = 0xFF;
    return {(key.value & ~variant) | ((key.value + 1) & variant)};
}

// What a region allows a peer.
engine::Access remote_rights(engine::Access region) {
    return {.remote_write = region.remote_write,
            .remote_read = region.remote_read,
            .remote_atomic = region.remote_atomic};
}

} // namespace

Window* Interpreter::window(std::string_view name) {
    const auto found = std::ranges::find(windows_, name, &Window::name);
    return found == windows_.end() ? nullptr : &*found;
}

Task<Met<>> Interpreter::make_window(const script::MakeMw& line, script::SourceSpan span) {
    const auto region = std::ranges::find(regions_, line.on.text, &Memory::name);
    if (region == regions_.end() || region->side != script::Side::Dut) {
        co_return std::unexpected(
            error(span, fmt::format("'{}' is no region of the DUT", line.on.text)));
    }
    dut::Request call = dut::MwAlloc{.pd = region->pd, .type = line.type};
    const auto made = co_await ask<dut::MwAllocated>(std::move(call), span);
    if (!made) co_return std::unexpected(made.error());
    windows_.push_back({.name = line.name.text,
                        .on = line.on.text,
                        .type = line.type,
                        .mw = made->mw,
                        .rkey = made->rkey});
    line_ended();
    co_return Met<>{};
}

// Type 1 by the verb, which says the new key; type 2 by a work request, which names it: the next
// variant of the old one unless `rkey=` is written.
Task<Met<>> Interpreter::bind(Peer& peer, const script::Post& post, script::SourceSpan span) {
    Window* bound = post.mw ? window(post.mw->text) : nullptr;
    if (bound == nullptr) co_return std::unexpected(error(span, "BIND_MW needs mw=WINDOW"));
    const auto ids = ids_of(post.ids, peer);
    if (!ids) co_return std::unexpected(ids.error());
    script::RegionSlice whole{.region = bound->on, .span = span};
    const auto piece = piece_of(post.local.empty() ? whole : post.local.front(), peer);
    if (!piece) co_return std::unexpected(piece.error());
    const engine::Access access =
        post.access.empty() ? remote_rights(piece->memory->access) : rights_of(post.access, {});
    wire::Rkey key = incremented(bound->rkey);
    if (post.rkey) {
        const auto written = key_of(*post.rkey, peer);
        if (!written) co_return std::unexpected(written.error());
        key = {*written};
    }
    if (bound->type == 1) {
        dut::Request call = dut::MwBind{.qp = peer.dut_qp,
                                        .mw = bound->mw,
                                        .mr = piece->memory->mr,
                                        .offset = piece->offset,
                                        .length = piece->length,
                                        .access = access,
                                        .id = static_cast<std::uint64_t>(ids->first)};
        const auto done = co_await ask<dut::MwBound>(std::move(call), span);
        if (!done) co_return std::unexpected(done.error());
        bound->rkey = done->rkey;
    } else {
        dut::SendRequest request{.id = static_cast<std::uint64_t>(ids->first),
                                 .opcode = engine::WrOpcode::BindMw,
                                 .rkey = key,
                                 .mw = bound->mw,
                                 .bind = dut::Bind{.mr = piece->memory->mr,
                                                   .offset = piece->offset,
                                                   .length = piece->length,
                                                   .access = access},
                                 .flags = {.signaled = !post.unsignaled, .fence = post.fence}};
        dut::PostSend chain{.qp = peer.dut_qp};
        chain.requests.push_back(std::move(request));
        dut::Request call = std::move(chain);
        const auto posted = co_await ask<dut::Posted>(std::move(call), span);
        if (!posted) co_return std::unexpected(posted.error());
        bound->rkey = key;
    }
    bound->address = access.zero_based ? 0 : piece->memory->address + piece->offset;
    line_ended();
    co_return Met<>{};
}

Task<Met<>> Interpreter::deregister(const script::Dereg& line, script::SourceSpan span) {
    dut::Request call;
    const auto region = std::ranges::find(regions_, line.name.text, &Memory::name);
    if (const Window* closed = window(line.name.text)) {
        call = dut::MwDealloc{.mw = closed->mw};
    } else if (region == regions_.end() || region->side != script::Side::Dut || region->gone) {
        co_return std::unexpected(
            error(span, fmt::format("'{}' is no region of the DUT", line.name.text)));
    } else {
        // Its guard pages go with it: they are looked at now.
        const Met<> guarded = co_await guards_intact(*region, span);
        if (!guarded) co_return guarded;
        call = dut::MrDeregister{.mr = region->mr};
    }
    const auto done = co_await ask<dut::Done>(std::move(call), span);
    line_ended();
    if (!done) co_return std::unexpected(done.error());
    if (region != regions_.end()) region->gone = true;
    co_return Met<>{};
}

} // namespace veriroce::interpreter
