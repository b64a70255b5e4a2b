// Capture filters in libpcap's language ("udp port 4791 and host 10.0.0.1"), applied to packets in
// memory. The expression is compiled once for each link type in the capture. If libpcap cannot
// compile it for a link type ("expression rejects all packets", no VLANs in this link type, a link
// type it cannot filter), no packet of that link type matches.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissector/capture/record.hpp"

namespace veriroce::capture {

class Bpf {
  public:
    // The error is libpcap's message.
    static std::expected<Bpf, std::string> compile(const std::string& expression);

    Bpf(Bpf&&) noexcept;
    Bpf& operator=(Bpf&&) noexcept;
    ~Bpf();

    // Always false for a link type that the expression cannot be compiled for.
    bool matches(const Record& record);
    // Counts the packet's link type for the messages below. Apart from matches(), because packets
    // may be read ahead and then not be used.
    void note(const Record& record);

    // Call before the first packet of another file.
    void begin_file();
    // Why the expression could not be compiled for any link type in this file. Empty if it could be
    // compiled for at least one, or if no packet was noted yet.
    [[nodiscard]] std::optional<std::string> unusable() const;
    // The next warning about a link type that is left out although the expression is valid for
    // others. Each link type is reported once; empty when there are no more.
    std::optional<std::string> next_unfiltered();

  private:
    struct Program; // of one link type
    explicit Bpf(std::string expression);
    Program& program_for(std::uint16_t link_code);

    std::string expression_;
    std::vector<std::unique_ptr<Program>> programs_;
};

} // namespace veriroce::capture
