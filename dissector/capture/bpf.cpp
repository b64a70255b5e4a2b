#include "dissector/capture/bpf.hpp"

#include <array>

#include <pcap/pcap.h>

namespace veriroce::capture {
namespace {

constexpr int kSnapLength = 262'144; // libpcap's own largest

// libpcap counts some link types otherwise than its files do.
int data_link_of(std::uint16_t link_code) {
    constexpr std::uint16_t kRawIp = 101;
    return link_code == kRawIp ? DLT_RAW : link_code;
}

} // namespace

struct Bpf::Program {
    explicit Program(std::uint16_t link) : link_code(link) {}
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { ::pcap_freecode(&code); }

    std::uint16_t link_code;
    ::bpf_program code{};
};

Bpf::Bpf(std::string expression) : expression_(std::move(expression)) {}
Bpf::Bpf(Bpf&&) noexcept = default;
Bpf& Bpf::operator=(Bpf&&) noexcept = default;
Bpf::~Bpf() = default;

std::expected<Bpf, std::string> Bpf::compile(const std::string& expression) {
    constexpr std::uint16_t kEthernet = 1;
    constexpr std::array<std::uint16_t, 3> kOthers{101, 113, 276}; // raw IP, Linux cooked captures
    Bpf bpf(expression);
    const auto usual = bpf.program_for(kEthernet);
    if (usual) return bpf;
    for (const std::uint16_t link_code : kOthers) {
        if (bpf.program_for(link_code)) return bpf;
    }
    return std::unexpected(usual.error());
}

std::expected<const Bpf::Program*, std::string> Bpf::program_for(std::uint16_t link_code) {
    for (const auto& known : programs_) {
        if (known->link_code == link_code) return known.get();
    }
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> dead(
        ::pcap_open_dead(data_link_of(link_code), kSnapLength), ::pcap_close);
    if (!dead) return std::unexpected("no memory is left");
    auto program = std::make_unique<Program>(link_code);
    const int result =
        ::pcap_compile(dead.get(), &program->code, expression_.c_str(), 1, PCAP_NETMASK_UNKNOWN);
    if (result != 0) return std::unexpected(std::string(::pcap_geterr(dead.get())));
    programs_.push_back(std::move(program));
    return programs_.back().get();
}

std::expected<bool, std::string> Bpf::matches(const Record& record) {
    const auto program = program_for(record.link_code);
    if (!program) {
        return std::unexpected("link type " + std::to_string(record.link_code) + ": " +
                               program.error());
    }
    const ::pcap_pkthdr header{.ts = {},
                               .caplen = static_cast<::bpf_u_int32>(record.bytes.size()),
                               .len = record.original_length};
    return ::pcap_offline_filter(&(*program)->code, &header,
                                 reinterpret_cast<const u_char*>(record.bytes.data())) != 0;
}

} // namespace veriroce::capture
