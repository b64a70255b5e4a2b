#include "conformance/interpreter/send.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "conformance/interpreter/clock.hpp"
#include "conformance/interpreter/environment.hpp"
#include "conformance/interpreter/events.hpp"
#include "conformance/interpreter/forge.hpp"
#include "conformance/interpreter/frames.hpp"
#include "conformance/interpreter/honest_sender.hpp"
#include "conformance/interpreter/interpreter.hpp"
#include "conformance/interpreter/objects.hpp"
#include "conformance/interpreter/record.hpp"
#include "conformance/interpreter/values.hpp"
#include "conformance/interpreter/wire.hpp"

namespace veriroce::interpreter {
namespace {

// A link's MTU does not count the Ethernet header and a VLAN tag.
std::size_t link_bytes_of(wire::Bytes frame) {
    constexpr std::size_t with_tag = wire::Ethernet::kSize + wire::VlanTag::kSize;
    const bool tagged =
        frame.size() >= with_tag && wire::load_u16(frame, wire::Ethernet::kSize - 2) ==
                                        static_cast<std::uint16_t>(wire::EtherType::Vlan);
    return tagged ? with_tag : wire::Ethernet::kSize;
}

// `after T`: waits until T after the QP's latest packet. Lines in between may take longer than T;
// then the tester does not count as late.
Task<Met<>> wait_after(Interpreter& interpreter, const CaseQp& qp, const script::Expr& after,
                       Span span) {
    if (qp.entries.empty()) co_return Met<>{};
    Clock& clock = interpreter.clock();
    const std::int64_t time = co_await number(interpreter.objects(), after, qp);
    const std::size_t before = qp.entries.back();
    const wire::Instant base = interpreter.record()[before].at.latest;
    const bool at_once = clock.line_end().packet == before;
    const wire::Duration wanted =
        std::max(wire::Duration(time), at_once ? wire::Duration(0) : clock.now() - base);
    co_await interpreter.events().sleep(base + wanted);
    clock.note({interpreter.record().size(), before, wanted, span});
    co_return Met<>{};
}

// The frame of one packet as it leaves the tester.
Met<std::vector<std::byte>> frame_of(Interpreter& interpreter, const script::SendPacket& line,
                                     const CaseQp& qp, const wire::PacketSpec& spec, Span span) {
    const Environment& environment = interpreter.environment();
    auto frame = wire::encode(spec, honest_sender(qp, interpreter.objects(), environment, spec,
                                                  interpreter.wire().next_ip_id()));
    if (!frame) return unplayable(span, std::string(wire::text_of(frame.error().error)));
    if (line.rocev1) {
        auto older = rocev1_frame(*frame);
        if (!older) return unplayable(span, "RoCEv1 needs a packet with a BTH");
        *frame = std::move(*older);
    }
    const std::size_t link_bytes = link_bytes_of(*frame);
    if (frame->size() > environment.tester.mtu + link_bytes) {
        return unsupported(span, fmt::format("needs link MTU {}, has {}",
                                             frame->size() - link_bytes, environment.tester.mtu));
    }
    return std::move(*frame);
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::SendPacket& line, Span span) {
    CaseQp& qp = *co_await qp_of(interpreter.objects(), line.qp);
    if (line.after) co_await wait_after(interpreter, qp, *line.after, span);
    if (!qp.in_run) {
        qp.in_run = true;
        qp.run_start = qp.book.next_request();
    }
    const std::vector<wire::PacketSpec> specs =
        co_await packets_of(interpreter.objects(), interpreter.environment(), line, qp);
    std::optional<std::size_t> last;
    for (const wire::PacketSpec& spec : specs) {
        std::vector<std::byte> frame = co_await frame_of(interpreter, line, qp, spec, span);
        last = interpreter.wire().transmit(&qp, std::move(frame));
        interpreter.record()[*last].line = span.line;
        if (line.as) interpreter.record().name(line.as->text, *last);
    }
    interpreter.clock().line_sent(last);
    co_return Met<>{};
}

// --- frames that belong to no QP -------------------------------------------------------

namespace {

// Zeros in place of a MAC stand for the device's (destination) or the tester's (source): a script
// cannot know them, and a frame with foreign ones would disturb other hosts and switches.
void fill_in(wire::MutableBytes frame, std::size_t at, const wire::MacAddress& mac) {
    if (frame.size() < at + mac.bytes.size()) return;
    const auto place = frame.subspan(at, mac.bytes.size());
    if (std::ranges::all_of(place, [](std::byte one) { return one == std::byte{0}; })) {
        std::ranges::copy(mac.bytes, place.begin());
    }
}

void transmit_alone(Interpreter& interpreter, std::vector<std::byte> frame, Span span) {
    const std::size_t index = interpreter.wire().transmit(nullptr, std::move(frame));
    interpreter.record()[index].line = span.line;
    interpreter.clock().line_ended();
}

} // namespace

Task<Met<>> play(Interpreter& interpreter, const script::SendRaw& line, Span span) {
    std::vector<std::byte> frame = line.frame.bytes;
    const Environment& environment = interpreter.environment();
    fill_in(frame, 0, environment.dut_mac);
    fill_in(frame, environment.dut_mac.bytes.size(), environment.tester.mac);
    transmit_alone(interpreter, std::move(frame), span);
    co_return Met<>{};
}

Task<Met<>> play(Interpreter& interpreter, const script::SendFragment& line, Span span) {
    Objects& objects = interpreter.objects();
    const auto named = interpreter.record().named(line.of.text);
    if (!named) co_return unplayable(span, "no packet of that name was sent");
    const std::int64_t at = co_await number(objects, line.at, objects.own_qp());
    const std::int64_t length = co_await number(objects, line.length, objects.own_qp());
    auto frame =
        fragment_of(interpreter.record()[*named].bytes, static_cast<std::size_t>(at),
                    static_cast<std::size_t>(length), static_cast<std::uint32_t>(*named + 1));
    if (!frame) {
        co_return unplayable(span,
                             "a fragment begins at a multiple of 8 and lies inside the IP payload");
    }
    transmit_alone(interpreter, std::move(*frame), span);
    co_return Met<>{};
}

Task<Met<>> play(Interpreter& interpreter, const script::SendPfc& line, Span span) {
    Objects& objects = interpreter.objects();
    const std::int64_t priority = co_await number(objects, line.priority, objects.own_qp());
    const std::int64_t quanta = co_await number(objects, line.quanta, objects.own_qp());
    if (priority < 0 || priority > 7) co_return unplayable(span, "class is 0 to 7");
    auto frame = pfc_frame(interpreter.environment().tester.mac, static_cast<unsigned>(priority),
                           static_cast<std::uint16_t>(quanta));
    transmit_alone(interpreter, std::move(frame), span);
    co_return Met<>{};
}

} // namespace veriroce::interpreter
