// Connection management: CM-01, CM-03, CM-09, CM-13, CA17-35, CA17-37, N-30. One message by itself;
// CM-03 with the request that it answers, which the tracker's connection has taken its attributes
// from; CM-01 with the same message before; CM-09 with the other side's REQ or REP.
#include "conformance/judge/context.hpp"
#include "dissector/decode/mad.hpp"
#include "dissector/wire/management.hpp"

namespace veriroce::judge {
namespace {

constexpr std::uint16_t kInvalidLid = 13;
constexpr std::uint16_t kInvalidAlternateLid = 19;
constexpr std::size_t kGidAt = decode::kMadHeaderBytes + 56; // of the request: its sender's

void judge_mad(const Context& context) {
    const flow::Packet& packet = context.packet;
    const wire::Deth& deth = packet.transport.deth;
    const bool well_formed = packet.payload_bytes() == wire::kMadBytes &&
                             deth.qkey == wire::kGsiQkey && deth.source_qp == wire::kGsiQpn;
    if (!well_formed) {
        context.report(
            "N-30", kDamage, Evidence(packet.number),
            {phrase({"the CM message has ", packet.payload_bytes(), " bytes, comes from QP ",
                     deth.source_qp.value, " and has Q_Key ", Hex{deth.qkey.value}}),
             phrase({"it must have ", wire::kMadBytes, " bytes, come from QP ", wire::kGsiQpn.value,
                     " and have Q_Key ", Hex{wire::kGsiQkey.value}})});
    }
}

void judge_gid(const Context& context) {
    const flow::Packet& packet = context.packet;
    if (!packet.source.v4() || packet.transport.body.size() < kGidAt + 16) return;
    const auto gid = wire::IpAddress::from_v6(packet.transport.body.subspan(kGidAt, 16));
    if (!gid.v4()) {
        context.report("CM-13", kDamage, Evidence(packet.number),
                       {phrase({"the sender's GID is ", gid.text()}),
                        phrase({"it must be the IPv4-mapped ", packet.source.text()})});
    }
}

// Whether the depth was reduced is seen at the QP that replied: it introduced the connection.
void judge_depth(const Context& context, const flow::CmMessage& reply) {
    for (const std::uint32_t index : context.tracker.connections()) {
        const flow::Connection& connection = context.tracker.connection(index);
        const flow::End& passive = connection.ends[1];
        if (connection.pairing != flow::Pairing::Known || passive.qpn != reply.qpn ||
            !(passive.address == context.packet.source) ||
            !(connection.ends[0].address == context.packet.destination) ||
            !passive.attributes.max_rd_atomic) {
            continue;
        }
        if (reply.initiator_depth > *passive.attributes.max_rd_atomic) {
            context.report("CM-03", kDamage, Evidence(context.packet.number),
                           {phrase({"REP asks for an initiator depth of ", reply.initiator_depth}),
                            phrase({"REQ offered ", *passive.attributes.max_rd_atomic})});
        }
        return;
    }
}

// CM-09: a DREQ names the QP of its receiver, as one of the receiver's own REQs or REPs did. After
// a restart, or of another adapter at its address, a REQ may have the same ID.
void judge_disconnect(const Context& context, const flow::CmMessage& message,
                      const std::deque<Repeatable>& messages) {
    const auto introduced = [&](const Repeatable& one) {
        const bool names_qp =
            one.message.kind == flow::CmKind::Request ||
            (one.message.kind == flow::CmKind::Reply && one.message.remote_id == message.local_id);
        return names_qp && one.sender == context.packet.destination &&
               one.receiver == context.packet.source && one.message.local_id == message.remote_id;
    };
    const Repeatable* latest = nullptr;
    for (const Repeatable& one : messages) {
        if (!introduced(one)) continue;
        if (one.message.qpn == message.remote_qpn) return;
        latest = &one;
    }
    if (latest == nullptr) return;
    context.report("CM-09", kDamage, Evidence(context.packet.number, latest->first_number),
                   {phrase({"DREQ names QP ", message.remote_qpn.value}),
                    phrase({"its receiver has QP ", latest->message.qpn.value})});
}

// An answer to the load of an alternate path.
void judge_path_answer(const Context& context) {
    constexpr std::size_t status_at = decode::kMadHeaderBytes + 9;
    constexpr std::uint8_t lid_rejected = 7;
    const wire::Bytes datagram = context.packet.transport.body; // holds the fields of a message
    const auto* layout = decode::cm_layout(decode::MadHeader::read(datagram).attribute);
    if (layout == nullptr || layout->layer != decode::LayerKind::CmApr) return;
    if (wire::load_u8(datagram, status_at) != lid_rejected) return;
    context.report("CA17-37", kDamage, Evidence(context.packet.number),
                   {"APR has status 7", "status 7 must not be used"});
}

// --- messages that come again -----------------------------------------------------------------

bool same(const Repeatable& one, const flow::Packet& packet, const flow::CmMessage& message) {
    return one.message.kind == message.kind && one.message.transaction == message.transaction &&
           one.message.local_id == message.local_id && one.sender == packet.source &&
           one.receiver == packet.destination;
}

// A REJ ends the exchange: what comes with the same numbers begins another one.
bool ended_by(const Repeatable& one, const flow::Packet& packet, const flow::CmMessage& reject) {
    const bool theirs = one.sender == packet.destination && one.receiver == packet.source &&
                        one.message.local_id == reject.remote_id;
    const bool own = one.sender == packet.source && one.receiver == packet.destination &&
                     one.message.remote_id == reject.remote_id;
    return theirs || own;
}

// The REQ of the exchange, whose sender chose how long to wait and how often to repeat.
const Repeatable* request_of(const std::deque<Repeatable>& messages, const Repeatable& one) {
    const auto found = std::ranges::find_if(messages, [&](const Repeatable& other) {
        if (other.message.kind != flow::CmKind::Request) return false;
        const bool by_sender = other.sender == one.sender && other.receiver == one.receiver &&
                               other.message.local_id == one.message.local_id;
        const bool by_receiver = other.sender == one.receiver && other.receiver == one.sender &&
                                 other.message.local_id == one.message.remote_id;
        return by_sender || by_receiver;
    });
    return found == messages.end() ? nullptr : &*found;
}

std::string_view name_of_message(flow::CmKind kind) {
    if (kind == flow::CmKind::Request) return "REQ";
    return kind == flow::CmKind::Reply ? "REP" : "DREQ";
}

// CM-01: a message is sent again when the time for its answer is over, and not more often than the
// REQ allows. A REP also answers each repeated REQ (CM-05).
void judge_repeat(const Context& context, const std::deque<Repeatable>& messages,
                  const Repeatable& one) {
    const Repeatable* request = request_of(messages, one);
    if (request == nullptr) return;
    constexpr Excuses kCopy{Excuse::NetworkCopy, Excuse::Damage};
    const std::string_view name = name_of_message(one.message.kind);
    const bool reply = one.message.kind == flow::CmKind::Reply;
    const std::uint32_t most = request->message.most_repeats + (reply ? request->times - 1 : 0);
    if (one.times > most) {
        context.report("CM-01", kCopy, Evidence(context.packet.number, one.first_number),
                       {phrase({name, " was sent again ", one.times, " times"}),
                        phrase({"the REQ allows ", most})});
        return;
    }
    const bool asked_again = reply && request->last_number > one.last_number;
    if (asked_again || !context.packet.time || !one.last) return;
    const std::uint8_t code = one.sender == request->sender ? request->message.remote_timeout
                                                            : request->message.local_timeout;
    const auto wanted = wire::ack_timeout(code); // in the same units; 0 asks for next to nothing
    const wire::Duration waited = *context.packet.time - *one.last;
    if (!wanted) return;
    // Linux counts in milliseconds, and takes one for 256 * 4.096 us, 4.6 % less.
    constexpr wire::Duration tick = std::chrono::milliseconds(4);
    const wire::Duration short_of_it = *wanted / 16 + tick + context.assumptions.clock_error;
    if (waited + short_of_it >= *wanted) return;
    // On its way to the capture the first one may have been held up.
    context.report("CM-01", Excuses(Excuse::NetworkCopy, Excuse::Damage, Excuse::InFlight),
                   Evidence(context.packet.number, one.last_number),
                   {phrase({name, " was sent again after ", waited}),
                    phrase({"the REQ gives its answer ", *wanted})});
}

void judge_repeats(const Context& context, const flow::CmMessage& message,
                   std::deque<Repeatable>& messages) {
    if (message.kind == flow::CmKind::Reject) {
        std::erase_if(messages, [&](const Repeatable& one) {
            return ended_by(one, context.packet, message);
        });
    }
    const bool repeatable = message.kind == flow::CmKind::Request ||
                            message.kind == flow::CmKind::Reply ||
                            message.kind == flow::CmKind::DisconnectRequest;
    if (!repeatable) return;
    const auto before = std::ranges::find_if(
        messages, [&](const Repeatable& one) { return same(one, context.packet, message); });
    if (before == messages.end()) {
        constexpr std::size_t most = 256;
        if (messages.size() == most) messages.pop_front();
        messages.push_back({.sender = context.packet.source,
                            .receiver = context.packet.destination,
                            .message = message,
                            .times = 1,
                            .first_number = context.packet.number,
                            .last_number = context.packet.number,
                            .last = context.packet.time});
        return;
    }
    judge_repeat(context, messages, *before);
    ++before->times;
    before->last_number = context.packet.number;
    before->last = context.packet.time;
}

} // namespace

void judge_management(const Context& context, std::deque<Repeatable>& messages) {
    const auto message = flow::cm_message_of(context.packet);
    if (!message) return;
    judge_mad(context);
    switch (message->kind) {
    case flow::CmKind::Request: judge_gid(context); break;
    case flow::CmKind::Reply: judge_depth(context, *message); break;
    case flow::CmKind::Reject:
        if (message->reason == kInvalidLid || message->reason == kInvalidAlternateLid) {
            context.report("CA17-35", kDamage, Evidence(context.packet.number),
                           {phrase({"REJ has reason ", message->reason}),
                            "reasons 13 and 19 must not be used"});
        }
        break;
    case flow::CmKind::DisconnectRequest: judge_disconnect(context, *message, messages); break;
    case flow::CmKind::Other: judge_path_answer(context); break;
    }
    judge_repeats(context, *message, messages);
}

} // namespace veriroce::judge
