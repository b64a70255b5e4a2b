#include "dissector/commands/analyze_output.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dissector/analysis_page/html.hpp"
#include "dissector/command_line/exit_code.hpp"
#include "dissector/wire/safe_text.hpp"

namespace veriroce::commands {

using namespace command_line;

bool AnalyzeOutput::begin() {
    if (messages() && options_.format == AnalyzeFormat::Csv) {
        analyze::append_messages_csv_header(out_.text());
    }
    if (options_.sqlite.empty()) return true;
    auto database = analysis_database::Database::create(options_.sqlite);
    if (!database) {
        complain(database.error());
        return false;
    }
    database_.emplace(std::move(*database));
    return true;
}

void AnalyzeOutput::write(std::span<const analyze::FinishedMessage> fresh) {
    if (fresh.empty()) return;
    if (database_) {
        if (const auto added = database_->add(fresh); !added) {
            complain(added.error());
            database_.reset();
        }
    }
    if (!messages()) return;
    if (options_.format == AnalyzeFormat::Csv) {
        analyze::append_messages_csv(out_.text(), fresh);
    } else {
        analyze::append_json_lines(out_.text(), fresh);
    }
    out_.pass();
}

void AnalyzeOutput::note(const std::string& line) {
    fmt::print(err_, "{}\n", wire::safe_text(line, true));
    std::fflush(err_);
}

void AnalyzeOutput::complain(const std::string& message) {
    fmt::print(err_, "veriroce: {}\n", wire::safe_text(message, true));
    failed_ = true;
}

int AnalyzeOutput::finish(const analyze::Report& report, bool interrupted) {
    if (!failed_ && !interrupted) complain_if_empty(*report.totals);
    write_database(report);
    write_page(report);
    write_report(report);
    out_.flush();
    if (out_.error() == EPIPE) return kExitSuccess;
    if (out_.error() != 0) {
        complain(fmt::format("writing failed: {}", std::strerror(out_.error())));
        return kExitUnable;
    }
    if (interrupted) {
        complain("analyze: interrupted: only the packets until then were analysed");
        return kExitInterrupted;
    }
    if (!report.healthy()) return kExitFound;
    return failed_ ? kExitUnable : kExitSuccess;
}

void AnalyzeOutput::complain_if_empty(const analyze::Totals& totals) {
    if (totals.packets > totals.damaged) return;
    std::string why = fmt::format("nothing was analysed: {} frames", totals.frames);
    if (totals.damaged > 0) why += fmt::format("; {} damaged packets", totals.damaged);
    std::uint64_t all = totals.packets;
    const auto more = [&](std::uint64_t count, std::string_view what) {
        if (count > 0) why += fmt::format("; {} {}", count, what);
        all += count;
    };
    more(totals.incomplete, "incomplete packets");
    more(totals.fragmented, "RoCEv2 packets in IP fragments");
    more(totals.later_fragments, "IP fragments without headers");
    more(totals.other_transport, "packets of RoCE v1 or InfiniBand");
    complain(why + (all == 0 ? "; no RoCEv2 packets" : ""));
}

// An analysis of nothing leaves no file.
void AnalyzeOutput::write_database(const analyze::Report& report) {
    if (!database_ || report.totals->packets == 0) return;
    if (const auto done = database_->finish(report); !done) complain(done.error());
}

void AnalyzeOutput::write_page(const analyze::Report& report) {
    if (options_.html.empty() || report.totals->packets == 0) return;
    const std::vector<std::string> live{options_.interface};
    const std::string page =
        analysis_page::page_html(report, options_.files.empty() ? live : options_.files);
    const auto failed = [this] {
        complain(fmt::format("{}: {}", options_.html, std::strerror(errno)));
    };
    std::FILE* const file = std::fopen(options_.html.c_str(), "wb");
    if (file == nullptr) return failed();
    const bool written = std::fwrite(page.data(), 1, page.size(), file) == page.size();
    if (std::fclose(file) != 0 || !written) failed();
}

void AnalyzeOutput::write_report(const analyze::Report& report) {
    std::string& out = out_.text();
    switch (options_.format) {
    case AnalyzeFormat::Text: write_text(report); break;
    case AnalyzeFormat::Json: analyze::append_json(out, report); break;
    case AnalyzeFormat::JsonLines:
        if (!messages()) analyze::append_json_lines(out, report);
        break;
    case AnalyzeFormat::Csv:
        if (options_.rows == AnalyzeRows::Connections) {
            analyze::append_connections_csv(out, report);
        } else if (options_.rows == AnalyzeRows::Episodes) {
            analyze::append_episodes_csv(out, report);
        }
        break;
    }
}

void AnalyzeOutput::write_text(const analyze::Report& report) {
    if (report.totals->packets == 0) return;
    const std::size_t before = out_.text().size();
    analyze::append_text(out_.text(), report, options_.text);
    if (out_.text().size() == before) {
        complain(fmt::format("no connection has the number {}; there are {}",
                             *options_.text.connection, report.connections.size()));
    }
}

} // namespace veriroce::commands
