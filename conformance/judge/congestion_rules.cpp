// CNP-01: a CE mark makes a notification point send a CNP. Which devices are ones, and how long one
// CNP stands for the marks behind it, packets do not say (CNP-04): the caller must know it.
#include "conformance/judge/context.hpp"

namespace veriroce::judge {
namespace {

// Marks on other packets, and on what came before, need not be answered (CNP-07).
bool must_be_answered(const Context& context, const Notifier& notifier) {
    const flow::Packet& packet = context.packet;
    if (packet.ecn != wire::kCongestionExperienced || packet.destination != notifier.address) {
        return false;
    }
    const bool data = packet.info().service == wire::Service::Rc && packet.info().request() &&
                      packet.info().carries_payload();
    if (!data || packet.integrity != flow::Integrity::Good) return false;
    if (context.seen.kind != flow::Class::New || !packet.time) return false;
    return !notifier.notified || *packet.time - *notifier.notified > notifier.interval;
}

} // namespace

void judge_congestion(const Context& context, Notifier& notifier) {
    const flow::Packet& packet = context.packet;
    const auto& patience = context.assumptions.patience;
    if (!patience || !packet.time || !context.recorded_at(notifier.address)) return;
    const bool own = packet.source == notifier.address;
    if (own && packet.info().operation == wire::Operation::Cnp) {
        notifier.notified = packet.time;
        notifier.mark.reset();
        return;
    }
    const bool alive = own && context.connection != nullptr && notifier.mark &&
                       context.connection->id == notifier.mark->connection;
    if (alive && *packet.time - notifier.mark->time > *patience) {
        context.report("CNP-01", kUnseen, Evidence(notifier.mark->number, packet.number),
                       {"this packet is marked CE, and no CNP was sent",
                        phrase({"a CNP must be sent within ", *patience})});
        notifier.mark.reset();
    }
    if (!notifier.mark && context.connection != nullptr && must_be_answered(context, notifier)) {
        notifier.mark = Notifier::Mark{packet.number, context.connection->id, *packet.time};
    }
}

} // namespace veriroce::judge
