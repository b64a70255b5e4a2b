// Any frames from both sides, under a plan with every kind of action: the bump keeps its bounds,
// what is not RoCEv2 leaves as it came, and nothing that is held stays for ever. Congestion is
// played, too.
#include "dissector/wire/frame.hpp"
#include "tests/fuzz/input.hpp"
#include "transport/fault/generated_frames.hpp"
#include "transport/fault/pfc.hpp"
#include "transport/inject/bump.hpp"
#include "transport/inject/report.hpp"

using namespace veriroce;
using fault::End;

namespace {

fault::Rule rule(fault::Action action, std::uint64_t every, bool also = true) {
    static std::uint32_t line = 0;
    fault::Selector selector;
    selector.every = every;
    return {.action = std::move(action), .selector = selector, .also = also, .line = ++line};
}

std::vector<fault::Rule> plan() {
    using namespace std::chrono_literals;
    fault::Forge forge{.packet = {}, .to = fault::ForgeTo::Sender};
    forge.packet.opcode = 0x11;
    fault::Hold hold{.until = {}, .longest = 1ms};
    hold.until.every = 2;
    fault::Rule lost = rule(fault::Drop{}, 4);
    lost.selector.pfc = fault::Range{3, 5};
    lost.selector.quanta = fault::Range{1, 9'000};
    fault::Rule late = rule(fault::Delay{3us}, 2);
    late.selector.pfc = fault::Range{0, 7};
    fault::Rule stopped = rule(fault::MarkCe{}, 1);
    stopped.selector.paused = fault::Range{0, 7};
    fault::Rule waits = rule(fault::Hold{.until = {}, .longest = 1ms}, 9);
    std::get<fault::Hold>(waits.action).until.pfc = fault::Range{3, 3};
    return {lost,
            late,
            stopped,
            waits,
            rule(fault::Duplicate{.copies = 2, .after = 1us}, 3),
            rule(fault::Delay{2us}, 4),
            rule(fault::Corrupt{fault::CorruptBit{500}}, 5),
            rule(fault::Corrupt{fault::CorruptField{wire::Field::Psn}, true}, 5),
            rule(fault::Truncate{14}, 6),
            rule(fault::MarkCe{}, 2),
            rule(fault::Replay{2}, 3),
            rule(std::move(forge), 3),
            rule(fault::Pause{3, 100}, 7),
            rule(fault::Reorder{1}, 8, false),
            rule(std::move(hold), 9, false),
            rule(fault::Drop{}, 10, false)};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Input input(data, size);
    static const std::vector<fault::Rule> rules = plan();
    inject::Bump bump(1, rules);
    using namespace std::chrono_literals;
    bump.add_red({.from = End::A, .rate = 1e9, .min = 10, .max = 5'000, .probability = 0.5});
    bump.set_storm({.to = End::B,
                    .pause = {.priority = 3, .quanta = 9},
                    .every = 10us,
                    .after = 1us,
                    .lasts = 1ms});
    std::vector<inject::Leaving> out;
    wire::Instant now;
    while (!input.empty()) {
        const std::uint8_t kind = input.byte();
        now += wire::Duration(input.byte() * 100);
        const End from = (kind & 1) != 0 ? End::A : End::B;
        const wire::Bytes bytes = input.bytes(kind / 2U);
        wire::Envelope envelope{.source = wire::IpAddress::from_v4(1 + (kind & 1U)),
                                .destination = wire::IpAddress::from_v4(2 - (kind & 1U))};
        std::vector<std::byte> frame(wire::kMaxFrameOverhead + bytes.size());
        if ((kind & 6U) == 6U) { // PFC of any class, and quanta
            frame = fault::pause_frame(
                {.priority = static_cast<std::uint8_t>(kind >> 3 & 7U),
                 .quanta = static_cast<std::uint16_t>(bytes.size() << (kind >> 5))},
                wire::Frame{});
        } else if (input.rarely()) {
            frame.assign(bytes.begin(), bytes.end());
        } else {
            frame.resize(wire::write_frame({}, envelope, 7, bytes, {}, frame));
        }
        out.clear();
        bump.advance(now, out);
        bump.sent();
        out.clear();
        const auto handled = bump.handle(from, frame, now, out);
        if (!handled.roce && !fault::pfc_of(frame)) {
            fuzz::require(out.size() == 1 && out.front().bytes.data() == frame.data());
        }
        bump.sent();
    }
    for (int i = 0; i < 100'000 && bump.next_deadline(); ++i) {
        out.clear();
        bump.advance(*bump.next_deadline(), out);
        bump.sent();
    }
    fuzz::require(!bump.next_deadline());
    (void)inject::text_of({.bump = bump, .verdicts = {}, .path = {}, .plan = {}});
    return 0;
}
