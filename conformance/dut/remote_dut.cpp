#include "conformance/dut/remote_dut.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "conformance/dut/capabilities.hpp"
#include "conformance/dut/pending_calls.hpp"

namespace veriroce::dut {

namespace {

// The name of the method at this index of Request.
template <std::size_t... Index>
constexpr auto method_names(std::index_sequence<Index...> /*all*/) {
    return std::array{std::variant_alternative_t<Index, Request::variant>::method...};
}
constexpr auto kNames =
    method_names(std::make_index_sequence<std::variant_size_v<Request::variant>>{});

// Why no line answered hello.
std::string unanswered(const net::Error& error, const std::string& peer, bool with_token) {
    if (error.kind == net::ErrorKind::TimedOut) {
        return peer + " does not answer: is it a veriroce agent?";
    }
    if (error.kind != net::ErrorKind::Closed) return error.text;
    return peer + " closed the connection without an answer: " +
           (with_token ? "the token is wrong, or it is not a veriroce agent"
                       : "it requires a token, or it is not a veriroce agent");
}

} // namespace

std::expected<std::unique_ptr<RemoteDut>, std::string>
RemoteDut::connect(const net::LineAddress& address, const std::optional<std::string>& token,
                   wire::Instant deadline) {
    auto client = net::LineClient::connect(address, deadline);
    if (!client) return std::unexpected(client.error().text);
    std::unique_ptr<RemoteDut> dut(new RemoteDut(std::move(*client)));
    if (const auto greeted = dut->greet(token, deadline); !greeted) {
        return std::unexpected(greeted.error());
    }
    return dut;
}

std::expected<void, std::string> RemoteDut::greet(const std::optional<std::string>& token,
                                                  wire::Instant deadline) {
    const auto peer = client_.peer().text();
    const CallId call{next_call_++};
    const Request hello = Hello{.token = token};
    if (const auto sent = client_.send_line(encode_request(call, hello), deadline); !sent) {
        return std::unexpected(unanswered(sent.error(), peer, token.has_value()));
    }
    const auto line = client_.receive_line(deadline);
    if (!line) return std::unexpected(unanswered(line.error(), peer, token.has_value()));
    if (line->starts_with("HTTP/")) {
        return std::unexpected(peer + " speaks HTTP: it is not a veriroce agent; check the port");
    }
    auto reply = decode_answer(*line, {{call, hello.index()}});
    if (!reply) return std::unexpected(peer + " is not a veriroce agent: " + reply.error());
    if (!reply->answer) {
        return std::unexpected(peer + " rejected hello: " + reply->answer.error().message);
    }
    welcome_ = std::get<Welcome>(std::move(*reply->answer));
    complete(welcome_);
    if (welcome_.version != kContractVersion) {
        return std::unexpected(peer + " speaks version " + std::to_string(welcome_.version) +
                               " of the contract, this program version " +
                               std::to_string(kContractVersion));
    }
    return {};
}

CallId RemoteDut::submit(Request request, wire::Instant now) {
    const CallId call{next_call_++};
    const auto wait = std::chrono::milliseconds(wait_of(request).value_or(0));
    open_[call] = request.index();
    due_[call] = now + wait + answer_within;
    if (lost_.empty()) {
        const auto sent = client_.send_line(encode_request(call, request), now + send_within);
        if (!sent) lose(sent.error().text);
    } else {
        lose(lost_);
    }
    return call;
}

void RemoteDut::lose(std::string reason) {
    lost_ = std::move(reason);
    for (const auto& [call, method] : open_) {
        ready_.push_back(
            {call, std::unexpected(Failure{.code = static_cast<std::int32_t>(FailureCode::Lost),
                                           .message = lost_})});
    }
    open_.clear();
    due_.clear();
}

void RemoteDut::read_answers(wire::Instant now) {
    while (lost_.empty()) {
        const auto line = client_.receive_line(wire::Instant::min()); // does not wait
        if (!line) {
            if (line.error().kind != net::ErrorKind::TimedOut) lose(line.error().text);
            break;
        }
        auto reply = decode_answer(*line, open_);
        if (!reply) {
            lose(client_.peer().text() + " breaks the contract: " + reply.error());
            break;
        }
        open_.erase(reply->call);
        due_.erase(reply->call);
        ready_.push_back(std::move(*reply));
    }
    const auto late =
        std::ranges::find_if(due_, [now](const auto& due) { return due.second <= now; });
    if (late != due_.end()) lose(overdue(late->first));
}

std::string RemoteDut::overdue(CallId call) const {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(answer_within).count();
    return client_.peer().text() + " has not answered " + std::string(kNames[open_.at(call)]) +
           " within " + std::to_string(seconds) + " s";
}

std::optional<Reply> RemoteDut::poll(wire::Instant now) {
    if (ready_.empty()) read_answers(now);
    if (ready_.empty()) return std::nullopt;
    Reply reply = std::move(ready_.front());
    ready_.pop_front();
    return reply;
}

std::optional<wire::Instant> RemoteDut::next_deadline() const {
    if (!ready_.empty() || client_.has_line()) return wire::Instant::min();
    const auto first =
        std::ranges::min_element(due_, {}, [](const auto& due) { return due.second; });
    if (first == due_.end()) return std::nullopt;
    return first->second;
}

} // namespace veriroce::dut
