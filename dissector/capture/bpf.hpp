// Capture filters: libpcap's language ("udp port 4791 and host 10.0.0.1"), applied to packets at
// hand. Compiled once for each link type that is met.
#pragma once

#include <expected>
#include <memory>
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

    // An error if the expression says nothing about the packet's link type.
    std::expected<bool, std::string> matches(const Record& record);

  private:
    struct Program; // of one link type
    explicit Bpf(std::string expression);
    std::expected<const Program*, std::string> program_for(std::uint16_t link_code);

    std::string expression_;
    std::vector<std::unique_ptr<Program>> programs_;
};

} // namespace veriroce::capture
