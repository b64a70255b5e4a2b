// The reference model by itself: what it accepts, and each kind of lie that it must not believe.
// Memory is written here by hand, as a device would.
#include <catch2/catch.hpp>

#include <cstring>

#include "transport/sim/model.hpp"

using namespace veriroce;
using namespace veriroce::sim;
using engine::Queue;
using engine::WcOpcode;
using engine::WcStatus;
using engine::WrOpcode;

namespace {

// One connection; direction 0 asks.
struct Application {
    Application() : scenario(plan()), layout(layout_of(scenario)) {
        for (std::size_t i = 0; i < 2; ++i) {
            memory[i].resize(layout.memory_bytes[i], std::byte{0x11});
            std::memset(memory[i].data() + kCounterAt, 0, 8);
        }
        model.emplace(scenario, layout,
                      std::vector<wire::Bytes>{wire::Bytes(memory[0]), wire::Bytes(memory[1])});
    }

    static Scenario plan() {
        Scenario scenario;
        scenario.endpoints.resize(2);
        scenario.connections.resize(1);
        scenario.connections[0].longest = 64;
        return scenario;
    }

    const Work& post(WorkPlan plan, bool signaled = true) {
        plan.id = posted++;
        plan.data_seed = plan.id + 1;
        const Work& work = model->post(0, plan, signaled);
        if (!is_read(plan.opcode)) {
            put(0, work.local[0].begin, work.data);
            model->wrote(0, work.local[0]);
        }
        return work;
    }
    static bool is_read(WrOpcode opcode) {
        return opcode == WrOpcode::RdmaRead || asks_atomic(opcode);
    }
    void put(std::size_t endpoint, std::size_t at, wire::Bytes bytes) {
        std::ranges::copy(bytes, memory[endpoint].begin() + static_cast<std::ptrdiff_t>(at));
    }
    // Carries a request out as it should be.
    void carry_out(const Work& work) { put(1, work.written.begin, work.writes); }

    MaybeFailure sent(std::uint64_t id, WcOpcode opcode = WcOpcode::RdmaWrite,
                      WcStatus status = WcStatus::Success) {
        return model->completed(
            0, {.id = id, .queue = Queue::Send, .status = status, .opcode = opcode});
    }
    std::optional<Wrong> wrong(const MaybeFailure& failure) {
        if (!failure) return std::nullopt;
        CHECK_FALSE(failure->text.empty());
        return failure->wrong;
    }

    Scenario scenario;
    Layout layout;
    std::array<std::vector<std::byte>, 2> memory;
    std::optional<Model> model;
    std::uint32_t posted = 0;
};

constexpr WorkPlan write_plan{.opcode = WrOpcode::RdmaWrite, .length = 16, .target = 8, .cuts = {}};
constexpr WorkPlan read_plan{.opcode = WrOpcode::RdmaRead, .length = 16, .target = 8, .cuts = {}};
constexpr WorkPlan add_plan{
    .opcode = WrOpcode::AtomicFetchAndAdd, .length = 8, .target = 8, .cuts = {}, .add_or_swap = 5};
constexpr WorkPlan send_plan{.opcode = WrOpcode::SendWithImm, .length = 16, .cuts = {}, .imm = 77};

} // namespace

TEST_CASE("model: a WRITE may come piece by piece, and is there when it completes", "[sim]") {
    Application application;
    const Work work = application.post(write_plan);
    CHECK_FALSE(application.model->look(1));
    application.put(1, work.written.begin, wire::Bytes(work.writes).first(5));
    CHECK_FALSE(application.model->look(1));
    application.carry_out(work);
    CHECK_FALSE(application.sent(0));
    CHECK_FALSE(application.model->finished());
}

TEST_CASE("model: a completion without the effect is a lie", "[sim]") {
    Application application;
    const Work work = application.post(write_plan);
    application.put(1, work.written.begin, wire::Bytes(work.writes).first(15));
    CHECK(application.wrong(application.sent(0)) == Wrong::NoEffect);
}

TEST_CASE("model: a byte that no request names stays as it was", "[sim]") {
    for (const std::ptrdiff_t at : {-1, 16}) {
        Application application;
        const Work work = application.post(write_plan);
        application.carry_out(work);
        application.memory[1][work.written.begin + static_cast<std::size_t>(at)] = std::byte{0x12};
        CHECK(application.wrong(application.model->look(1)) == Wrong::Memory);
    }
    Application early; // nothing was posted yet
    early.memory[1][early.layout.directions[0].target.begin] = std::byte{0x12};
    CHECK(early.wrong(early.model->look(1)) == Wrong::Memory);
    CHECK_FALSE(early.model->look(0));
}

TEST_CASE("model: requests are carried out in order and once", "[sim][RSP-10]") {
    Application application;
    const Work first = application.post(write_plan);
    const Work second = application.post(write_plan);
    application.carry_out(second);
    CHECK_FALSE(application.model->look(1)); // the first may have been there before it
    application.carry_out(first);            // once more
    CHECK(application.wrong(application.model->look(1)) == Wrong::Memory);
}

TEST_CASE("model: completions come in order, and say what was asked for", "[sim][N-20]") {
    Application application;
    for (int i = 0; i < 3; ++i)
        application.carry_out(application.post(write_plan, i != 0)); // the first is not signaled
    CHECK(application.wrong(application.sent(0)) == Wrong::Order);
    CHECK(application.wrong(application.sent(2)) == Wrong::Order);
    CHECK(application.wrong(application.sent(1, WcOpcode::Send)) == Wrong::Content);
    CHECK(application.wrong(application.sent(1, WcOpcode::RdmaWrite, WcStatus::RetryExcErr)) ==
          Wrong::Status);
    CHECK_FALSE(application.sent(1));
    CHECK(application.model->done(0) == 2);
    CHECK(application.wrong(application.model->finished()) == Wrong::Unfinished);
    CHECK_FALSE(application.sent(2));
    CHECK(application.wrong(application.sent(2)) == Wrong::Order);
    CHECK_FALSE(application.model->finished());
}

TEST_CASE("model: a READ brings what was there, or what came before it was done", "[sim]") {
    for (const bool fenced : {false, true}) {
        Application application;
        const Work asks = application.post(read_plan);
        const std::vector<std::byte> old = asks.data;
        WorkPlan over = write_plan;
        over.flags.fence = fenced;
        const Work later = application.post(over);
        application.carry_out(later);
        application.put(0, asks.local[0].begin, later.writes);
        // REQ-28: a fenced WRITE does not begin before the READ is done.
        const MaybeFailure verdict = application.sent(0, WcOpcode::RdmaRead);
        CHECK(verdict.has_value() == fenced);
    }
    Application application;
    const Work asks = application.post(read_plan);
    application.put(0, asks.local[0].begin, asks.data);
    CHECK_FALSE(application.sent(0, WcOpcode::RdmaRead));
    Application torn;
    const Work other = torn.post(read_plan);
    torn.put(0, other.local[0].begin, other.data);
    torn.memory[0][other.local[0].begin + 3] ^= std::byte{1};
    CHECK(torn.wrong(torn.sent(0, WcOpcode::RdmaRead)) == Wrong::NoEffect);
}

TEST_CASE("model: an atomic is carried out once and tells what it found", "[sim][ATM-04]") {
    Application application;
    const Work work = application.post(add_plan);
    application.carry_out(work);
    CHECK_FALSE(application.model->look(1));
    std::uint64_t value = 0;
    std::memcpy(&value, application.memory[1].data() + work.written.begin, sizeof value);
    CHECK(value == 0x1111111111111111 + 5);
    application.put(0, work.local[0].begin, work.data);
    CHECK_FALSE(application.sent(0, WcOpcode::FetchAdd));
    value += 5;
    std::memcpy(application.memory[1].data() + work.written.begin, &value, sizeof value);
    CHECK(application.wrong(application.model->look(1)) == Wrong::Memory);
    Application lie;
    const Work other = lie.post(add_plan);
    lie.carry_out(other);
    lie.put(0, other.local[0].begin, other.writes); // what it left, and not what it found
    CHECK(lie.wrong(lie.sent(0, WcOpcode::FetchAdd)) == Wrong::NoEffect);
}

TEST_CASE("model: additions of several QPs follow one another without a gap", "[sim][ATM-04]") {
    for (const std::uint64_t found : {0U, 5U, 3U}) {
        Application application;
        WorkPlan shared = add_plan;
        shared.shared = true;
        const std::array works{application.post(shared), application.post(shared)};
        std::uint64_t original = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            std::memcpy(application.memory[0].data() + works[i].local[0].begin, &original, 8);
            CHECK_FALSE(application.sent(i, WcOpcode::FetchAdd));
            original = found;
        }
        const std::uint64_t sum = 10;
        std::memcpy(application.memory[1].data() + kCounterAt, &sum, 8);
        CHECK(application.wrong(application.model->finished()).has_value() == (found != 5));
    }
}

TEST_CASE("model: a receive completes once its message is there, and says so", "[sim][N-21]") {
    const auto received = [](Application& application, std::uint64_t id, std::uint32_t bytes,
                             std::optional<std::uint32_t> imm) {
        return application.wrong(application.model->completed(0, {.id = id,
                                                                  .queue = Queue::Receive,
                                                                  .opcode = WcOpcode::Recv,
                                                                  .byte_len = bytes,
                                                                  .imm = imm}));
    };
    Application application;
    CHECK(received(application, 0, 16, 77) == Wrong::Order); // none is posted
    application.model->post_receive(0);
    CHECK(received(application, 0, 16, 77) == Wrong::Order); // nothing was sent
    const Work work = application.post(send_plan);
    const std::size_t at = application.layout.directions[0].receive(0);
    application.put(1, at, work.data);
    CHECK_FALSE(application.model->look(1));
    CHECK(received(application, 1, 16, 77) == Wrong::Order);
    CHECK(received(application, 0, 15, 77) == Wrong::Content);
    CHECK(received(application, 0, 16, 78) == Wrong::Content);
    CHECK(received(application, 0, 16, std::nullopt) == Wrong::Content);
    CHECK_FALSE(received(application, 0, 16, 77));
    CHECK(application.model->receives_done(0) == 1);
    application.memory[1][at] ^= std::byte{1};
    CHECK(application.wrong(application.model->look(1)) == Wrong::Memory);
    Application empty;
    empty.model->post_receive(0);
    empty.post(send_plan);
    CHECK(received(empty, 0, 16, 77) == Wrong::NoEffect);
}
