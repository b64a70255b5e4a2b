// Frames of every opcode in every encapsulation, for comparisons with another dissector.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace veriroce::corpus {

struct CorpusFrame {
    std::uint8_t opcode = 0;
    std::string carrier; // "vxlan", "gre key", ...
    std::vector<std::byte> bytes;
};

struct Corpus {
    std::string name;
    std::uint16_t link_code = 1;
    std::vector<CorpusFrame> frames;
};

// One for each link type. The same at every call.
std::vector<Corpus> corpora();

// As a pcap file with one microsecond between frames.
void write_pcap(const Corpus& corpus, const std::string& path);

} // namespace veriroce::corpus
