// The committed captures in one file, and what a filter selects of it.
#pragma once

#include <catch2/catch.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "dissector/capture/pcapng_writer.hpp"
#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/filter/filter.hpp"
#include "tests/temporary_folder.hpp"

namespace veriroce::filter::test {

// A folder with one capture file that goes away with the test.
class AllCaptures {
  public:
    AllCaptures() {
        std::vector<std::filesystem::path> captures;
        const auto pcaps = std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps";
        for (const auto& entry : std::filesystem::directory_iterator(pcaps)) {
            if (entry.path().extension() == ".pcap") captures.push_back(entry.path());
        }
        std::ranges::sort(captures);
        REQUIRE(captures.size() >= 18);
        auto writer = capture::PcapngWriter::create(path(), "test");
        REQUIRE(writer);
        REQUIRE(writer->add_interface({}));
        for (const auto& capture : captures)
            copy(capture, *writer);
        REQUIRE(writer->finish());
    }

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
    [[nodiscard]] std::string path() const { return folder_.file("all.pcapng"); }

    // Numbers of the frames that match, counted from 1.
    [[nodiscard]] std::vector<std::uint64_t> selected(const Filter& filter) const {
        auto reader = capture::Reader::open(path());
        REQUIRE(reader);
        std::vector<std::uint64_t> numbers;
        decode::FrameFacts frame;
        decode::Dissection dissection;
        capture::Record record;
        while (reader->next(record).value()) {
            frame.bytes = record.bytes;
            frame.original_length = record.original_length;
            frame.link_code = record.link_code;
            frame.time_ns = record.time_ns;
            if (!frame.first_time_ns) frame.first_time_ns = record.time_ns;
            ++frame.number;
            decode::dissect_frame(frame, {.verify_icrc = filter.needs_icrc()}, dissection);
            frame.last_time_ns = frame.time_ns;
            if (filter.matches(dissection)) numbers.push_back(frame.number);
        }
        return numbers;
    }

  private:
    // The first frames: enough of every kind.
    static void copy(const std::filesystem::path& capture, capture::PcapngWriter& writer) {
        constexpr int kFrames = 40;
        auto reader = capture::Reader::open(capture);
        REQUIRE(reader);
        capture::Record record;
        for (int i = 0; i < kFrames && reader->next(record).value(); ++i) {
            REQUIRE(record.link_code == 1);
            REQUIRE(writer.write({.time_ns = record.time_ns.value(),
                                  .bytes = record.bytes,
                                  .original_length = record.original_length,
                                  .comments = {}}));
        }
    }

    house::TemporaryFolder folder_;
};

} // namespace veriroce::filter::test
