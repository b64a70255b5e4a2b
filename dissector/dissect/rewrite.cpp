#include "dissector/dissect/rewrite.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include <fmt/format.h>

#include "dissector/print/tree.hpp"

namespace veriroce::dissect {

namespace {

// "out.pcapng" becomes "out_00002_20261122213000.pcapng".
std::string numbered(const std::string& path, std::uint64_t number) {
    const std::filesystem::path whole(path);
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::localtime_r(&now, &parts);
    const std::string name =
        fmt::format("{}_{:05}_{:04}{:02}{:02}{:02}{:02}{:02}{}", whole.stem().string(), number,
                    parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                    parts.tm_min, parts.tm_sec, whole.extension().string());
    return whole.parent_path() / name;
}

} // namespace

std::expected<Rewriter, RewriteError> Rewriter::create(const std::string& path,
                                                       std::uint32_t snap_length,
                                                       std::optional<FileLimits> ring) {
    Rewriter rewriter(path, snap_length, ring);
    if (auto opened = rewriter.open_next(); !opened) return std::unexpected(opened.error());
    return rewriter;
}

std::expected<void, RewriteError> Rewriter::open_next() {
    ++files_;
    names_.push_back(ring_ ? numbered(path_, files_) : path_);
    auto writer = capture::PcapngWriter::create(names_.back(), "veriroce dissect");
    if (!writer) return failed(writer.error());
    writer_.emplace(std::move(*writer));
    began_ = std::chrono::steady_clock::now();
    packets_ = 0;
    interfaces_ = 0;
    first_interface_ = 0;
    if (!ring_ || !ring_->files || names_.size() <= *ring_->files) return {};
    std::error_code ignored; // somebody else may have removed it
    std::filesystem::remove(names_.front(), ignored);
    names_.pop_front();
    return {};
}

std::unexpected<RewriteError> Rewriter::failed(const capture::WriteError& error) const {
    return std::unexpected(RewriteError{error, names_.back()});
}

std::expected<void, RewriteError> Rewriter::flush() {
    if (const auto done = writer_->flush(); !done) return failed(done.error());
    return {};
}

std::expected<void, RewriteError> Rewriter::finish() {
    if (const auto done = writer_->finish(); !done) return failed(done.error());
    return {};
}

std::expected<void, RewriteError>
Rewriter::describe(std::span<const capture::Interface> interfaces) {
    while (interfaces_ - first_interface_ < interfaces.size()) {
        const capture::Interface& interface = interfaces[interfaces_ - first_interface_];
        std::uint32_t snap_length = interface.snap_length;
        if (snap_length_ != 0 && (snap_length == 0 || snap_length > snap_length_)) {
            snap_length = snap_length_;
        }
        const auto added = writer_->add_interface({.link_code = interface.link_code,
                                                   .snap_length = snap_length,
                                                   .name = interface.name,
                                                   .description = interface.description});
        if (!added) return failed(added.error());
        ++interfaces_;
    }
    return {};
}

std::expected<void, RewriteError> Rewriter::write(const capture::Record& record,
                                                  std::span<const capture::Interface> interfaces,
                                                  const decode::Dissection& dissection) {
    if (ring_ && packets_ > 0 && ring_->reached(began_, bytes(), packets_)) {
        if (auto done = finish(); !done) return done;
        if (auto opened = open_next(); !opened) return opened;
    }
    if (auto described = describe(interfaces); !described) return described;
    ++packets_;
    collect_comments(record, dissection);
    capture::PacketSpec packet{.interface = first_interface_ + record.interface,
                               .time_ns = record.time_ns,
                               .bytes = record.bytes,
                               .original_length = record.original_length,
                               .direction = capture::direction_of(record),
                               .comments = comments_};
    if (packet.time_ns) {
        packet.time_ns = std::max<std::int64_t>(*packet.time_ns, 0);
    } else if (!writer_->has_simple_shape(packet)) {
        packet.time_ns = 0;
        comments_.emplace_back("the original file has no time for this packet");
        packet.comments = comments_;
    }
    if (const auto done = writer_->write(packet); !done) return failed(done.error());
    return {};
}

void Rewriter::collect_comments(const capture::Record& record,
                                const decode::Dissection& dissection) {
    comments_.clear();
    for (const std::string_view comment : capture::comments_of(record))
        comments_.emplace_back(comment);
    for (const decode::Finding& finding : dissection.findings.all()) {
        std::string text;
        print::append_finding(text, finding);
        // A file that was written before may already contain this comment.
        if (std::ranges::find(comments_, text) == comments_.end())
            comments_.push_back(std::move(text));
    }
}

} // namespace veriroce::dissect
