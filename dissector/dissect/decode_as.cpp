#include "dissector/dissect/decode_as.hpp"

#include <fmt/format.h>

#include "dissector/dissect/number.hpp"

namespace veriroce::dissect {
namespace {

// A PROTOCOL word and its meaning.
struct NamedProtocol {
    decode::Upper protocol = decode::Upper::None;
    decode::NvmeQueue nvme_queue = decode::NvmeQueue::Unknown;
};

std::expected<NamedProtocol, std::string> protocol_of(std::string_view name, bool qp) {
    const bool admin = name == "nvme_admin";
    if (admin || name == "nvme_io") {
        if (!qp) {
            return std::unexpected(
                fmt::format("'{}' needs qp=, because one port serves admin and I/O queues", name));
        }
        return NamedProtocol{decode::Upper::Nvme,
                             admin ? decode::NvmeQueue::Admin : decode::NvmeQueue::Io};
    }
    const auto protocol = decode::upper_by_name(name);
    if (protocol) return NamedProtocol{.protocol = *protocol};
    return std::unexpected(fmt::format("unknown protocol '{}'; choose nvme, nvme_admin, nvme_io, "
                                       "iser, smb_direct, rpcordma or none",
                                       name));
}

} // namespace

std::expected<flow::DecodeAs, std::string> decode_as(std::span<const std::string> written) {
    flow::DecodeAs result;
    for (const std::string_view text : written) {
        const std::size_t equals = text.find('=');
        const std::size_t colon = text.rfind(':');
        const std::string_view where = text.substr(0, std::min(equals, text.size()));
        if (equals == text.npos || colon == text.npos || colon < equals ||
            (where != "qp" && where != "port")) {
            // As tshark has it: udp.port==1021,infiniband
            const char* const hint =
                text.starts_with("udp.port") ? "; --roce-port names a UDP port of RoCEv2" : "";
            return std::unexpected(
                fmt::format("expected qp=N:PROTOCOL or port=N:PROTOCOL, got '{}'{}", text, hint));
        }
        const std::string_view number = text.substr(equals + 1, colon - equals - 1);
        const bool qp = where == "qp";
        const auto protocol = protocol_of(text.substr(colon + 1), qp);
        if (!protocol) return std::unexpected(protocol.error());
        const auto value = number_of(number, qp ? wire::kMask24 : 0xFFFF);
        if (!value) return std::unexpected(fmt::format("'{}' is not a {} number", number, where));
        if (qp) {
            const wire::Qpn which{static_cast<std::uint32_t>(*value)};
            result.qps.push_back({which, protocol->protocol, protocol->nvme_queue});
        } else {
            result.ports.push_back({static_cast<std::uint16_t>(*value), protocol->protocol});
        }
    }
    return result;
}

} // namespace veriroce::dissect
