// A walk over the statements of a run, blocks within blocks.
#pragma once

#include "conformance/script/ast.hpp"

namespace veriroce::interpreter {

// Calls `visit` with every statement, outer ones first, in the order in which they are written.
template <typename Visit>
void each_statement(const script::Block& block, const Visit& visit) {
    for (const script::Statement& one : block) {
        visit(one);
        if (const auto* any = std::get_if<script::AnyBlock>(&one.node)) {
            for (const script::Alternative& alternative : any->alternatives)
                each_statement(alternative.body, visit);
        }
        if (const auto* set = std::get_if<script::Unordered>(&one.node)) {
            each_statement(set->body, visit);
        }
        if (const auto* loop = std::get_if<script::Repeat>(&one.node)) {
            each_statement(loop->body, visit);
        }
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
