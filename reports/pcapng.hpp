// The packets of cases as pcapng: what went over the wire, in the order of time, with remarks as
// packet comments. One file for a run, or one for each failed case.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "conformance/interpreter/case_result.hpp"
#include "dissector/capture/pcapng_writer.hpp"

namespace veriroce::reports {

// Writes the packets of `result` (and its title as the first packet's comment) to `path`.
// The error is one sentence.
std::expected<void, std::string> write_pcapng(const interpreter::CaseResult& result,
                                              const std::string& path);

// The name of that file: "rsp-gap-nak-ip-4-.pcapng"; of another play by its number, from 1.
std::string capture_name(std::string_view id, std::size_t play = 0);

// "wireshark -g 17 DIR/rsp-gap-nak.pcapng": opens the capture of `result` at the packet that the
// verdict is about; without -g if it is about none. Empty without a capture.
std::string open_command(const interpreter::CaseResult& result);

// Gives the packets of a case that was read from results.json the bytes that write_pcapng() wrote
// to `path`. A file that has other packets changes nothing and returns false.
bool take_frames(interpreter::CaseResult& result, const std::string& path);

// All cases of a run, each packet with its case's id as a comment. The file is there from the
// beginning and grows by each case, so that a killed run leaves its packets behind.
class RunCapture {
  public:
    static std::expected<RunCapture, std::string> create(const std::string& path);

    std::expected<void, std::string> add(const interpreter::CaseResult& result);
    std::expected<void, std::string> finish();

  private:
    RunCapture(capture::PcapngWriter writer, std::string path)
        : writer_(std::move(writer)), path_(std::move(path)) {}

    capture::PcapngWriter writer_;
    std::string path_;
};

} // namespace veriroce::reports
