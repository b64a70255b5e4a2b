#include "conformance/dut/executor.hpp"

namespace veriroce::dut {

Failure invalid(std::string message) {
    return {.code = static_cast<std::int32_t>(FailureCode::InvalidParams),
            .message = std::move(message)};
}

Failure refused(std::string_view verb, std::string errno_name, std::string message) {
    return {.code = static_cast<std::int32_t>(FailureCode::Refused),
            .message = std::move(message),
            .verb = std::string(verb),
            .errno_name = std::move(errno_name)};
}

Failure no_method(std::string_view method, std::string_view reason) {
    return {.code = static_cast<std::int32_t>(FailureCode::MethodNotFound),
            .message = std::string(method) + ": " + std::string(reason)};
}

Failure no_such(std::string_view field, std::uint64_t handle) {
    return invalid(std::string(field) + ": unknown handle " + std::to_string(handle));
}

} // namespace veriroce::dut
