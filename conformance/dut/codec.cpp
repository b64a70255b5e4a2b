#include "conformance/dut/codec.hpp"

#include "conformance/dut/executor.hpp"
#include "conformance/dut/json_read.hpp"
#include "conformance/dut/json_write.hpp"

namespace veriroce::dut {

namespace {

constexpr std::string_view kJsonrpc = "2.0";
constexpr std::size_t kMostName = 64; // bytes of a verb, an errno

Failure failure(FailureCode code, std::string_view message) {
    // Sentences quote what the other side sent.
    return {.code = static_cast<std::int32_t>(code),
            .message = wire::safe_excerpt(message, json::kMostText)};
}

std::string text_of(const json::ReadError& error) {
    // "depth is missing", "depth: expected ...".
    const bool phrase = error.text.starts_with("is ");
    return error.path + (phrase ? " " : ": ") + error.text;
}

std::string_view text_of(const json::string& text) {
    return {text.data(), text.size()};
}

std::expected<json::value, Failure> parse(std::string_view line) {
    boost::system::error_code error;
    auto parsed = boost::json::parse(boost::json::string_view(line.data(), line.size()), error);
    if (error) {
        return std::unexpected(
            failure(FailureCode::ParseError, "this line is not JSON: " + error.message()));
    }
    return parsed;
}

std::optional<CallId> read_id(const json::object& from) {
    const auto* id = from.if_contains("id");
    std::uint64_t number = 0;
    if (id == nullptr || json::read_number(*id, json::kNumberLimit - 1, number)) {
        return std::nullopt;
    }
    return CallId{number};
}

template <typename Method>
std::expected<Request, Failure> read_params(const json::object& params) {
    Method request{};
    if (const auto failed = json::read_fields(params, request, json::Unknown::Refused)) {
        return std::unexpected(failure(FailureCode::InvalidParams,
                                       std::string(Method::method) + ": " + text_of(*failed)));
    }
    return request;
}

// The request of the method with this name: tries one alternative of the variant after the other.
template <std::size_t Index = 0>
std::expected<Request, Failure> read_method(std::string_view name, const json::object& params) {
    if constexpr (Index < std::variant_size_v<Request::variant>) {
        using Method = std::variant_alternative_t<Index, Request::variant>;
        if (Method::method == name) return read_params<Method>(params);
        return read_method<Index + 1>(name, params);
    } else {
        return std::unexpected(
            failure(FailureCode::MethodNotFound,
                    "unknown method \"" + std::string(name.substr(0, 40)) + '"'));
    }
}

std::expected<Request, Failure> read_request(const json::object& call) {
    const auto* version = call.if_contains("jsonrpc");
    if (version == nullptr || !version->is_string() || text_of(version->get_string()) != kJsonrpc) {
        return std::unexpected(failure(FailureCode::InvalidRequest, R"(jsonrpc: expected "2.0")"));
    }
    const auto* method = call.if_contains("method");
    if (method == nullptr || !method->is_string()) {
        return std::unexpected(
            failure(FailureCode::InvalidRequest, "method: expected a method's name"));
    }
    const auto* params = call.if_contains("params");
    if (params != nullptr && !params->is_object()) {
        return std::unexpected(invalid("params: expected an object, by name"));
    }
    return read_method(text_of(method->get_string()),
                       params == nullptr ? json::object{} : params->get_object());
}

template <typename Given>
Answer read_result(const json::value& result, std::string_view method) {
    Given into{};
    const auto failed = json::read(result, into, Style::Plain, json::Unknown::Ignored);
    if (failed) {
        const auto error = failed->path.empty() ? json::ReadError{"result", failed->text} : *failed;
        return std::unexpected(
            failure(FailureCode::BadAnswer,
                    "the answer to " + std::string(method) + " is wrong: " + text_of(error)));
    }
    return into;
}

template <std::size_t Index = 0>
Answer read_result_of(std::size_t index, const json::value& result) {
    if constexpr (Index < std::variant_size_v<Request::variant>) {
        using Method = std::variant_alternative_t<Index, Request::variant>;
        if (Index == index) {
            return read_result<typename Method::Gives>(result, Method::method);
        }
        return read_result_of<Index + 1>(index, result);
    } else {
        return std::unexpected(failure(FailureCode::BadAnswer, "no such method"));
    }
}

std::string text_or_empty(const json::object& from, std::string_view name) {
    const auto* found = from.if_contains(name);
    if (found == nullptr || !found->is_string()) return {};
    return std::string(text_of(found->get_string()));
}

Failure read_error(const json::value& from) {
    if (!from.is_object() || !from.get_object().contains("code") ||
        !from.get_object().at("code").is_int64()) {
        return failure(FailureCode::BadAnswer, "the agent's error has no number as its code");
    }
    const auto& error = from.get_object();
    Failure read{.code = static_cast<std::int32_t>(error.at("code").get_int64()),
                 .message = wire::safe_excerpt(text_or_empty(error, "message"), json::kMostText)};
    const auto* data = error.if_contains("data");
    if (data == nullptr || !data->is_object()) return read;
    read.verb = wire::safe_excerpt(text_or_empty(data->get_object(), "verb"), kMostName);
    read.errno_name = wire::safe_excerpt(text_or_empty(data->get_object(), "errno"), kMostName);
    std::uint64_t posted = 0;
    const auto* count = data->get_object().if_contains("posted");
    if (count != nullptr && !json::read_number(*count, 0xFFFFFFFF, posted)) {
        read.posted = static_cast<std::uint32_t>(posted);
    }
    return read;
}

json::object write_error(const Failure& from) {
    json::object error{{"code", from.code}, {"message", from.message}};
    if (!from.refused()) return error;
    json::object data{{"verb", from.verb}, {"errno", from.errno_name}};
    if (from.posted) data["posted"] = *from.posted;
    error["data"] = std::move(data);
    return error;
}

json::value write_variant(const auto& of) {
    return std::visit([](const auto& one) { return json::write(one, Style::Plain); }, of);
}

} // namespace

std::string to_json(const Result& result) {
    return boost::json::serialize(write_variant(result));
}
std::string to_json(const Request& request) {
    return boost::json::serialize(write_variant(request));
}

std::string encode_request(CallId id, const Request& request) {
    return boost::json::serialize(json::object{{"jsonrpc", kJsonrpc},
                                               {"id", id.value},
                                               {"method", method_of(request)},
                                               {"params", write_variant(request)}});
}

Call decode_request(std::string_view line) {
    const auto parsed = parse(line);
    if (!parsed) return {.id = std::nullopt, .request = std::unexpected(parsed.error())};
    if (!parsed->is_object()) {
        return {.id = std::nullopt,
                .request = std::unexpected(failure(FailureCode::InvalidRequest,
                                                   "expected one JSON-RPC request per line, got " +
                                                       std::string(json::kind_of(*parsed))))};
    }
    const auto id = read_id(parsed->get_object());
    if (!id) {
        return {.id = std::nullopt,
                .request = std::unexpected(failure(FailureCode::InvalidRequest,
                                                   "id: expected a whole number below 2^53"))};
    }
    return {.id = id, .request = read_request(parsed->get_object())};
}

std::string encode_answer(std::optional<CallId> id, const Answer& answer) {
    json::object line{{"jsonrpc", kJsonrpc}};
    line["id"] = id ? json::value(id->value) : json::value(nullptr);
    if (answer)
        line["result"] = write_variant(*answer);
    else
        line["error"] = write_error(answer.error());
    return boost::json::serialize(line);
}

std::expected<Reply, std::string> decode_answer(std::string_view line, const OpenCalls& open) {
    const auto parsed = parse(line);
    if (!parsed || !parsed->is_object()) {
        return std::unexpected("it answered with \"" + wire::safe_excerpt(line, 40) +
                               "\", which is not JSON-RPC");
    }
    const auto& answer = parsed->get_object();
    const auto id = read_id(answer);
    const auto call = id ? open.find(*id) : open.end();
    if (call == open.end()) {
        const auto* error = answer.if_contains("error");
        if (error != nullptr) {
            return std::unexpected("it reports an error for a call that we did not make: " +
                                   read_error(*error).message);
        }
        return std::unexpected(id ? "it answered call " + std::to_string(id->value) +
                                        ", which is not open"
                                  : "it answered without the id of a call");
    }
    if (const auto* error = answer.if_contains("error")) {
        return Reply{.call = *id, .answer = std::unexpected(read_error(*error))};
    }
    const auto* result = answer.if_contains("result");
    return Reply{
        .call = *id,
        .answer = read_result_of(call->second, result == nullptr ? json::value(nullptr) : *result)};
}

} // namespace veriroce::dut
