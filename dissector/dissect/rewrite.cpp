#include "dissector/dissect/rewrite.hpp"

#include <algorithm>

#include "dissector/print/tree.hpp"

namespace veriroce::dissect {

std::expected<Rewriter, capture::WriteError> Rewriter::create(const std::string& path) {
    auto writer = capture::PcapngWriter::create(path, "veriroce dissect");
    if (!writer) return std::unexpected(writer.error());
    return Rewriter(std::move(*writer));
}

std::expected<void, capture::WriteError>
Rewriter::write(const capture::Record& record, std::span<const capture::Interface> interfaces,
                const decode::Dissection& dissection) {
    while (interfaces_ - first_interface_ < interfaces.size()) {
        const capture::Interface& interface = interfaces[interfaces_ - first_interface_];
        const auto added = writer_.add_interface({.link_code = interface.link_code,
                                                  .snap_length = interface.snap_length,
                                                  .name = interface.name,
                                                  .description = interface.description});
        if (!added) return std::unexpected(added.error());
        ++interfaces_;
    }
    collect_comments(record, dissection);
    capture::PacketSpec packet{.interface = first_interface_ + record.interface,
                               .time_ns = record.time_ns,
                               .bytes = record.bytes,
                               .original_length = record.original_length,
                               .direction = capture::direction_of(record),
                               .comments = comments_};
    if (packet.time_ns) {
        packet.time_ns = std::max<std::int64_t>(*packet.time_ns, 0);
    } else if (!writer_.has_simple_shape(packet)) {
        packet.time_ns = 0;
        comments_.emplace_back("the original file has no time for this packet");
        packet.comments = comments_;
    }
    return writer_.write(packet);
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
