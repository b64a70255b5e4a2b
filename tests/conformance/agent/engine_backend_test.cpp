// Everything at once: two agents with the engine backend on two addresses of loopback, each driven
// by its own client; the data path is real UDP.
#include "conformance/agent/engine_backend.hpp"

#include <catch2/catch.hpp>
#include <poll.h>

#include "conformance/dut/remote_dut.hpp"
#include "tests/conformance/agent/running.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;

std::unique_ptr<agent::Backend> open_on(const std::string& address) {
    agent::Options options;
    options.address = address;
    auto backend = agent::open_engine(options);
    if (!backend) FAIL(backend.error());
    return std::move(*backend);
}

class End {
  public:
    explicit End(const std::string& address)
        : address_(*wire::IpAddress::parse(address)), backend_(open_on(address)),
          agent_(*backend_, "sesame") {
        auto dut = RemoteDut::connect(*net::LineAddress::parse(agent_.address()), "sesame",
                                      net::monotonic_now() + 5s);
        if (!dut) FAIL(dut.error());
        dut_ = std::move(*dut);
    }
    [[nodiscard]] const wire::IpAddress& address() const { return address_; }

    Answer ask(Request request) {
        const auto call = dut_->submit(std::move(request), net::monotonic_now());
        for (const auto deadline = net::monotonic_now() + 10s; net::monotonic_now() < deadline;) {
            if (auto reply = dut_->poll(net::monotonic_now())) {
                REQUIRE(reply->call == call);
                return std::move(reply->answer);
            }
            pollfd waiting{.fd = dut_->descriptor(), .events = POLLIN, .revents = 0};
            ::poll(&waiting, 1, 100);
        }
        FAIL("no answer within ten seconds");
        return Done{};
    }
    template <typename Method>
    typename Method::Gives call(Method request) {
        const auto answer = ask(std::move(request));
        if (!answer) FAIL(answer.error().message);
        return std::get<typename Method::Gives>(*answer);
    }

    PdHandle pd;
    CqHandle cq;
    QpCreated qp;
    MrRegistered mr;

    void make() {
        pd = call(PdCreate{}).pd;
        cq = call(CqCreate{.depth = 16}).cq;
        qp = call(QpCreate{.pd = pd, .send_cq = cq, .recv_cq = cq, .max_send = 4, .max_recv = 4});
        mr = call(
            MrRegister{.pd = pd,
                       .length = 65536,
                       .access = {.local_write = true, .remote_write = true, .remote_read = true}});
    }
    void connect(const End& peer) {
        const engine::Access access{.remote_write = true, .remote_read = true};
        call(QpModify{
            .qp = qp.qp,
            .attributes = {
                .state = engine::QpState::Init, .access = access, .pkey_index = 0, .port_num = 1}});
        call(QpModify{.qp = qp.qp,
                      .attributes = {.state = engine::QpState::Rtr,
                                     .address_vector =
                                         AddressVector{.gid_index = 0, .address = peer.address()},
                                     .path_mtu = wire::Mtu::B1024,
                                     .rq_psn = wire::Psn(0xFFFFF0),
                                     .min_rnr_timer = 12,
                                     .max_dest_rd_atomic = 1,
                                     .dest_qp_num = peer.qp.qpn}});
        call(QpModify{.qp = qp.qp,
                      .attributes = {.state = engine::QpState::Rts,
                                     .timeout = 14,
                                     .retry_cnt = 7,
                                     .rnr_retry = 7,
                                     .max_rd_atomic = 1,
                                     .sq_psn = wire::Psn(0xFFFFF0)}});
    }

  private:
    wire::IpAddress address_;
    std::unique_ptr<agent::Backend> backend_;
    agent::test::RunningAgent agent_;
    std::unique_ptr<RemoteDut> dut_;
};

} // namespace

TEST_CASE("engine backend: two agents write and read each other over UDP", "[agent]") {
    End a("127.0.0.2");
    End b("127.0.0.3");
    a.make();
    b.make();
    a.connect(b);
    b.connect(a);
    a.call(MrFill{.mr = a.mr.mr, .offset = 0, .length = 65536, .pattern = Pattern::Random});
    for (const auto opcode : {engine::WrOpcode::RdmaWrite, engine::WrOpcode::RdmaRead}) {
        a.call(PostSend{.qp = a.qp.qp,
                        .requests = {{.id = 1,
                                      .opcode = opcode,
                                      .sge = {{.mr = a.mr.mr, .offset = 0, .length = 60000}},
                                      .remote_address = b.mr.address,
                                      .rkey = b.mr.rkey,
                                      .flags = {.signaled = true}}}});
        const auto polled = a.call(Poll{.cq = a.cq, .max = 1, .wait_ms = 5000});
        REQUIRE(polled.completions.size() == 1);
        CHECK(polled.completions[0].status == engine::WcStatus::Success);
        CHECK(a.call(MrDigest{.mr = a.mr.mr, .offset = 0, .length = 60000}) ==
              b.call(MrDigest{.mr = b.mr.mr, .offset = 0, .length = 60000}));
        b.call(MrFill{.mr = b.mr.mr, .offset = 0, .length = 65536, .pattern = Pattern::Offsets});
    }
}

TEST_CASE("engine backend: QP 1 refuses a connection, because nobody listens", "[agent][CM-06]") {
    constexpr std::uint64_t kGrh = 40;
    End tester("127.0.0.7");
    const End device("127.0.0.8");
    const auto pd = tester.call(PdCreate{}).pd;
    const auto cq = tester.call(CqCreate{.depth = 4}).cq;
    const auto qp = tester
                        .call(QpCreate{.pd = pd,
                                       .type = engine::QpType::Ud,
                                       .send_cq = cq,
                                       .recv_cq = cq,
                                       .max_send = 1,
                                       .max_recv = 1})
                        .qp;
    const auto mr =
        tester.call(MrRegister{.pd = pd, .length = 4096, .access = {.local_write = true}}).mr;
    for (const QpAttributes& step :
         {QpAttributes{.state = engine::QpState::Init,
                       .pkey_index = 0,
                       .port_num = 1,
                       .qkey = wire::Qkey{0x80010000}},
          QpAttributes{.state = engine::QpState::Rtr},
          QpAttributes{.state = engine::QpState::Rts, .sq_psn = wire::Psn(0)}})
        tester.call(QpModify{.qp = qp, .attributes = step});
    tester.call(PostRecv{
        .qp = qp, .requests = {{.id = 1, .sge = {{.mr = mr, .offset = 0, .length = kGrh + 256}}}}});
    // A REQ: versions, class and method; transaction 0x1122; attribute 0x10; our id 0x33.
    std::vector<std::byte> message(256);
    message[0] = std::byte{1};
    message[1] = std::byte{7};
    message[2] = std::byte{2};
    message[3] = std::byte{3};
    message[14] = std::byte{0x11};
    message[15] = std::byte{0x22};
    message[17] = std::byte{0x10};
    message[27] = std::byte{0x33};
    tester.call(MrWrite{.mr = mr, .offset = 1024, .data = message});
    tester.call(PostSend{.qp = qp,
                         .requests = {{.id = 2,
                                       .sge = {{.mr = mr, .offset = 1024, .length = 256}},
                                       .ud = UdDestination{.address = device.address(),
                                                           .qpn = wire::Qpn{1},
                                                           .qkey = wire::Qkey{0x80010000}}}}});
    const auto polled = tester.call(Poll{.cq = cq, .max = 1, .wait_ms = 5000});
    REQUIRE(polled.completions.size() == 1);
    CHECK(polled.completions[0].id == 1);
    CHECK(polled.completions[0].status == engine::WcStatus::Success);
    CHECK(polled.completions[0].byte_len == kGrh + 256);
    CHECK(polled.completions[0].src_qpn == wire::Qpn{1});
    const auto answer = tester.call(MrRead{.mr = mr, .offset = kGrh, .length = 256}).data;
    CHECK(wire::load_u64(answer, 8) == 0x1122); // the transaction
    CHECK(wire::load_u16(answer, 16) == 0x12);  // REJ
    CHECK(wire::load_u32(answer, 28) == 0x33);  // to our id
    CHECK(wire::load_u16(answer, 34) == 8);     // invalid service id
}

TEST_CASE("engine backend: connections share the engine and not its objects", "[agent]") {
    const auto backend = open_on("127.0.0.4");
    auto one = backend->open_device();
    auto other = backend->open_device();
    REQUIRE(one);
    REQUIRE(other);
    const auto pd = std::get<PdCreated>(*(*one)->execute(PdCreate{}, {})).pd;
    const auto refused = (*other)->execute(PdDestroy{.pd = pd}, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == -32602);
    CHECK((*one)->execute(PdDestroy{.pd = pd}, {}));
}

TEST_CASE("engine backend: what keeps it from starting is said", "[agent]") {
    agent::Options options;
    CHECK(agent::open_engine(options).error().starts_with("the engine needs --address"));
    options.address = "localhost";
    CHECK(agent::open_engine(options).error() ==
          "--address cannot be \"localhost\": expected an IPv4 or IPv6 address of this host");
    options.address = "192.0.2.77";
    CHECK(agent::open_engine(options).error().find("this host does not have that address") !=
          std::string::npos);
}
