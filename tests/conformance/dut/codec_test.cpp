#include "conformance/dut/codec.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <limits>

#include "conformance/dut/base64.hpp"
#include "tests/conformance/dut/filled.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;

// The text of the failure that a request line gets.
std::pair<std::int32_t, std::string> failure_of(std::string_view line) {
    const auto call = decode_request(line);
    REQUIRE_FALSE(call.request);
    return {call.request.error().code, call.request.error().message};
}

std::string request_line(std::string_view method, std::string_view params) {
    return R"({"jsonrpc":"2.0","id":7,"method":")" + std::string(method) + R"(","params":)" +
           std::string(params) + "}";
}

} // namespace

TEST_CASE("codec: every request is the same after a journey over the wire", "[dut]") {
    test::for_each_alternative<Request>([](const Request& request) {
        const auto line = encode_request(CallId{12}, request);
        INFO(line);
        CHECK(line.find('\n') == std::string::npos);
        const auto call = decode_request(line);
        REQUIRE(call.request);
        CHECK(call.id == CallId{12});
        CHECK(*call.request == request);
    });
}

TEST_CASE("codec: every result is the same after a journey over the wire", "[dut]") {
    // Some method gives each result; the answer is decoded by that method.
    std::vector<bool> met(std::variant_size_v<Result::variant>);
    test::for_each_alternative<Request>([&](const Request& request) {
        std::visit(
            [&]<typename Method>(const Method& /*method*/) {
                typename Method::Gives given{};
                for (const bool filled : {false, true}) {
                    if (filled) test::Filler{}.fill(given);
                    const Answer answer = Result(given);
                    const auto line = encode_answer(CallId{3}, answer);
                    INFO(line);
                    const auto reply = decode_answer(line, {{CallId{3}, request.index()}});
                    REQUIRE(reply);
                    CHECK(reply->call == CallId{3});
                    CHECK(reply->answer == answer);
                    met[answer->index()] = true;
                }
            },
            request);
    });
    CHECK(met == std::vector<bool>(met.size(), true));
}

TEST_CASE("codec: values look as the contract says", "[dut]") {
    const Request post = PostSend{
        .qp = {5},
        .requests = {{.id = ~std::uint64_t{0},
                      .opcode = engine::WrOpcode::AtomicCmpAndSwp,
                      .sge = {{.mr = {2}, .offset = 8, .length = 64, .lkey = wire::Lkey{0xFF}}},
                      .remote_address = 0x7F0012345678,
                      .rkey = wire::Rkey{0xFFFFFFFF},
                      .imm = 0x01020304,
                      .compare = 1,
                      .swap = 0xFFFFFFFFFFFFFFFF,
                      .flags = {.signaled = true, .inline_data = true}}}};
    CHECK(to_json(post) ==
          R"({"qp":5,"requests":[{"id":"18446744073709551615","opcode":"ATOMIC_CMP_AND_SWP",)"
          R"("sge":[{"mr":2,"offset":8,"length":64,"lkey":255}],"remote_address":"0x7f0012345678",)"
          R"("rkey":4294967295,"imm":16909060,"compare":"0x1","swap":"0xffffffffffffffff",)"
          R"("flags":["SIGNALED","INLINE"]}]})");
    const Request modify =
        QpModify{.qp = {1},
                 .attributes = {.state = engine::QpState::Rtr,
                                .address_vector =
                                    AddressVector{.gid_index = 1,
                                                  .address = wire::IpAddress::from_v4(0x0A4D00FE)},
                                .path_mtu = wire::Mtu::B1024,
                                .rq_psn = wire::Psn(0xFFFFFF)}};
    CHECK(to_json(modify) ==
          R"({"qp":1,"state":"RTR","ah_attr":{"gid_index":1,"address":"10.77.0.254"},)"
          R"("path_mtu":1024,"rq_psn":16777215})");
    const Result digest = MrDigested{.crc32c = 0xE3069283, .guards_intact = true};
    CHECK(to_json(digest) == R"({"crc32c":3808858755,"guards_intact":true})");
    const Result counters = CounterValues{{{"rcvd_pkts", 12}}};
    CHECK(to_json(counters) == R"({"rcvd_pkts":"12"})");
    const Result pong = Pong{.at = wire::Instant(std::chrono::seconds(3))};
    CHECK(to_json(pong) == R"({"at":"3000000000"})");
    const Result data = MrData{.data = {std::byte{0}, std::byte{255}, std::byte{16}}};
    CHECK(to_json(data) == R"({"data":"AP8Q"})");
}

TEST_CASE("codec: failures look as the contract says", "[dut]") {
    Failure refused{.code = -32000,
                    .message = "the device refused post_send",
                    .verb = "post_send",
                    .errno_name = "ENOMEM",
                    .posted = 3};
    const auto line = encode_answer(CallId{9}, std::unexpected(refused));
    CHECK(line == R"({"jsonrpc":"2.0","id":9,"error":{"code":-32000,)"
                  R"("message":"the device refused post_send",)"
                  R"("data":{"verb":"post_send","errno":"ENOMEM","posted":3}}})");
    const auto reply = decode_answer(line, {{CallId{9}, 0}});
    REQUIRE(reply);
    REQUIRE_FALSE(reply->answer);
    CHECK(reply->answer.error() == refused);
    CHECK(encode_answer(std::nullopt, std::unexpected(Failure{.code = -32700, .message = "no"})) ==
          R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}})");
}

TEST_CASE("codec: a bad request gets a sentence that names what is wrong", "[dut]") {
    struct Row {
        std::string line;
        std::int32_t code;
        std::string message;
    };
    const std::array rows{
        Row{"", -32700, "this line is not JSON: incomplete JSON"},
        Row{"GET / HTTP/1.1", -32700, "this line is not JSON: syntax error"},
        Row{"[]", -32600, "expected one JSON-RPC request per line, got an array"},
        Row{"7", -32600, "expected one JSON-RPC request per line, got a number"},
        Row{R"({"jsonrpc":"2.0","method":"ping"})", -32600,
            "id: expected a whole number below 2^53"},
        Row{R"({"jsonrpc":"2.0","id":"a","method":"ping"})", -32600,
            "id: expected a whole number below 2^53"},
        Row{R"({"jsonrpc":"2.0","id":9007199254740992,"method":"ping"})", -32600,
            "id: expected a whole number below 2^53"},
        Row{R"({"id":1,"method":"ping"})", -32600, R"(jsonrpc: expected "2.0")"},
        Row{R"({"jsonrpc":"2.0","id":1,"method":3})", -32600, "method: expected a method's name"},
        Row{R"({"jsonrpc":"2.0","id":1,"method":"pong"})", -32601, R"(unknown method "pong")"},
        Row{R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", -32602,
            "params: expected an object, by name"},
        Row{request_line("cq_create", "{}"), -32602, "cq_create: depth is missing"},
        Row{request_line("cq_create", R"({"depth":1,"size":2})"), -32602,
            "cq_create: size is not a known field"},
        Row{request_line("cq_create", R"({"depth":"1"})"), -32602,
            "cq_create: depth: expected a whole number from 0 to 4294967295, got a string"},
        Row{request_line("cq_create", R"({"depth":-1})"), -32602,
            "cq_create: depth: expected a whole number from 0 to 4294967295, got \"-1\""},
        Row{request_line("cq_create", R"({"depth":1.5})"), -32602,
            "cq_create: depth: expected a whole number from 0 to 4294967295, got a fraction"},
        Row{request_line("cq_create", R"({"depth":null})"), -32602,
            "cq_create: depth: expected a whole number from 0 to 4294967295, got null"},
        Row{request_line("mr_read", R"({"mr":1,"offset":9007199254740992,"length":1})"), -32602,
            "mr_read: offset: expected a whole number from 0 to 9007199254740991, got "
            "\"9007199254740992\""},
        Row{request_line("mr_write", R"({"mr":1,"offset":0,"data":"A"})"), -32602,
            "mr_write: data: expected base64, got \"A\""},
        Row{request_line("mr_fill", R"({"mr":1,"offset":0,"length":1,"pattern":"two"})"), -32602,
            "mr_fill: pattern: unknown name \"two\""},
        Row{request_line("mr_register", R"({"pd":1,"length":1,"access":["remote_write"]})"), -32602,
            "mr_register: access: unknown name \"remote_write\""},
        Row{request_line("mr_register", R"({"pd":1,"length":1,"access":"REMOTE_WRITE"})"), -32602,
            "mr_register: access: expected an array of names, got a string"},
        Row{request_line("mr_register", R"({"pd":1,"length":1,"access":[],"fill":{"key":1}})"),
            -32602, "mr_register: fill.pattern is missing"},
        Row{request_line("qp_modify", R"({"qp":1,"state":"RTX"})"), -32602,
            "qp_modify: state: unknown name \"RTX\""},
        Row{request_line("qp_modify", R"({"qp":1,"tiemout":14})"), -32602,
            "qp_modify: tiemout is not a known field"},
        Row{request_line("qp_modify", R"({"qp":1,"path_mtu":1500})"), -32602,
            "qp_modify: path_mtu: expected 256, 512, 1024, 2048 or 4096, got \"1500\""},
        Row{request_line("qp_modify", R"({"qp":1,"rq_psn":16777216})"), -32602,
            "qp_modify: rq_psn: expected a whole number from 0 to 16777215, got \"16777216\""},
        Row{request_line("qp_modify", R"({"qp":1,"ah_attr":{"gid_index":1,"address":"10.77.0"}})"),
            -32602,
            "qp_modify: ah_attr.address: expected an address like \"10.77.0.1\" or \"fd77::1\", "
            "got \"10.77.0\""},
        Row{request_line("post_recv", R"({"qp":1,"requests":[{"id":"1","sge":[]},{"id":2}]})"),
            -32602,
            "post_recv: requests[1].id: expected a string of decimal digits like \"31\", got a "
            "number"},
        Row{request_line("post_recv",
                         R"({"qp":1,"requests":[{"id":"1","sge":[{"mr":1,"offset":0}]}]})"),
            -32602, "post_recv: requests[0].sge[0].length is missing"},
        Row{request_line("post_recv",
                         R"({"qp":1,"requests":[{"id":"18446744073709551616","sge":[]}]})"),
            -32602,
            "post_recv: requests[0].id: expected a string of decimal digits like \"31\", got "
            "\"18446744073709551616\""},
        Row{request_line("post_send", R"({"qp":1,"requests":[{"id":"1","opcode":"SEND","sge":[],)"
                                      R"("remote_address":"1234","flags":[]}]})"),
            -32602,
            "post_send: requests[0].remote_address: expected a string like \"0x1f\", got "
            "\"1234\""},
        Row{request_line("post_send",
                         R"({"qp":1,"requests":[{"id":"1","opcode":"SEND","sge":[]}]})"),
            -32602, "post_send: requests[0].flags is missing"},
    };
    for (const auto& row : rows) {
        INFO(row.line);
        CHECK(failure_of(row.line) == std::pair(row.code, row.message));
    }
}

TEST_CASE("codec: the id of a bad request is kept where it can be read", "[dut]") {
    CHECK(decode_request(request_line("cq_create", "{}")).id == CallId{7});
    CHECK_FALSE(decode_request("{").id);
}

TEST_CASE("codec: params may be left out where a method has none", "[dut]") {
    const auto call = decode_request(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    REQUIRE(call.request);
    CHECK(std::holds_alternative<Ping>(*call.request));
}

TEST_CASE("codec: an answer may say more than we know, but not less", "[dut]") {
    const OpenCalls open{{CallId{1}, Request(PdCreate{}).index()}};
    const auto more =
        decode_answer(R"({"jsonrpc":"2.0","id":1,"result":{"pd":4,"color":"blue"}})", open);
    REQUIRE(more);
    CHECK(more->answer == Answer(PdCreated{.pd = {4}}));
    const auto less = decode_answer(R"({"jsonrpc":"2.0","id":1,"result":{}})", open);
    REQUIRE(less);
    REQUIRE_FALSE(less->answer);
    CHECK(less->answer.error().code == static_cast<std::int32_t>(FailureCode::BadAnswer));
    CHECK(less->answer.error().message == "the answer to pd_create is wrong: pd is missing");
    const auto neither = decode_answer(R"({"jsonrpc":"2.0","id":1})", open);
    REQUIRE(neither);
    CHECK(neither->answer.error().message ==
          "the answer to pd_create is wrong: result: expected an object, got null");
}

TEST_CASE("codec: a line that answers no open call says so", "[dut]") {
    const OpenCalls open{{CallId{1}, 0}};
    CHECK(decode_answer("HTTP/1.1 400 Bad Request", open).error() ==
          "it answered with \"HTTP/1.1 400 Bad Request\", which is not JSON-RPC");
    CHECK(decode_answer(R"({"id":2,"result":{}})", open).error() ==
          "it answered call 2, which is not open");
    CHECK(decode_answer(R"({"result":{}})", open).error() ==
          "it answered without the id of a call");
    CHECK(
        decode_answer(R"({"id":null,"error":{"code":-32700,"message":"no JSON"}})", open).error() ==
        "it reports an error for a call that we did not make: no JSON");
}

TEST_CASE("codec: no text of an agent steers a terminal or spoils a file", "[dut]") {
    const std::string clear = R"(\u001b[2J\u009b1m\u202e)"; // as JSON; what it does in a terminal
    const std::string shown = "\\x1b[2J\\xc2\\x9b1m\\xe2\\x80\\xae";
    const OpenCalls open{{CallId{1}, Request(Hello{}).index()},
                         {CallId{2}, Request(PostSend{}).index()},
                         {CallId{3}, Request(Counters{}).index()},
                         {CallId{4}, Request(PdCreate{}).index()}};

    const Result plain = Welcome{.name = "NAME",
                                 .backend = "BACKEND",
                                 .device = "DEVICE",
                                 .firmware = "FIRMWARE",
                                 .capabilities = {"CAPABILITY"},
                                 .traits = {"TRAIT"},
                                 .ports = {{.link_layer = "LINK", .gids = {{.type = "GID"}}}},
                                 .atomic = "ATOMIC"};
    auto line = encode_answer(CallId{1}, plain);
    for (const auto* word : {"NAME", "BACKEND", "DEVICE", "FIRMWARE", "CAPABILITY", "TRAIT", "LINK",
                             "GID", "ATOMIC"}) {
        const auto at = line.find("\"" + std::string(word) + "\"");
        REQUIRE(at != std::string::npos);
        line.replace(at + 1, std::string_view(word).size(), clear);
    }
    const auto hello = decode_answer(line, open);
    REQUIRE(hello);
    REQUIRE(hello->answer);
    const auto& welcome = std::get<Welcome>(*hello->answer);
    for (const auto& text :
         {welcome.name, welcome.backend, welcome.device, welcome.firmware,
          welcome.capabilities.at(0), welcome.traits.at(0), welcome.ports.at(0).link_layer,
          welcome.ports.at(0).gids.at(0).type, welcome.atomic}) {
        CHECK(text == shown);
    }

    const auto refusal =
        decode_answer(R"({"id":2,"error":{"code":-32000,"message":")" + clear +
                          R"(","data":{"verb":")" + clear + R"(","errno":")" + clear + R"("}}})",
                      open);
    REQUIRE(refusal);
    CHECK(refusal->answer.error() ==
          Failure{.code = -32000, .message = shown, .verb = shown, .errno_name = shown});
    const auto counters = decode_answer(R"({"id":3,"result":{")" + clear + R"(":"5"}})", open);
    REQUIRE(counters);
    CHECK(counters->answer == Answer(CounterValues{{{shown, 5}}}));
    CHECK(
        decode_answer(R"({"id":9,"error":{"code":1,"message":")" + clear + "\"}}", open).error() ==
        "it reports an error for a call that we did not make: " + shown);
    const auto wrong = decode_answer(R"({"id":3,"result":{"a":")" + clear + "\"}}", open);
    REQUIRE(wrong);
    CHECK(wrong->answer.error().message.find(shown) != std::string::npos);
    // What is not even JSON, and not UTF-8.
    CHECK(decode_answer("\xFF\xFE\x1b", open).error() ==
          "it answered with \"\\xff\\xfe\\x1b\", which is not JSON-RPC");
}

TEST_CASE("codec: texts of an agent have bounds", "[dut]") {
    const OpenCalls open{{CallId{1}, Request(Hello{}).index()}};
    const Result plain = Welcome{.firmware = std::string(100'000, 'f'), .atomic = "NONE"};
    const auto hello = decode_answer(encode_answer(CallId{1}, plain), open);
    REQUIRE(hello);
    REQUIRE(hello->answer);
    CHECK(std::get<Welcome>(*hello->answer).firmware == std::string(509, 'f') + "...");
    const Failure failure{.code = -32000,
                          .message = std::string(100'000, 'm'),
                          .verb = std::string(100'000, 'v'),
                          .errno_name = std::string(100'000, 'e')};
    const auto refusal = decode_answer(encode_answer(CallId{1}, std::unexpected(failure)), open);
    REQUIRE(refusal);
    CHECK(refusal->answer.error().message == std::string(509, 'm') + "...");
    CHECK(refusal->answer.error().verb == std::string(61, 'v') + "...");
    CHECK(refusal->answer.error().errno_name == std::string(61, 'e') + "...");
    const auto name = std::string(100'000, 'n');
    CHECK(failure_of(request_line("cq_create", "{\"" + name + "\":1}")).second.size() <= 512);
}

TEST_CASE("codec: a token is taken as it is", "[dut]") {
    const std::string token = std::string(1000, 't') + "\x1b";
    const auto call = decode_request(encode_request(CallId{1}, Hello{.token = token}));
    REQUIRE(call.request);
    CHECK(std::get<Hello>(*call.request).token == token);
}

TEST_CASE("codec: limits that an agent does not report are not made up", "[dut]") {
    const OpenCalls open{{CallId{1}, Request(Hello{}).index()}};
    auto line = encode_answer(CallId{1}, Result(Welcome{.atomic = "NONE"}));
    const std::string_view newer = R"(,"objects":16384,"idle_seconds":600)";
    const auto at = line.find(newer);
    REQUIRE(at != std::string::npos);
    line.erase(at, newer.size());
    const auto hello = decode_answer(line, open);
    REQUIRE(hello);
    REQUIRE(hello->answer);
    CHECK_FALSE(std::get<Welcome>(*hello->answer).limits.objects);
    CHECK_FALSE(std::get<Welcome>(*hello->answer).limits.idle_seconds);
}

TEST_CASE("base64: the vectors of RFC 4648, and what is none", "[dut]") {
    const std::array<std::pair<std::string_view, std::string_view>, 7> vectors{{
        {"", ""},
        {"f", "Zg=="},
        {"fo", "Zm8="},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="},
        {"fooba", "Zm9vYmE="},
        {"foobar", "Zm9vYmFy"},
    }};
    for (const auto& [plain, encoded] : vectors) {
        const auto bytes = std::as_bytes(std::span(plain));
        CHECK(to_base64(bytes) == encoded);
        CHECK(from_base64(encoded) == std::vector<std::byte>(bytes.begin(), bytes.end()));
    }
    for (const auto* wrong : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "====", "A===", "Zm 9", "Zm9v\n"}) {
        INFO(wrong);
        CHECK_FALSE(from_base64(wrong));
    }
}
