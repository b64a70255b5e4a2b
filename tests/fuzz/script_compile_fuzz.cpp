// Any text: compiled, or refused with places inside it; what compiles can be laid out, and the
// layout is a fixed point that compiles to as many runs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "conformance/script/script.hpp"

namespace {

using namespace veriroce::script;

void require(bool holds) {
    if (!holds) std::abort();
}

void check_places(const std::vector<Diagnostic>& diagnostics) {
    require(!diagnostics.empty());
    for (const Diagnostic& one : diagnostics) {
        require(one.span.line >= 1 && one.span.column >= 1 && !one.message.empty());
        require(!one.text("x.roce").empty());
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto plan = load_plan("x.faults", text); !plan) check_places(plan.error());
    const auto compiled = compile("group/x.roce", text);
    if (!compiled) {
        check_places(compiled.error());
        return 0;
    }
    require(!compiled->runs.empty());
    const auto once = format("group/x.roce", text);
    if (!once) {
        check_places(once.error());
        return 0;
    }
    const auto twice = format("group/x.roce", *once);
    require(twice && *twice == *once);
    const auto again = compile("group/x.roce", *once);
    require(again.has_value());
    require(again->runs.size() == compiled->runs.size());
    return 0;
}
