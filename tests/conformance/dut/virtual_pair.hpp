// Two built-in devices joined by a link in virtual time, and what each needs for a connection.
#pragma once

#include "conformance/dut/virtual_dut.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>

#include "transport/sim/network.hpp"

namespace veriroce::dut::test {

inline const std::array macs{*wire::MacAddress::parse("02:00:00:00:00:01"),
                             *wire::MacAddress::parse("02:00:00:00:00:02")};
inline const std::array addresses{*wire::IpAddress::parse("192.0.2.1"),
                                  *wire::IpAddress::parse("192.0.2.2")};

inline std::unique_ptr<VirtualDut> make_device(std::size_t side, AgentLimits limits = {}) {
    VirtualDutOptions options;
    options.description.mac = macs[side];
    options.description.addresses = {addresses[side], *wire::IpAddress::parse("2001:db8::1")};
    options.neighbour = macs[1 - side];
    options.limits = limits;
    return std::make_unique<VirtualDut>(std::move(options));
}

// Two devices and the time.
class Pair {
  public:
    Pair() : devices_{make_device(0), make_device(1)} {}

    CallId submit(std::size_t side, Request request) {
        return devices_[side]->submit(std::move(request), now_);
    }
    // Lets the time run until the call is answered.
    Answer wait(std::size_t side, CallId call) {
        for (int step = 0; step < 10'000; ++step) {
            settle();
            if (auto found = answers_.extract({side, call}); !found.empty()) {
                return std::move(found.mapped());
            }
            const auto next = next_event();
            if (!next) break;
            now_ = std::max(now_, *next);
        }
        FAIL("the call was never answered");
        return Done{};
    }
    template <typename Method>
    typename Method::Gives call(std::size_t side, Method request) {
        const auto answer = wait(side, submit(side, Request(std::move(request))));
        if (!answer) FAIL(answer.error().message);
        return std::get<typename Method::Gives>(*answer);
    }
    Failure refusal(std::size_t side, Request request) {
        const auto answer = wait(side, submit(side, std::move(request)));
        REQUIRE_FALSE(answer);
        return answer.error();
    }
    [[nodiscard]] bool answered(std::size_t side, CallId call) const {
        return answers_.contains({side, call});
    }
    void settle() {
        for (bool busy = true; busy;) {
            busy = false;
            while (auto arrival = network_.deliver(now_)) {
                devices_[arrival->port]->receive(arrival->frame, now_);
                busy = true;
            }
            for (std::size_t side = 0; side < 2; ++side) {
                while (const auto frame = devices_[side]->transmit(now_)) {
                    network_.send(side, *frame, now_);
                    ++frames;
                }
                while (auto reply = devices_[side]->poll(now_)) {
                    answers_.emplace(std::pair(side, reply->call), std::move(reply->answer));
                    busy = true;
                }
            }
        }
    }
    [[nodiscard]] wire::Instant now() const { return now_; }

    std::size_t frames = 0;

  private:
    [[nodiscard]] std::optional<wire::Instant> next_event() const {
        std::optional<wire::Instant> first = network_.next_event();
        for (const auto& device : devices_) {
            const auto due = device->next_deadline();
            if (due && (!first || *due < *first)) first = due;
        }
        return first;
    }

    std::array<std::unique_ptr<VirtualDut>, 2> devices_;
    sim::Network network_{2};
    wire::Instant now_{};
    std::map<std::pair<std::size_t, CallId>, Answer> answers_;
};

// What each side has: made by the contract's own methods.
struct Side {
    PdHandle pd;
    CqHandle cq;
    QpCreated qp;
    MrRegistered mr;
};

inline Side make_side(Pair& pair, std::size_t side) {
    Side made;
    made.pd = pair.call(side, PdCreate{}).pd;
    made.cq = pair.call(side, CqCreate{.depth = 64}).cq;
    made.qp = pair.call(
        side,
        QpCreate{
            .pd = made.pd, .send_cq = made.cq, .recv_cq = made.cq, .max_send = 16, .max_recv = 16});
    made.mr = pair.call(side, MrRegister{.pd = made.pd,
                                         .length = 8192,
                                         .access = {.local_write = true,
                                                    .remote_write = true,
                                                    .remote_read = true,
                                                    .remote_atomic = true,
                                                    .mw_bind = true,
                                                    .flush_global = true},
                                         .fill = Fill{.pattern = Pattern::Offsets, .key = side}});
    return made;
}

inline void connect(Pair& pair, std::size_t side, const Side& mine, wire::Qpn peer) {
    pair.call(side, QpModify{.qp = mine.qp.qp,
                             .attributes = {.state = engine::QpState::Init,
                                            .access = engine::Access{.remote_write = true,
                                                                     .remote_read = true,
                                                                     .remote_atomic = true,
                                                                     .flush_global = true},
                                            .pkey_index = 0,
                                            .port_num = 1}});
    pair.call(side, QpModify{.qp = mine.qp.qp,
                             .attributes = {
                                 .state = engine::QpState::Rtr,
                                 .address_vector =
                                     AddressVector{.gid_index = 0, .address = addresses[1 - side]},
                                 .path_mtu = wire::Mtu::B1024,
                                 .rq_psn = wire::Psn(100),
                                 .min_rnr_timer = 1,
                                 .max_dest_rd_atomic = 4,
                                 .dest_qp_num = peer}});
    pair.call(side, QpModify{.qp = mine.qp.qp,
                             .attributes = {.state = engine::QpState::Rts,
                                            .timeout = 10,
                                            .retry_cnt = 2,
                                            .rnr_retry = 1,
                                            .max_rd_atomic = 4,
                                            .sq_psn = wire::Psn(100)}});
}

struct Connected {
    Pair pair;
    std::array<Side, 2> sides;

    Connected() : sides{make_side(pair, 0), make_side(pair, 1)} {
        connect(pair, 0, sides[0], sides[1].qp.qpn);
        connect(pair, 1, sides[1], sides[0].qp.qpn);
    }
    [[nodiscard]] SendRequest request(std::uint64_t id, engine::WrOpcode opcode) const {
        return {.id = id,
                .opcode = opcode,
                .sge = {{.mr = sides[0].mr.mr, .offset = 0, .length = 5000}},
                .remote_address = sides[1].mr.address,
                .rkey = sides[1].mr.rkey,
                .flags = {.signaled = true}};
    }
    Completion completion(std::size_t side) {
        const auto polled = pair.call(side, Poll{.cq = sides[side].cq, .max = 1, .wait_ms = 1000});
        REQUIRE(polled.completions.size() == 1);
        return polled.completions[0];
    }
};

} // namespace veriroce::dut::test
