#include "dissector/capture/bpf.hpp"

#include <array>

#include <pcap/pcap.h>

namespace veriroce::capture {
namespace {

constexpr int kSnapLength = 262'144; // libpcap's maximum

// Some link types have one number in capture files and another in libpcap's API.
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

    [[nodiscard]] bool compiled() const { return refusal.empty(); }
    // Not an error: the expression is valid, but no packet of this link type can match.
    [[nodiscard]] bool rejects_all() const { return refusal == "expression rejects all packets"; }

    std::uint16_t link_code;
    ::bpf_program code{};
    std::string refusal; // libpcap's message; empty if it compiled
    bool met = false;    // in this file
    bool told = false;
};

Bpf::Bpf(std::string expression) : expression_(std::move(expression)) {}
Bpf::Bpf(Bpf&&) noexcept = default;
Bpf& Bpf::operator=(Bpf&&) noexcept = default;
Bpf::~Bpf() = default;

std::expected<Bpf, std::string> Bpf::compile(const std::string& expression) {
    constexpr std::uint16_t kEthernet = 1;
    constexpr std::array<std::uint16_t, 3> kOthers{101, 113, 276}; // raw IP, Linux cooked captures
    Bpf bpf(expression);
    const Program& ethernet = bpf.program_for(kEthernet);
    if (ethernet.compiled()) return bpf;
    for (const std::uint16_t link_code : kOthers) {
        if (bpf.program_for(link_code).compiled()) return bpf;
    }
    return std::unexpected(ethernet.refusal);
}

Bpf::Program& Bpf::program_for(std::uint16_t link_code) {
    for (const auto& known : programs_) {
        if (known->link_code == link_code) return *known;
    }
    programs_.push_back(std::make_unique<Program>(link_code));
    Program& program = *programs_.back();
    const std::unique_ptr<pcap_t, void (*)(pcap_t*)> dead(
        ::pcap_open_dead(data_link_of(link_code), kSnapLength), ::pcap_close);
    if (!dead) {
        program.refusal = "out of memory";
        return program;
    }
    const int result =
        ::pcap_compile(dead.get(), &program.code, expression_.c_str(), 1, PCAP_NETMASK_UNKNOWN);
    if (result != 0) program.refusal = ::pcap_geterr(dead.get());
    return program;
}

void Bpf::note(const Record& record) {
    program_for(record.link_code).met = true;
}

bool Bpf::matches(const Record& record) {
    const Program& program = program_for(record.link_code);
    if (!program.compiled()) return false;
    const ::pcap_pkthdr header{.ts = {},
                               .caplen = static_cast<::bpf_u_int32>(record.bytes.size()),
                               .len = record.original_length};
    return ::pcap_offline_filter(&program.code, &header,
                                 reinterpret_cast<const u_char*>(record.bytes.data())) != 0;
}

void Bpf::begin_file() {
    for (const auto& program : programs_)
        program->met = false;
}

std::optional<std::string> Bpf::unusable() const {
    const Program* first = nullptr;
    for (const auto& program : programs_) {
        if (!program->met) continue;
        if (program->compiled()) return std::nullopt;
        if (first == nullptr) first = program.get();
    }
    if (first == nullptr) return std::nullopt;
    return "link type " + std::to_string(first->link_code) + ": " + first->refusal;
}

std::optional<std::string> Bpf::next_unfiltered() {
    for (const auto& program : programs_) {
        if (!program->met || program->told || program->compiled() || program->rejects_all()) {
            continue;
        }
        program->told = true;
        return "packets of link type " + std::to_string(program->link_code) +
               " cannot be filtered and are skipped: " + program->refusal;
    }
    return std::nullopt;
}

} // namespace veriroce::capture
