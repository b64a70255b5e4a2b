// What the tests of windows and of revoked keys have in common.
#pragma once

#include "tests/transport/engine/requests.hpp"

namespace veriroce::engine::test {

inline constexpr Access bindable{.local_write = true, .mw_bind = true};
inline constexpr Access writable{.remote_write = true};
inline constexpr Access readable{.remote_read = true};
inline constexpr std::uint64_t window_offset = 0x1000;
inline constexpr std::uint64_t window_bytes = 0x100;

// A region that may be bound to and grants nothing by itself.
inline LabOptions with_bindable_region() {
    LabOptions options;
    options.region_access = bindable;
    return options;
}

inline BindInfo part(const Lab& lab, Access access, std::uint64_t length = window_bytes) {
    return {.mr = lab.region.mr,
            .address = region_address + window_offset,
            .length = length,
            .access = access};
}

inline wire::Rkey variant(wire::Rkey key, std::uint32_t step = 1) {
    return {(key.value & ~0xFFU) | ((key.value + step) & 0xFFU)};
}

inline SendRequest bind_request(const Engine::Window& window, wire::Rkey key,
                                const BindInfo& what) {
    return {.id = 7, .opcode = WrOpcode::BindMw, .rkey = key, .mw = window.mw, .bind = what};
}

inline void check_done(Lab& lab, WcOpcode opcode, WcStatus status = WcStatus::Success) {
    const auto done = lab.sends();
    REQUIRE(done.size() == 1);
    CHECK(done[0].id == 7);
    CHECK(done[0].status == status);
    if (status == WcStatus::Success) CHECK(done[0].opcode == opcode);
    CHECK(lab.state() == (status == WcStatus::Success ? QpState::Rts : QpState::Err));
}

// A window of type 2 that the lab's QP has bound.
struct Bound {
    Engine::Window window;
    wire::Rkey key;

    Bound(Lab& lab, const BindInfo& what)
        : window(lab.engine.allocate_window(lab.pd, WindowType::Type2).value()),
          key(variant(window.rkey)) {
        lab.post(bind_request(window, key, what));
        CHECK(lab.drain().empty()); // nothing goes out
        check_done(lab, WcOpcode::BindMw);
    }
};

// The syndrome that answers a WRITE of 8 bytes.
inline std::uint8_t answer_to_write(Lab& lab, wire::Rkey key, std::uint64_t address, int n = 0) {
    wire::Packet write = lab.packet("RDMA_WRITE_ONLY", rq_psn + n);
    write.reth = {.virtual_address = address, .rkey = key, .dma_length = 8};
    lab.receive(write, pattern(8, 3));
    return lab.one().syndrome();
}

inline constexpr std::uint8_t access_nak = 0x62;

} // namespace veriroce::engine::test
