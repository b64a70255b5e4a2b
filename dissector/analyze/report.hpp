// The analysis as text, JSON, JSON lines and CSV. Everything that is written comes from numbers and
// fixed words: no text of the capture can steer a terminal or leave a string.
//
// JSON (schema veriroce/analysis/1): {"schema", "capture": {...}, "connections": [...],
// "refusals": [...]}; JSON lines: the same objects, each with "type": "capture", "connection",
// "episode", "refusal" or "message". Times are seconds since 1970 (members in _ns: nanoseconds),
// rates bytes a second. Later versions may add members but do not rename any.
#pragma once

#include <span>
#include <string>

#include "dissector/analyze/analyzer.hpp"
#include "dissector/analyze/health.hpp"

namespace veriroce::analyze {

struct Reported {
    const Conversation* conversation = nullptr;
    Health health;
};

struct Report {
    const Totals* totals = nullptr;
    std::vector<Reported> connections; // the worst first

    [[nodiscard]] bool healthy() const;
};

// Of a finished analysis, which must outlive it.
Report report_of(const Analyzer& analyzer, const Thresholds& thresholds);
Report report_of(std::span<const Conversation* const> conversations, const Totals& totals,
                 const Thresholds& thresholds);

struct TextOptions {
    std::size_t top = 5; // connections in each list
    bool details = false;
    std::optional<std::uint64_t> connection; // only this one, with details
};
void append_text(std::string& out, const Report& report, const TextOptions& options);

void append_json(std::string& out, const Report& report);
void append_json_lines(std::string& out, const Report& report);
void append_json_lines(std::string& out, std::span<const FinishedMessage> messages);

// The graphs that the analysis kept, for the page: [{"connection", "directions": [{"first": PSN,
// "sent": [[ns since the beginning, PSNs after the first, packet], ...], "acknowledged": likewise,
// "marks": {"again": likewise, ...}, "thinned"}, ...]}, ...].
void append_graphs_json(std::string& out, const Report& report);

void append_connections_csv(std::string& out, const Report& report);
void append_episodes_csv(std::string& out, const Report& report);
void append_messages_csv_header(std::string& out);
void append_messages_csv(std::string& out, std::span<const FinishedMessage> messages);

} // namespace veriroce::analyze
