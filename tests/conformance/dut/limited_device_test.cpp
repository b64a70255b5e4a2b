// A device that lacks something, and what older agents leave unsaid.
#include <algorithm>

#include "conformance/dut/capabilities.hpp"
#include "conformance/dut/limited_device.hpp"
#include "tests/conformance/dut/virtual_pair.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;

using Words = std::vector<std::string>;

bool has(const Welcome& welcome, std::string_view word) {
    return std::ranges::find(welcome.capabilities, word) != welcome.capabilities.end();
}

// The built-in engine, and what limits it.
struct Limited {
    explicit Limited(std::string_view lacking, Told told = Told::Yes)
        : device(device_, *Lacks::parse(lacking), told) {}

    engine::Engine engine{{}};
    Budget budget{AgentLimits{}};
    EngineDevice device_{engine,
                         budget,
                         {.addresses = {*wire::IpAddress::parse("192.0.2.1"),
                                        *wire::IpAddress::parse("2001:db8::1")}}};
    LimitedDevice device;

    Answer operator()(const Request& request) { return device.execute(request, {}); }
    Welcome hello() { return std::get<Welcome>(*(*this)(Hello{})); }
};

template <typename Made>
Made made(Answer answer) {
    REQUIRE(answer);
    return std::get<Made>(*answer);
}

} // namespace

TEST_CASE("limited device: hello tells what it lacks, or claims everything", "[dut]") {
    const Welcome welcome = Limited("uc,mw1,ipv6,sge>=3,mtu>=2048").hello();
    CHECK_FALSE(has(welcome, "uc"));
    CHECK(has(welcome, "ud"));
    CHECK_FALSE(has(welcome, "mw1"));
    CHECK(has(welcome, "mw2"));
    CHECK(has(welcome, "mw"));
    CHECK_FALSE(has(welcome, "ipv6"));
    CHECK(welcome.ports.front().gids.size() == 1);
    CHECK(welcome.max.sge == 2);
    CHECK(welcome.ports.front().mtu_active == wire::Mtu::B1024);
    CHECK(Limited("uc,mw1,ipv6,sge>=3,mtu>=2048", Told::No).hello() == Limited("").hello());
    CHECK_FALSE(has(Limited("mw1,mw2").hello(), "mw"));
    CHECK_FALSE(has(Limited("mw").hello(), "mw2"));
}

TEST_CASE("limited device: it refuses the verbs that need what it lacks", "[dut]") {
    Limited device("uc,query_qp,reset_reuse,srq,inline>=1", Told::No);
    const auto pd = made<PdCreated>(device(PdCreate{})).pd;
    const auto cq = made<CqCreated>(device(CqCreate{.depth = 8}));
    CHECK(cq.depth == 8U);
    QpCreate create{.pd = pd, .send_cq = cq.cq, .recv_cq = cq.cq, .max_send = 1, .max_recv = 1};
    const auto qp = made<QpCreated>(device(create)).qp;
    create.type = engine::QpType::Uc;
    CHECK(device(create).error().errno_name == "EOPNOTSUPP");
    create.type = engine::QpType::Rc;
    create.max_inline = 1;
    CHECK(device(create).error().errno_name == "EINVAL");
    CHECK(device(QpQuery{.qp = qp}).error().errno_name == "EOPNOTSUPP");
    CHECK(device(SrqCreate{.pd = pd, .depth = 1}).error().code ==
          static_cast<std::int32_t>(FailureCode::MethodNotFound));
    const QpModify init{.qp = qp,
                        .attributes = {.state = engine::QpState::Init,
                                       .access = engine::Access{},
                                       .pkey_index = 0,
                                       .port_num = 1}};
    const QpModify reset{.qp = qp, .attributes = {.state = engine::QpState::Reset}};
    CHECK(device(reset)); // it is in RESET already
    CHECK(device(init));
    CHECK(device(reset));
    CHECK(device(init).error().errno_name == "EINVAL");
}

TEST_CASE("limited device: what is lacking is a known word or amount", "[dut]") {
    for (const std::string_view one : Lacks::each())
        CHECK(Lacks::parse(one).has_value());
    CHECK(Lacks::parse("").value().empty());
    for (const std::string_view wrong :
         {"ucc", "sge", "uc>=1", "sge>=", "sge>=0", "sge>=x", "uc,,ud"})
        CHECK_FALSE(Lacks::parse(wrong).has_value());
}

TEST_CASE("capabilities: an agent that does not probe has what needed no word", "[dut]") {
    Welcome old{.capabilities = {"rc", "mw"}};
    complete(old);
    CHECK(old.capabilities == Words{"rc", "mw", "mtu256", "reset_reuse", "query_qp", "mw1", "mw2"});
    Welcome probing{.capabilities = {"rc", "mw1"}, .probed = true};
    complete(probing);
    CHECK(probing.capabilities == Words{"rc", "mw1", "mw"});
    Welcome bare{.capabilities = {"rc"}};
    complete(bare);
    CHECK(bare.capabilities == Words{"rc", "mtu256", "reset_reuse", "query_qp"});
}

TEST_CASE("capabilities: both types of windows go and come with their word", "[dut]") {
    Welcome welcome{.capabilities = {"mw", "mw1", "mw2"}};
    remove_capability(welcome, "mw2");
    CHECK(welcome.capabilities == Words{"mw", "mw1"});
    remove_capability(welcome, "mw1");
    CHECK(welcome.capabilities.empty());
    add_capability(welcome, "mw2");
    CHECK(welcome.capabilities == Words{"mw2", "mw"});
    add_capability(welcome, "mw");
    CHECK(welcome.capabilities == Words{"mw2", "mw"});
}

TEST_CASE("chosen: a port comes first, with the chosen GIDs only", "[dut]") {
    const auto address = *wire::IpAddress::parse("192.0.2.1");
    const Gid first{.index = 1, .type = "rocev2", .address = address};
    const Gid second{.index = 3, .type = "rocev2", .address = address};
    const Welcome both{
        .device = "x0",
        .ports = {{.port = 1, .gids = {first}}, {.port = 2, .gids = {first, second}}}};
    Welcome welcome = both;
    CHECK(choose(welcome, {}));
    CHECK(welcome == both);
    CHECK(choose(welcome, {.port = 2, .gids = {3}}));
    CHECK(welcome.ports.front().port == 2);
    CHECK(welcome.ports.front().gids == std::vector{second});
    CHECK(welcome.ports.back() == both.ports.front());
    welcome = both;
    CHECK(choose(welcome, {.port = 3, .gids = {}}).error() ==
          "the device x0 has no port 3; it has 1, 2");
    CHECK(choose(welcome, {.port = {}, .gids = {2}}).error() ==
          "port 1 of the device x0 has no GID 2; it has 1 (192.0.2.1)");
}
