// The hex dump: every byte once and in order, whatever the layers are; each with its layer's name.
#include <catch2/catch.hpp>

#include <filesystem>

#include "dissector/capture/reader.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/print/hex_dump.hpp"

using namespace veriroce;

namespace {

void dissect(wire::Bytes bytes, decode::Dissection& out) {
    decode::FrameFacts facts;
    facts.bytes = bytes;
    facts.original_length = static_cast<std::uint32_t>(bytes.size());
    decode::dissect_frame(facts, {}, out);
}

// The hex column of a dump, read back.
std::vector<std::byte> bytes_in(const std::string& dump) {
    std::vector<std::byte> bytes;
    std::size_t at = 0;
    while (dump[at] != '\n') {
        const std::string offset = dump.substr(at, 4);
        CHECK(std::stoul(offset, nullptr, 16) == bytes.size());
        for (std::size_t column = at + 6; dump[column] != ' '; column += 3) {
            bytes.push_back(
                static_cast<std::byte>(std::stoul(dump.substr(column, 2), nullptr, 16)));
        }
        at = dump.find('\n', at) + 1;
    }
    CHECK(at + 1 == dump.size());
    return bytes;
}

} // namespace

TEST_CASE("hex dump: each line says which layer its bytes belong to", "[print]") {
    auto reader = capture::Reader::open(std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps" /
                                        "rxe-vlan.pcap");
    capture::Record record;
    REQUIRE(reader->next(record).value());
    decode::Dissection dissection;
    dissect(record.bytes.first(80), dissection);
    std::string dump;
    print::append_hex_dump(dump, dissection);
    CHECK(dump.find("  eth\n") != std::string::npos);
    CHECK(dump.find("  vlan\n") != std::string::npos);
    CHECK(dump.find("  ip\n") != std::string::npos);
    CHECK(dump.find("  udp\n") != std::string::npos);
    CHECK(dump.find("  infiniband.bth\n") != std::string::npos);
    std::string coloured;
    print::append_hex_dump(coloured, dissection, true);
    CHECK(coloured.find("\x1b[36m") != std::string::npos);
    for (std::size_t at = 0; (at = coloured.find('\x1b')) != std::string::npos;)
        coloured.erase(at, coloured.find('m', at) + 1 - at);
    CHECK(coloured == dump);
}

TEST_CASE("hex dump: every byte of every committed frame stands in it once, also when it is cut",
          "[print]") {
    std::size_t frames = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             std::filesystem::path(VERIROCE_SOURCE_DIR) / "pcaps")) {
        if (entry.path().extension() != ".pcap") continue;
        auto reader = capture::Reader::open(entry.path());
        capture::Record record;
        for (int i = 0; i < 20 && reader->next(record).value(); ++i) {
            ++frames;
            for (const std::size_t cut : {std::size_t{0}, std::size_t{3}, std::size_t{21}}) {
                const auto bytes = record.bytes.first(record.bytes.size() - cut);
                decode::Dissection dissection;
                dissect(bytes, dissection);
                std::string dump;
                print::append_hex_dump(dump, dissection);
                const auto back = bytes_in(dump);
                CHECK(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
            }
        }
    }
    CHECK(frames > 200);
}
