#include "conformance/agent/session.hpp"

#include <algorithm>
#include <random>

namespace veriroce::agent {

namespace {

// Of this process.
const std::string& instance() {
    static const std::string text = [] {
        std::random_device random;
        return std::to_string(random()) + "-" + std::to_string(random());
    }();
    return text;
}

} // namespace

bool same_token(std::string_view one, std::string_view other) {
    unsigned different = one.size() == other.size() ? 0U : 1U;
    for (std::size_t i = 0; i < one.size(); ++i) {
        const char against = other.empty() ? '\0' : other[i % other.size()];
        different |= static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ against));
    }
    return different == 0;
}

void Session::close(Standing standing, std::string reason) {
    standing_ = standing;
    reason_ = std::move(reason);
}

void Session::handle_line(std::string_view line, wire::Instant now) {
    if (standing_ == Standing::Closing || standing_ == Standing::WrongToken) return;
    const auto call = dut::decode_request(line);
    if (standing_ == Standing::New) {
        greet(call, now);
        return;
    }
    if (!call.request) {
        lines_.push_back(dut::encode_answer(call.id, std::unexpected(call.request.error())));
        return;
    }
    if (std::holds_alternative<dut::Hello>(*call.request)) {
        lines_.push_back(
            dut::encode_answer(call.id, std::unexpected(dut::invalid("hello was already sent"))));
        return;
    }
    pending_.submit(*call.id, *call.request, *device_, now);
}

void Session::greet(const dut::Call& call, wire::Instant now) {
    const auto* hello = call.request ? std::get_if<dut::Hello>(&*call.request) : nullptr;
    if (hello == nullptr) {
        close(Standing::Closing, "its first line is not a hello");
        return;
    }
    if (!token_.empty() && !same_token(token_, hello->token.value_or(""))) {
        close(Standing::WrongToken, hello->token ? "wrong token" : "no token");
        return;
    }
    const auto refuse = [&](const dut::Failure& failure) {
        lines_.push_back(dut::encode_answer(call.id, std::unexpected(failure)));
        close(Standing::Closing, failure.message);
    };
    if (hello->version != dut::kContractVersion) {
        refuse(dut::invalid("version: expected " + std::to_string(dut::kContractVersion) +
                            ", got " + std::to_string(hello->version)));
        return;
    }
    if (busy_) {
        refuse(*busy_);
        return;
    }
    auto device = backend_.open_device();
    if (!device) {
        refuse(device.error());
        return;
    }
    device_ = std::move(*device);
    standing_ = Standing::Admitted;
    pending_.submit(*call.id, *call.request, *device_, now);
}

void Session::advance(wire::Instant now) {
    if (device_ != nullptr) pending_.advance(*device_, now);
}

std::optional<std::string> Session::poll_line() {
    if (!lines_.empty()) {
        std::string line = std::move(lines_.front());
        lines_.pop_front();
        return line;
    }
    auto reply = pending_.take();
    if (!reply) return std::nullopt;
    auto* welcome = reply->answer ? std::get_if<dut::Welcome>(&*reply->answer) : nullptr;
    if (welcome != nullptr) welcome->instance = instance();
    return dut::encode_answer(reply->call, reply->answer);
}

std::optional<wire::Instant> Session::next_deadline(wire::Instant now) const {
    const auto ends = pending_.next_deadline();
    if (!ends) return std::nullopt;
    return std::min(*ends, now + poll_interval);
}

} // namespace veriroce::agent
