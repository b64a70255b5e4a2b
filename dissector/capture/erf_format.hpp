// Records of Endace cards: a header of 16 bytes with a time of the card and two lengths, perhaps
// extension headers, then the packet. They occur inside pcap and pcapng, where link type 197 names
// them, and as files of their own, which have no header. Source: Endace's ERF types reference.
#pragma once

#include <expected>
#include <optional>

#include "dissector/capture/record.hpp"
#include "dissector/capture/source.hpp"

namespace veriroce::capture {

inline constexpr std::uint16_t kErfLinkCode = 197;

// Takes the time from the ERF record in `record`, if it holds one whole header: the card's clock is
// finer than the file's, and is the one that the packet was stamped by.
void take_erf_time(Record& record);

class ErfFormat {
  public:
    // A file of records has no magic number. It is one if its first records, up to eight, follow
    // each other by their lengths, are of known types, and their times are of this century and do
    // not differ by a day.
    static std::optional<ErfFormat> recognise(Source& source);

    // Of the file's only interface.
    [[nodiscard]] static Interface interface();

    // Fills `record` and returns true; returns false at the end of the file.
    static std::expected<bool, ReadError> next(Source& source, Record& record);
};

} // namespace veriroce::capture
