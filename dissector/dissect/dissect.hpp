// The command `veriroce dissect`: reads packets from capture files or an interface, and prints or
// writes them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "dissector/print/table.hpp"
#include "dissector/print/time_column.hpp"

namespace veriroce::dissect {

enum class Format : std::uint8_t { Text, Fields, Json, JsonLines, Csv };

struct Options {
    std::vector<std::string> files; // -r; "-" is standard input
    // Positional arguments: more files. As in tshark, what names no file behind -r is a display
    // filter, and behind -i a capture filter.
    std::vector<std::string> words;
    std::string interface;      // -i: capture live instead of reading files
    std::string filter;         // -Y; empty: every packet
    std::string capture_filter; // -f, in libpcap's language; empty: every packet
    std::string write; // -w: write a pcapng file instead of printing packets; "-": to stdout
    Format format = Format::Text;
    std::vector<std::string> fields;                       // -e, in output order
    print::FieldStyle field_style;                         // -E
    print::TimeForm time_form = print::TimeForm::Relative; // -t
    std::vector<std::string> detailed; // -O: protocols whose fields the tree shows
    std::string separator;             // -S: a line after each packet of the text; empty: none
    bool print_too = false;            // -P: print packets although -w writes them
    bool tree = false;                 // -V
    bool hex = false;                  // -x
    bool line_buffered = false;        // -l: write each packet as soon as it is printed
    bool stats = false;                // print a summary instead of packets
    bool check = false; // print only packets with findings, and the findings; exit code 1 if any
    bool verify_icrc = false;              // verify ICRCs even if no output needs them
    std::vector<std::uint16_t> roce_ports; // UDP ports to decode as RoCEv2, besides 4791
    std::vector<std::string> decode_as;    // "qp=0x12:nvme", "port=4420:none" (decode_as.hpp)
    std::uint32_t threads = 0;             // that decode files; 0: one for each processor
    bool quiet = false;                    // omit the summary line of --check
    bool not_promiscuous = false;          // -p, live
    // -s: decode and write at most this much of a packet; 0: everything.
    std::optional<std::uint32_t> snap_length;
    std::optional<std::uint32_t> buffer_mib; // -B, live: size of the kernel's ring buffer
    // -c: stop after reading this many packets of all files, whether or not they match the display
    // filter.
    std::optional<std::uint64_t> max_packets;
    // --follow: only the packets of one connection, as a ladder (followed.hpp); empty: all.
    std::string follow;
    bool no_flow = false;              // do not follow connections: no roce.flow fields, no notes
    std::vector<std::string> autostop; // -a: "duration:10" (file_limits.hpp)
    std::vector<std::string> ring;     // -b: the same for each of several files of -w
    bool list_interfaces = false;      // -D: instead of reading packets
    std::string list;                  // -G: "fields" or "protocols" are listed, no packet is read
};

// Writes packets to `out` and errors to `err`, one line each. Returns the exit code:
//   0  done
//   1  `check` found more than notes
//   2  invalid options; nothing was read
//   3  an input could not be read completely (what could be read was printed), or writing failed
//   130  SIGINT, SIGTERM or SIGHUP came before the end of a file or pipe; the output is complete
//        for the packets until then
// 1 takes precedence over an input that could not be read. If the reader of `out` closes the pipe,
// the command stops quietly with 0, provided that the caller ignores SIGPIPE. The same signals end
// a live capture normally; the number of dropped packets is printed to `err`.
//
// Packets of a pipe or an interface are written before the command waits for more.
int run(const Options& options, std::FILE* out, std::FILE* err);

} // namespace veriroce::dissect
