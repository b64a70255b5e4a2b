// Capture filters: libpcap's language ("udp port 4791 and host 10.0.0.1"), applied to packets at
// hand. Compiled once for each link type that is met. Where libpcap refuses to ("expression rejects
// all packets", no VLANs in this link type, a link type it cannot filter) no packet is chosen.
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
    // The error is libpcap's sentence.
    static std::expected<Bpf, std::string> compile(const std::string& expression);

    Bpf(Bpf&&) noexcept;
    Bpf& operator=(Bpf&&) noexcept;
    ~Bpf();

    // False of every packet whose link type the expression says nothing about.
    bool matches(const Record& record);

    // Packets of another file follow.
    void begin_file();
    // Why the expression could be compiled for none of the link types that were met in this file,
    // a sentence; nothing if it could be for one, or no packet was met.
    [[nodiscard]] std::optional<std::string> useless() const;
    // A link type that was met and that no expression, or not this one, can be compiled for,
    // though it means something elsewhere; each is told once. Nothing if there is none any more.
    std::optional<std::string> next_unfiltered();

  private:
    struct Program; // of one link type
    explicit Bpf(std::string expression);
    Program& program_for(std::uint16_t link_code);

    std::string expression_;
    std::vector<std::unique_ptr<Program>> programs_;
};

} // namespace veriroce::capture
