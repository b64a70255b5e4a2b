// Any packets are a capture: each connection in it gives a script, or a reason. A script compiles,
// is laid out as the formatter would, and uses nothing that cannot be run.
#include <cassert>

#include "conformance/script/script.hpp"
#include "conformance/script_import/script_import.hpp"
#include "tests/fuzz/history.hpp"

using namespace veriroce;

namespace {

void check(const std::string& text) {
    const auto compiled = script::compile("made/up.roce", text);
    assert(compiled && !compiled->runs.empty());
    const auto laid_out = script::format("made/up.roce", text);
    assert(laid_out && *laid_out == text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    script_import::Survey survey;
    fuzz::each_packet(bytes, [&](const flow::Packet& packet) { survey.feed(packet); });
    for (const script_import::Found& found : survey.connections()) {
        script_import::Recorder recorder(found);
        fuzz::each_packet(bytes, [&](const flow::Packet& packet) { recorder.feed(packet); });
        const script_import::Conversation conversation = recorder.take();
        for (const auto part : {script_import::Part::Requester, script_import::Part::Responder}) {
            for (const script_import::FoundEnd& end : found.ends) {
                const script_import::Choice choice{
                    .tester = part, .asking = end.address, .source = "any.pcap"};
                const auto script = script_import::script_of(conversation, choice);
                if (script) check(*script);
                assert(script || !script.error().empty());
            }
        }
    }
    return 0;
}
