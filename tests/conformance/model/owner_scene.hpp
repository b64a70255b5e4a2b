// A story made by hand, for tests of memory and completions: one QP of the device (RC, or as said;
// QPN 0x11, MTU 256) and a region of 1 KiB, filled with a pattern, in which the tester's packets
// may do all that a region allows. Each step is 1 us after the one before.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "conformance/dut/pattern.hpp"
#include "conformance/model/shadow.hpp"
#include "tests/conformance/model/story_frame.hpp"

namespace veriroce::model::test {

struct OwnerScene {
    using Edit = std::function<void(wire::Packet&)>;

    static constexpr dut::QpHandle qp{1};
    static constexpr dut::CqHandle cq{2};
    static constexpr dut::MrHandle region{7};
    static constexpr std::uint64_t address = 0x10000;
    static constexpr wire::Rkey key{0x7000};
    static constexpr std::uint64_t length = 1024;
    static constexpr std::uint32_t dut_start = 0xFFFFFE; // the PSNs wrap within the first packets
    static constexpr std::uint32_t tester_start = 0xFFFFFF;

    Story story;
    std::deque<std::vector<std::byte>> frames;
    wire::Instant now{};
    wire::QpType type;

    static constexpr wire::Qkey qkey{0x1234};    // of a UD QP
    static constexpr wire::Qpn source{0x123456}; // of datagrams

    explicit OwnerScene(wire::QpType of = wire::QpType::Rc,
                        wire::QpState up_to = wire::QpState::Rts)
        : type(of) {
        story.setting.dut_address = dut_address();
        story.setting.exact = true;
        call(dut::CqCreate{.depth = 64}, dut::CqCreated{.cq = cq});
        call(dut::QpCreate{.type = type, .send_cq = cq, .recv_cq = cq},
             dut::QpCreated{.qp = qp, .qpn = wire::Qpn{0x11}});
        bring_to(wire::QpState::Init);
        dut::QpModify change{.qp = qp, .attributes = {.state = wire::QpState::Rtr}};
        change.attributes.access = everything();
        if (type == wire::QpType::Ud) {
            change.attributes.qkey = qkey;
        } else {
            change.attributes.address_vector = dut::AddressVector{.address = tester_address()};
        }
        change.attributes.path_mtu = wire::Mtu::B256;
        change.attributes.rq_psn = wire::Psn(tester_start);
        change.attributes.sq_psn = wire::Psn(dut_start);
        change.attributes.dest_qp_num = wire::Qpn{0x800};
        change.attributes.max_dest_rd_atomic = std::uint8_t{4};
        call(std::move(change), dut::Done{});
        if (up_to == wire::QpState::Rts) bring_to(up_to);
        call(dut::MrRegister{.length = length,
                             .access = everything(),
                             .fill = dut::Fill{dut::Pattern::Offsets, 5}},
             dut::MrRegistered{.mr = region, .address = address, .rkey = key});
    }

    // What happens before the call is answered.
    void
    call(dut::Request request, dut::Result result, const std::function<void()>& meanwhile = [] {}) {
        const std::size_t index = story.calls.size();
        story.steps.push_back({Step::Kind::Asked, index});
        story.calls.push_back({.request = std::move(request),
                               .answer = dut::Answer(std::move(result)),
                               .asked = tick(),
                               .answered = {}});
        meanwhile();
        story.steps.push_back({Step::Kind::Answered, index});
        story.calls[index].answered = tick();
    }
    void bring_to(wire::QpState state) {
        call(dut::QpModify{.qp = qp, .attributes = {.state = state}}, dut::Done{});
    }
    void reports(wire::QpState state) {
        dut::QpQueried queried;
        queried.attributes.state = state;
        call(dut::QpQuery{.qp = qp}, queried);
    }
    void receive(std::uint64_t id, std::uint64_t offset, std::uint32_t bytes) {
        dut::PostRecv post{.qp = qp};
        post.requests.push_back({.id = id, .sge = {}});
        post.requests.back().sge.push_back({.mr = region, .offset = offset, .length = bytes});
        call(std::move(post), dut::Posted{1});
    }
    void post(wire::WrOpcode opcode, std::uint64_t id, std::uint64_t offset, std::uint32_t bytes,
              bool signaled = true) {
        dut::SendRequest request{.id = id, .opcode = opcode};
        request.flags.signaled = signaled;
        request.sge.push_back({.mr = region, .offset = offset, .length = bytes});
        dut::PostSend chain{.qp = qp};
        chain.requests.push_back(std::move(request));
        call(std::move(chain), dut::Posted{1});
    }
    void polled(dut::Completion completion) { polled_at_once({completion}); }
    void polled_at_once(std::vector<dut::Completion> completions) {
        for (dut::Completion& one : completions)
            one.qp = qp;
        call(dut::Poll{.cq = cq}, dut::Polled{.completions = std::move(completions)});
    }
    void polled_nothing() {
        now += std::chrono::seconds(1);
        call(dut::Poll{.cq = cq}, dut::Polled{});
    }
    void write(std::uint64_t offset, std::vector<std::byte> data) {
        call(dut::MrWrite{.mr = region, .offset = offset, .data = std::move(data)}, dut::Done{});
    }
    void reads(const std::vector<std::byte>& bytes) {
        now += std::chrono::seconds(1);
        reads_at_once(bytes);
    }
    void reads_at_once(const std::vector<std::byte>& bytes) {
        call(dut::MrRead{.mr = region, .offset = 0, .length = bytes.size()}, dut::MrData{bytes});
    }

    void sent(
        std::string_view opcode, std::int64_t psn, std::vector<std::byte> payload = {},
        const Edit& edit = [](wire::Packet&) {}, bool damaged = false) {
        add(Side::Tester, opcode, psn, std::move(payload), edit, damaged);
    }
    void heard(
        std::string_view opcode, std::int64_t psn, std::vector<std::byte> payload = {},
        const Edit& edit = [](wire::Packet&) {}) {
        add(Side::Dut, opcode, psn, std::move(payload), edit, false);
    }
    void acknowledged(std::int64_t psn) { heard("ACKNOWLEDGE", psn); }
    void refused(std::int64_t psn, wire::NakCode code) {
        heard("ACKNOWLEDGE", psn, {},
              [&](wire::Packet& packet) { packet.aeth.syndrome = wire::Syndrome::nak(code); });
    }

    // "KEY-14 memory; ..."; empty if nothing is found.
    [[nodiscard]] std::string found() const {
        std::string text;
        for (const Deviation& one : check_memory(story, {})) {
            text += (text.empty() ? "" : "; ") + one.rule + " " + one.field;
            if (one.level == rules::Level::Should) text += " (should)";
        }
        return text;
    }

    // Likewise, if the QP is in RTS when nothing has happened for a second.
    [[nodiscard]] std::string found_later() {
        reports(wire::QpState::Rts);
        story.end = now + std::chrono::seconds(1);
        return found();
    }

    // The region as it was filled, with this written to it.
    static std::vector<std::byte> with(std::uint64_t offset = 0,
                                       const std::vector<std::byte>& data = {}) {
        std::vector<std::byte> bytes(length);
        dut::write_pattern(bytes, dut::Pattern::Offsets, 0, 5);
        std::ranges::copy(data, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
        return bytes;
    }
    static std::vector<std::byte> data(std::size_t size, int first = 0xA0) {
        std::vector<std::byte> bytes(size);
        for (std::size_t i = 0; i < size; ++i)
            bytes[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i % 32);
        return bytes;
    }
    // A RETH that names a piece of the region.
    static Edit to(std::uint64_t offset, std::uint32_t bytes) {
        return [=](wire::Packet& packet) {
            packet.reth = {.virtual_address = address + offset, .rkey = key, .dma_length = bytes};
        };
    }

  private:
    static wire::IpAddress dut_address() { return wire::IpAddress::from_v4(0xC0000201); }
    static wire::IpAddress tester_address() { return wire::IpAddress::from_v4(0xC0000202); }
    static wire::Access everything() {
        return {
            .local_write = true, .remote_write = true, .remote_read = true, .remote_atomic = true};
    }
    wire::Instant tick() { return now += std::chrono::microseconds(1); }

    void add(Side from, std::string_view opcode, std::int64_t psn, std::vector<std::byte> payload,
             const Edit& edit, bool damaged) {
        const bool of_dut = from == Side::Dut;
        wire::Packet packet;
        packet.bth.opcode = *wire::opcode_by_name(opcode, wire::service_of(type));
        packet.headers = packet.info().headers;
        if (type == wire::QpType::Ud) packet.deth = {.qkey = qkey, .source_qp = source};
        const bool own = of_dut != packet.info().response();
        packet.bth.psn = wire::Psn(own ? dut_start : tester_start) + psn;
        packet.bth.dest_qp = wire::Qpn{of_dut ? 0x800U : 0x11U};
        packet.bth.pad = wire::pad_of(payload.size());
        packet.aeth.syndrome = wire::Syndrome::ack(wire::kNoCredits);
        edit(packet);
        const wire::Envelope envelope{.source = of_dut ? dut_address() : tester_address(),
                                      .destination = of_dut ? tester_address() : dut_address()};
        add_frame(story, frames, from, packet, {}, envelope, payload, tick(), [=](auto& frame) {
            if (damaged) frame.back() ^= std::byte{1};
        });
    }
};

} // namespace veriroce::model::test
