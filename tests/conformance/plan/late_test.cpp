// Devices whose host sees completions and bytes late: the tester looks again until its patience is
// over, and no longer than it must.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/conformance/plan/playing.hpp"

namespace veriroce::test {
namespace {

constexpr std::string_view kHeader = R"(rule   RSP-01
title  "What a host sees late"
role   responder

)";

VirtualTestbedOptions device_named(std::string_view name) {
    const auto mutant = mutants::find(name);
    REQUIRE(mutant.has_value());
    return engine_of(*mutant);
}

CaseResult play_late(std::string_view dialogue, std::string_view device) {
    const CaseResult result = play_script(std::string(kHeader) + std::string(dialogue),
                                          device.empty() ? right_engine() : device_named(device));
    UNSCOPED_INFO(device << "\n" << text_of(result));
    return result;
}

// From the first packet to the last.
wire::Duration length_of(const CaseResult& result) {
    REQUIRE_FALSE(result.packets.empty());
    return result.packets.back().at.latest - result.packets.front().at.latest;
}

class HidesCompletions final : public engine::SurfaceFilter {
  public:
    std::optional<engine::Completion> completion(const engine::Completion& /*one*/) override {
        return std::nullopt;
    }
};

// After a completion was polled its bytes are not there yet: only when the QP is asked for its
// state.
class ShowsAfterCompletions final : public engine::SurfaceFilter {
  public:
    void region_registered(const engine::RegisteredRegion& region) override {
        memory_ = region.memory;
    }
    std::optional<engine::Completion> completion(const engine::Completion& one) override {
        written_.assign(memory_.begin(), memory_.end());
        std::ranges::fill(memory_, std::byte{});
        return one;
    }
    void queried(engine::QpReport& /*report*/) override {
        if (!written_.empty()) std::ranges::copy(written_, memory_.begin());
    }

  private:
    wire::MutableBytes memory_; // of the only region
    std::vector<std::byte> written_;
};

constexpr std::string_view kWrite = R"(dut    mr a len=64 access=remote_write fill=zero
tester mr t len=64 fill=offsets
> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 data=t ackreq
< ACK              psn=0
expect a == t
> RDMA_WRITE_ONLY  psn=1 va=a rkey=a len=64 data=t ackreq
< ACK              psn=1
)";

constexpr std::string_view kRead = R"(dut    mr a len=64 access=remote_write,remote_read fill=zero
> RDMA_WRITE_ONLY     psn=0 va=a rkey=a len=64 ackreq
< ACK                 psn=0
> RDMA_READ_REQUEST   psn=1 va=a rkey=a dmalen=64
< RDMA_READ_RESPONSE  psn=1 len=64 data=a
> RDMA_READ_REQUEST   psn=2 va=a rkey=a dmalen=64
< RDMA_READ_RESPONSE  psn=2 len=64
)";

} // namespace

TEST_CASE("late: an 'expect' waits for bytes, and not if they are there", "[plan][ACK-05]") {
    const CaseResult prompt = play_late(kWrite, "");
    CHECK(prompt.verdict == Verdict::Pass);
    CHECK(length_of(prompt) < std::chrono::microseconds(100));
    const CaseResult late = play_late(kWrite, "memory_thirty_ms_late");
    CHECK(late.verdict == Verdict::Pass);
    CHECK(length_of(late) >= std::chrono::milliseconds(30));
    CHECK(length_of(late) < std::chrono::milliseconds(100));
}

TEST_CASE("late: a packet is compared with memory that is visible later", "[plan][ACK-05]") {
    const CaseResult prompt = play_late(kRead, "");
    CHECK(prompt.verdict == Verdict::Pass);
    CHECK(length_of(prompt) < std::chrono::microseconds(100));
    const CaseResult late = play_late(kRead, "memory_thirty_ms_late");
    CHECK(late.verdict == Verdict::Pass);
    CHECK(length_of(late) < std::chrono::milliseconds(100));
}

TEST_CASE("late: bytes that never come fail when the patience is over", "[plan][ACK-05]") {
    for (const std::string_view device : {"", "memory_thirty_ms_late"}) {
        const CaseResult result = play_late(R"(dut    mr a len=64 access=remote_write fill=zero
> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 data=hex"5A" ackreq
< ACK              psn=0
expect a == ones
)",
                                            device);
        CHECK(result.verdict == Verdict::Fail);
        CHECK(result.reason().find("data: expected ff") != std::string::npos);
    }
}

// No line fails: the first look is too early for a device whose completion was not polled.
TEST_CASE("late: bytes behind a polled completion must be there at once", "[plan][ACK-05]") {
    const CaseResult result = play_script(std::string(kHeader) + R"(dut    mr a len=64 fill=zero
dut    recv id=1 local=a
> SEND_ONLY  psn=0 ackreq
< ACK        psn=0
dut    done recv id=1
expect a == zero
dut    state RTS
)",
                                          engine_behind<ShowsAfterCompletions>());
    INFO(text_of(result));
    CHECK(result.verdict == Verdict::Fail);
    CHECK(result.reason().find("every line passed, but the packets violate RSP-01") == 0);
}

TEST_CASE("late: at the end bytes and completions are waited for", "[plan][ACK-05][N-21]") {
    constexpr std::string_view unscripted = R"(rule   RSP-01
title  "Nothing looks at memory and completions"
role   responder
tags   unscripted

dut    mr a len=64 access=remote_write fill=zero
dut    recv id=1
> RDMA_WRITE_ONLY  psn=0 va=a rkey=a len=64 ackreq
> SEND_ONLY        psn=1 ackreq
< ACK              psn=1
)";
    for (const std::string_view device :
         {"memory_thirty_ms_late", "completions_thirty_ms_late", "host_one_ms_late"}) {
        const CaseResult result = play_script(unscripted, device_named(device));
        INFO(device << "\n" << text_of(result));
        CHECK(result.verdict == Verdict::Pass);
    }
    // A device that never tells is not late.
    const CaseResult silent = play_script(unscripted, engine_behind<HidesCompletions>());
    CHECK(silent.verdict == Verdict::Fail);
    CHECK(silent.reason().find("N-21") != std::string::npos);
}

TEST_CASE("late: completions that come after 'judged' need no line", "[plan]") {
    const CaseResult result = play_late(R"(dut    recv id=1
> SEND_ONLY  psn=0 ackreq
judged
)",
                                        "completions_thirty_ms_late");
    CHECK(result.verdict == Verdict::Pass);
}

TEST_CASE("late: a QP in ERR may refuse what is posted", "[plan][STA-07]") {
    constexpr std::string_view posts = R"(dut    modify state=ERR
dut    post SEND id=1..2
dut    recv id=3
dut    done send id=1..2 status=WR_FLUSH_ERR
dut    done recv id=3 status=WR_FLUSH_ERR
)";
    for (const std::string_view device : {"", "posting_in_error_refused"})
        CHECK(play_late(posts, device).verdict == Verdict::Pass);
    constexpr std::string_view early = R"(dut    modify state=RESET
dut    post SEND id=1
dut    done send id=1
)";
    CHECK(play_late(early, "").verdict == Verdict::Pass);
    constexpr std::string_view refused = R"(dut    modify state=ERR
dut    refuses post SEND id=1
)";
    CHECK(play_late(refused, "posting_in_error_refused").verdict == Verdict::Pass);
    CHECK(play_late(refused, "").verdict == Verdict::Fail);
}

} // namespace veriroce::test
