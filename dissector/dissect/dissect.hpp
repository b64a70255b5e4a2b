// The command `veriroce dissect`: capture files or an interface in, packets out.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace veriroce::dissect {

enum class Format : std::uint8_t { Text, Fields, Json, Csv };

// "text", "fields", "json", "csv"; nothing for another word.
std::optional<Format> format_by_name(const std::string& name);

struct Options {
    std::vector<std::string> files; // "-" is standard input
    std::string interface;          // -i: live, instead of files
    std::string filter;             // -Y; empty: every packet
    std::string capture_filter;     // -f, in libpcap's language; empty: every packet
    std::string write;              // -w: a pcapng file instead of printed packets; "-": to stdout
    Format format = Format::Text;
    std::vector<std::string> fields; // -e, in the order of the output
    bool tree = false;               // -V
    bool hex = false;                // -x
    bool stats = false;              // a summary instead of packets
    bool check = false;              // text: only packets with findings, and these; exit code 1
    bool verify_icrc = false;        // also where nothing that is printed needs it
    std::vector<std::uint16_t> roce_ports;    // UDP ports that carry RoCEv2 as 4791 does
    std::vector<std::string> decode_as;       // "qp=0x12:nvme", "port=4420:none" (decode_as.hpp)
    bool quiet = false;                       // no summary line of --check
    std::optional<std::uint32_t> snap_length; // -s, live
    std::optional<std::uint32_t> buffer_mib;  // -B, live: the kernel's ring
    // -c, over all files: packets read, also if the display filter shows fewer.
    std::optional<std::uint64_t> max_packets;
};

// Writes packets to `out` and at most one line an error to `err`. Returns the exit code:
//   0 done; 1 `check` and a finding that is more than a note; 2 wrong options, nothing was read;
//   3 a file or interface that could not be read, or not to its end (what could be read was
//   printed), or output that could not be written. 1 wins over 3. A reader of `out` that goes away
//   ends the command quietly with 0; the caller has made the process ignore SIGPIPE, or it is ended
//   by that. Live, Ctrl-C and SIGTERM are the end of the capture and no error; how many packets
//   were dropped is told on `err`.
int run(const Options& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::dissect
