#include "transport/engine/local_work.hpp"

#include "transport/engine/requester.hpp"

namespace veriroce::engine {

std::optional<WcStatus> carry_out_locally(Device& device, const Qp& qp,
                                          const SendRequest& request) {
    const Connection& connection = qp.connection;
    if (request.opcode == WrOpcode::LocalInv) {
        const bool done =
            device.memory.invalidate(request.invalidate_rkey, connection.pd, connection.qpn);
        if (!done) return WcStatus::LocQpOpErr;
        return std::nullopt;
    }
    const bool bound = request.mw && request.bind &&
                       device.memory.bind({.mw = *request.mw,
                                           .key = request.rkey.value,
                                           .what = *request.bind,
                                           .pd = connection.pd,
                                           .qpn = connection.qpn});
    if (!bound) return WcStatus::MwBindErr;
    return std::nullopt;
}

std::expected<void, VerbError> acceptable_bind(const Device& device, const SendRequest& request) {
    if (!request.mw || !request.bind) return std::unexpected(VerbError::InvalidArgument);
    const KeyKind type = device.memory.type_of(*request.mw);
    if (type == KeyKind::Region) return std::unexpected(VerbError::NotFound);
    if (type == KeyKind::WindowType1) return std::unexpected(VerbError::InvalidArgument);
    return {};
}

std::expected<wire::Rkey, VerbError> post_bind(Device& device, Qp& qp, SendRequest request) {
    if (qp.connection.type == QpType::Ud) return std::unexpected(VerbError::NotSupported);
    const KeyKind type = device.memory.type_of(*request.mw);
    if (type == KeyKind::Region) return std::unexpected(VerbError::NotFound);
    if (type == KeyKind::WindowType2 || request.flags.inline_data)
        return std::unexpected(VerbError::InvalidArgument);
    const std::uint32_t key = device.memory.next_key(*request.mw);
    request.rkey = {key};
    if (const auto posted = enqueue(device, qp, request); !posted) {
        return std::unexpected(posted.error());
    }
    return wire::Rkey{key};
}

} // namespace veriroce::engine
