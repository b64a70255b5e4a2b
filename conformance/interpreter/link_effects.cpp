#include "conformance/interpreter/link_effects.hpp"

#include "conformance/interpreter/walk.hpp"

namespace veriroce::interpreter {

bool sends_pause(const script::Run& run) {
    bool any = false;
    each_statement(run.body, [&](const script::Statement& one) {
        const auto* fault = std::get_if<script::FaultLine>(&one.node);
        any = any || std::holds_alternative<script::SendPfc>(one.node) ||
              (fault != nullptr && std::holds_alternative<fault::Pause>(fault->rule.action));
    });
    return any;
}

bool sends_to_everybody(const script::Run& run) {
    bool any = false;
    each_statement(run.body, [&](const script::Statement& one) {
        const auto* raw = std::get_if<script::SendRaw>(&one.node);
        if (raw == nullptr || raw->frame.bytes.empty()) return;
        constexpr std::byte kGroup{1}; // of the destination's first byte
        any = any || (raw->frame.bytes.front() & kGroup) != std::byte{0};
    });
    return any;
}

} // namespace veriroce::interpreter
