#include "conformance/commands/judge_lines.hpp"

#include <filesystem>
#include <set>

#include "dissector/capture/facts.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/print/line.hpp"

namespace veriroce::commands {
namespace {

std::set<std::uint64_t> numbers_in(std::span<const judge::Violation> violations) {
    std::set<std::uint64_t> numbers;
    for (const judge::Violation& violation : violations) {
        const auto& [all, size] = violation.packets;
        numbers.insert(all.begin(), all.begin() + size);
    }
    return numbers;
}

} // namespace

PacketLines packet_lines(const std::string& file, std::span<const judge::Violation> violations) {
    PacketLines lines;
    std::error_code unknown;
    if (violations.empty() || !std::filesystem::is_regular_file(file, unknown)) return lines;
    auto reader = capture::Reader::open(file);
    if (!reader) return lines;
    const std::set<std::uint64_t> numbers = numbers_in(violations);
    decode::Dissection dissection;
    capture::Record record;
    std::uint64_t number = 0;
    while (lines.size() < numbers.size() && reader->next(record).value_or(false)) {
        dissection.frame.last_time_ns = dissection.frame.time_ns;
        capture::tell(record, ++number, dissection.frame);
        if (number == 1) dissection.frame.first_time_ns = dissection.frame.time_ns;
        if (!numbers.contains(number)) continue;
        decode::dissect_frame({}, dissection);
        std::string& line = lines[number];
        print::append_line(line, dissection);
        while (line.ends_with('\n'))
            line.pop_back();
    }
    return lines;
}

} // namespace veriroce::commands
