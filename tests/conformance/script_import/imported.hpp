// Scripts made of captures and of packets by hand, and how they are played.
#pragma once

#include <algorithm>

#include "conformance/script_import/script_import.hpp"
#include "tests/conformance/plan/playing.hpp"
#include "tests/dissector/flow/captured.hpp"

namespace veriroce::script_import::test {

using flow::test::Wire;

inline std::vector<Found> connections_in(const std::vector<flow::test::Frame>& frames) {
    Survey survey;
    decode::Dissection dissection;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        flow::test::dissect(frames[i], i + 1, dissection);
        survey.feed(dissection);
    }
    return survey.connections();
}

inline Conversation conversation_in(const std::vector<flow::test::Frame>& frames, Found found) {
    Recorder recorder(std::move(found));
    decode::Dissection dissection;
    for (std::size_t i = 0; i < frames.size(); ++i) {
        flow::test::dissect(frames[i], i + 1, dissection);
        recorder.feed(dissection);
    }
    return recorder.take();
}

// The only connection of packets by hand.
inline Conversation conversation_of(const std::vector<flow::Packet>& packets) {
    Survey survey;
    for (const flow::Packet& packet : packets)
        survey.feed(packet);
    const auto found = survey.connections();
    REQUIRE(found.size() == 1);
    Recorder recorder(found.front());
    for (const flow::Packet& packet : packets)
        recorder.feed(packet);
    return recorder.take();
}

inline std::string script_by_hand(const std::vector<flow::Packet>& packets, Choice choice = {}) {
    choice.source = "by-hand.pcap";
    const auto script = script_of(conversation_of(packets), choice);
    if (!script) FAIL(script.error());
    return *script;
}

inline bool says(const std::string& script, std::string_view line) {
    return script.find(line) != std::string::npos;
}

inline std::size_t lines_beginning(const std::string& script, std::string_view head) {
    std::size_t count = script.starts_with(head) ? 1 : 0;
    for (std::size_t at = script.find('\n'); at != std::string::npos;
         at = script.find('\n', at + 1))
        count += std::string_view(script).substr(at + 1).starts_with(head) ? 1 : 0;
    return count;
}

// The script compiles and is laid out.
inline interpreter::CaseResult
play_laid_out(const std::string& script,
              testbed::VirtualTestbedOptions device = veriroce::test::right_engine()) {
    const auto laid_out = script::format("made/up.roce", script);
    REQUIRE(laid_out.has_value());
    CHECK(*laid_out == script);
    return veriroce::test::play_script(script, std::move(device));
}

inline void check_passes(const std::string& script) {
    const interpreter::CaseResult result = play_laid_out(script);
    INFO(veriroce::test::text_of(result));
    CHECK(result.verdict == interpreter::Verdict::Pass);
}

} // namespace veriroce::script_import::test
