// A host that learns things late, and never what is not true.
#include "conformance/dut/engine_device.hpp"
#include "conformance/dut/late_device.hpp"

#include <catch2/catch.hpp>

#include <chrono>

namespace {

using namespace veriroce;
using namespace veriroce::dut;
using namespace std::chrono_literals;

struct Lateness final : engine::SurfaceFilter {
    [[nodiscard]] wire::Duration completion_delay() const override { return 100us; }
    [[nodiscard]] wire::Duration memory_delay() const override { return 100us; }
    [[nodiscard]] wire::Duration event_delay() const override { return 200us; }
    [[nodiscard]] bool refuses_posts_in_error() const override { return true; }
};

struct Late {
    explicit Late(bool late = true) : device(device_, late ? &filter : nullptr) {}

    Lateness filter;
    engine::Engine engine{{}};
    Budget budget{AgentLimits{}};
    EngineDevice device_{engine, budget, {.addresses = {*wire::IpAddress::parse("192.0.2.1")}}};
    LateDevice device;
    wire::Instant now{};

    Answer operator()(const Request& request) { return device.execute(request, now); }
    template <typename Method>
    auto get(const Method& request) {
        const Answer answer = (*this)(request);
        REQUIRE(answer);
        return std::get<typename Method::Gives>(*answer);
    }
};

struct Flushed {
    explicit Flushed(Late& late) {
        const auto pd = late.get(PdCreate{}).pd;
        cq = late.get(CqCreate{.depth = 8}).cq;
        qp =
            late.get(QpCreate{.pd = pd, .send_cq = cq, .recv_cq = cq, .max_send = 4, .max_recv = 4})
                .qp;
        late.get(QpModify{.qp = qp,
                          .attributes = {.state = engine::QpState::Init,
                                         .access = engine::Access{},
                                         .pkey_index = 0,
                                         .port_num = 1}});
        late.get(PostRecv{.qp = qp, .requests = {{.id = 7}}});
        late.get(QpModify{.qp = qp, .attributes = {.state = engine::QpState::Err}});
    }
    CqHandle cq;
    QpHandle qp;
};

} // namespace

TEST_CASE("late device: a completion shows after its delay, and says when it is due", "[dut]") {
    Late late;
    const Flushed flushed(late);
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.empty());
    CHECK(late.device.next_deadline() == late.now + 100us);
    late.now += 99us;
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.empty());
    late.now += 1us;
    const auto polled = late.get(Poll{.cq = flushed.cq});
    REQUIRE(polled.completions.size() == 1);
    CHECK(polled.completions.front().id == 7);
    CHECK(polled.completions.front().at == late.now);
    CHECK_FALSE(late.device.next_deadline());
}

TEST_CASE("late device: a completion that was due and not polled sets no deadline", "[dut]") {
    Late late;
    const Flushed flushed(late);
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.empty());
    late.now += 1ms;
    CHECK(late.device.next_deadline());
    late.device.pass(late.now);
    CHECK_FALSE(late.device.next_deadline());
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.size() == 1);
}

TEST_CASE("late device: an event shows after its delay, and goes with its QP", "[dut]") {
    const auto seen = [](Late& late) { return late.get(Events{}).events; };
    Late late;
    const Flushed flushed(late);
    late.device_.offer({.type = engine::EventType::QpFatal, .qp = engine::QpId{1}}, late.now);
    CHECK(seen(late).empty());
    CHECK(late.device.next_deadline() == late.now + 200us);
    late.now += 199us;
    CHECK(seen(late).empty());
    late.now += 1us;
    REQUIRE(seen(late).size() == 1);
    CHECK(seen(late).empty());
    late.device_.offer({.type = engine::EventType::QpFatal, .qp = engine::QpId{1}}, late.now);
    CHECK(seen(late).empty());
    late.get(QpDestroy{.qp = flushed.qp});
    late.now += 1ms;
    CHECK(seen(late).empty());
}

TEST_CASE("late device: what is held back of a QP goes with it", "[dut]") {
    Late late;
    const Flushed flushed(late);
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.empty());
    late.get(QpDestroy{.qp = flushed.qp});
    late.now += 1ms;
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.empty());
}

TEST_CASE("late device: posting to a QP in ERR is refused", "[dut]") {
    Late late;
    const Flushed flushed(late);
    const Answer answer = late(PostRecv{.qp = flushed.qp, .requests = {{.id = 8}}});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().errno_name == "EINVAL");
    CHECK(answer.error().posted == 0U);
}

TEST_CASE("late device: the host sees what it wrote at once, and others' bytes later", "[dut]") {
    Late late;
    const auto pd = late.get(PdCreate{}).pd;
    const auto mr = late.get(MrRegister{.pd = pd, .length = 16}).mr;
    const auto byte_at = [&](std::uint64_t offset) {
        return late.get(MrRead{.mr = mr, .offset = offset, .length = 1}).data.front();
    };
    const auto digest = [&] { return late.get(MrDigest{.mr = mr, .length = 16}).crc32c; };
    const auto write = [&](Executor& through, std::uint64_t offset) {
        const Answer answer =
            through.execute(MrWrite{.mr = mr, .offset = offset, .data = {std::byte{1}}}, late.now);
        REQUIRE(answer);
    };
    const auto before = digest();
    write(late.device_, 3); // as a packet does: past the host
    CHECK(byte_at(3) == std::byte{0});
    CHECK(digest() == before);
    write(late.device, 4);
    CHECK(byte_at(4) == std::byte{1});
    CHECK(byte_at(3) == std::byte{0});
    late.now += 100us;
    CHECK(byte_at(3) == std::byte{1});
    write(late.device_, 5);
    CHECK(byte_at(5) == std::byte{0});
    const Flushed flushed(late);
    late.get(Poll{.cq = flushed.cq});
    late.now += 99us;
    CHECK(byte_at(5) == std::byte{0});
    late.now += 1us;
    CHECK(late.get(Poll{.cq = flushed.cq}).completions.size() == 1);
    write(late.device_, 6);
    CHECK(byte_at(5) == std::byte{1}); // a completion was seen, and all before it
}

TEST_CASE("late device: without a filter nothing is late", "[dut]") {
    Late prompt(false);
    const Flushed flushed(prompt);
    CHECK(prompt.get(Poll{.cq = flushed.cq}).completions.size() == 1);
    CHECK(prompt(PostRecv{.qp = flushed.qp, .requests = {{.id = 8}}}));
}
