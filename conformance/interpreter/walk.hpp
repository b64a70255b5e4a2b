// A walk over the statements of a run, blocks within blocks.
#pragma once

#include <variant>

#include "conformance/interpreter/one_of.hpp"
#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

template <typename Visit>
void each_statement(const script::Block& block, const Visit& visit);

namespace detail {

// The blocks that a statement holds. There is no catch-all: a new kind of block does not compile.
template <typename Visit>
struct InnerBlocks {
    const Visit& visit;

    void operator()(const script::AnyBlock& any) const {
        for (const script::Alternative& alternative : any.alternatives)
            each_statement(alternative.body, visit);
    }
    void operator()(const script::Unordered& set) const { each_statement(set.body, visit); }
    void operator()(const script::Repeat& loop) const { each_statement(loop.body, visit); }
    template <
        OneOf<script::SendPacket, script::SendRaw, script::SendFragment, script::SendPfc,
              script::ExpectPacket, script::SideCommand, script::FaultLine, script::ExpectRegion,
              script::No, script::Quiet, script::Dropped, script::Judged, script::Wait>
            Line>
    void operator()(const Line& /*line*/) const {}
};

} // namespace detail

// Calls `visit` with every statement, outer ones first, in the order in which they are written.
template <typename Visit>
void each_statement(const script::Block& block, const Visit& visit) {
    for (const script::Statement& one : block) {
        visit(one);
        std::visit(detail::InnerBlocks<Visit>{visit}, one.node);
    }
}

// The same for the commands of one kind that are not expected to be refused.
template <typename Command, typename Visit>
void each_command(const script::Block& block, const Visit& visit) {
    each_statement(block, [&](const script::Statement& one) {
        const auto* side = std::get_if<script::SideCommand>(&one.node);
        if (side == nullptr || side->refused) return;
        if (const auto* command = std::get_if<Command>(&side->command)) visit(*command, one.span);
    });
}

} // namespace veriroce::interpreter
