#include "transport/inject/recovery.hpp"

#include <algorithm>

#include "dissector/wire/packet.hpp"

namespace veriroce::inject {
namespace {

// Whether a transport has something to recover from.
bool does_harm(const fault::Action& action) {
    return std::visit(
        [](const auto& one) {
            using T = std::decay_t<decltype(one)>;
            return !std::is_same_v<T, fault::Duplicate> && !std::is_same_v<T, fault::MarkCe> &&
                   !std::is_same_v<T, fault::Replay> && !std::is_same_v<T, fault::Forge> &&
                   !std::is_same_v<T, fault::Pause>;
        },
        static_cast<const fault::Action::variant&>(action));
}

bool answers_with_data(std::uint8_t opcode) {
    const wire::Operation operation = wire::opcode_info(opcode).operation;
    return operation == wire::Operation::RdmaReadResponse ||
           operation == wire::Operation::AtomicAcknowledge;
}

std::size_t payload_bytes(const wire::Frame& frame, const wire::OpcodeInfo& info) {
    const std::size_t pad = wire::load<wire::where("infiniband.bth.padcnt")>(frame.transport);
    const std::size_t rest = info.header_bytes + pad;
    return info.carries_payload() && frame.transport.size() > rest ? frame.transport.size() - rest
                                                                   : 0;
}

} // namespace

std::string_view name_of(Sign sign) {
    switch (sign) {
    case Sign::None: return "none";
    case Sign::SequenceNak: return "sequence NAK";
    case Sign::OtherNak: return "other NAK";
    case Sign::Retransmission: return "retransmission";
    }
    return {};
}

Recovery::Stream& Recovery::stream_of(const Place& place) {
    if (streams_.size() < place.connection) {
        streams_.resize(place.connection);
        counters_.resize(place.connection);
    }
    return streams_[place.connection - 1][index_of(place.requester)];
}

Counters Recovery::total() const {
    Counters sum;
    for (const Counters& one : counters_) {
        sum.packets += one.packets;
        sum.new_bytes += one.new_bytes;
        sum.retransmissions += one.retransmissions;
        sum.sequence_naks += one.sequence_naks;
        sum.rnr_naks += one.rnr_naks;
        sum.fatal_naks += one.fatal_naks;
        sum.faults += one.faults;
        sum.delivered += one.delivered;
    }
    return sum;
}

void Recovery::add(const Place& place, const fault::Decision& decision,
                   std::span<const fault::Rule> rules, End from, wire::Instant now) {
    for (const std::size_t rule : decision.rules) {
        if (events_.size() == kMaxEvents) {
            ++not_kept_;
            continue;
        }
        FaultEvent event{.rule = rule,
                         .at = now,
                         .from = from,
                         .place = place,
                         .pass = decision.pass,
                         .message = decision.message,
                         .packet = decision.packet};
        if (place.connection != 0) {
            Stream& stream = stream_of(place);
            const bool transport =
                place.service == wire::Service::Rc && !wire::opcode_info(place.opcode).reserved();
            event.followed =
                transport && does_harm(rules[rule].action) && stream.open.size() < kMaxOpen;
            if (event.followed) {
                stream.open.push_back({.event = events_.size(),
                                       .acknowledged = stream.acknowledged,
                                       .data = answers_with_data(place.opcode)});
            }
        }
        events_.push_back(event);
    }
}

void Recovery::noticed(Stream& stream, std::int64_t psn, Sign sign, wire::Instant now) {
    for (const Waiting& waiting : stream.open) {
        FaultEvent& event = events_[waiting.event];
        if (event.at >= now) continue; // the packet that the fault hit
        if (sign == Sign::Retransmission) ++event.retransmitted;
        if (psn > event.place.psn || event.detection) continue;
        event.detection = now - event.at;
        event.sign = sign;
    }
}

void Recovery::arrived(const Place& place, const wire::Frame& frame,
                       const fault::Decision& decision, std::span<const fault::Rule> rules,
                       End from, wire::Instant now) {
    if (place.connection == 0) return add(place, decision, rules, from, now);
    Stream& stream = stream_of(place);
    Counters& counters = counters_[place.connection - 1];
    ++counters.packets;
    counters.faults += decision.rules.size();
    const wire::OpcodeInfo& info = wire::opcode_info(place.opcode);
    const bool again = info.request() && (place.again || decision.pass > 1);
    if (again) {
        ++counters.retransmissions;
        noticed(stream, place.psn, Sign::Retransmission, now);
    } else if (decision.pass <= 1) {
        counters.new_bytes += payload_bytes(frame, info);
    }
    if (place.service == wire::Service::Rc && info.request() &&
        info.operation != wire::Operation::RdmaReadRequest) {
        stream.delivery.sent(place.psn, payload_bytes(frame, info), info.ends_message());
    }
    if (info.operation == wire::Operation::Acknowledge) {
        if (const auto packet = wire::decode_packet(frame.transport)) {
            const wire::Syndrome syndrome = packet->aeth.syndrome;
            if (syndrome.kind() == wire::AckKind::RnrNak) ++counters.rnr_naks;
            if (syndrome.kind() == wire::AckKind::Nak) {
                const bool sequence = syndrome.nak_code() == wire::NakCode::PsnSequence;
                ++(sequence ? counters.sequence_naks : counters.fatal_naks);
                noticed(stream, place.psn, sequence ? Sign::SequenceNak : Sign::OtherNak, now);
            }
        }
    }
    add(place, decision, rules, from, now);
}

void Recovery::recovered(Stream& stream, const Waiting& waiting, wire::Instant now) {
    FaultEvent& event = events_[waiting.event];
    event.recovery = now - event.at;
    // The acknowledgement that ends the recovery belongs to the time after it.
    const double during = static_cast<double>(stream.acknowledged - waiting.acknowledged) /
                          static_cast<double>(std::max<std::int64_t>(event.recovery->count(), 1));
    const wire::Instant from = event.at - std::max(*event.recovery, kDipWindow);
    const Sample* before = nullptr;
    for (const Sample& sample : stream.samples) {
        if (before != nullptr && sample.at > from) break;
        before = &sample;
    }
    if (before == nullptr || before->at >= event.at) return;
    const double rate = static_cast<double>(waiting.acknowledged - before->acknowledged) /
                        static_cast<double>((event.at - before->at).count());
    if (rate > 0) event.dip = 1 - during / rate;
}

void Recovery::left(const Place& place, const wire::Frame& frame, wire::Instant now) {
    if (place.connection == 0 || !place.response) return;
    Stream& stream = stream_of(place);
    std::int64_t through = place.psn;
    const bool data = answers_with_data(place.opcode);
    Delivered& delivered = counters_[place.connection - 1].delivered;
    const wire::OpcodeInfo& info = wire::opcode_info(place.opcode);
    if (info.operation == wire::Operation::RdmaReadResponse) {
        delivered +=
            stream.delivery.answered(place.psn, payload_bytes(frame, info), info.ends_message());
    }
    if (!data) {
        const auto packet = wire::decode_packet(frame.transport);
        if (!packet) return;
        if (packet->aeth.syndrome.kind() != wire::AckKind::Ack) --through;
    }
    const auto done = [&](const Waiting& waiting) {
        const std::int64_t psn = events_[waiting.event].place.psn;
        return waiting.data ? data && place.psn == psn : through >= psn;
    };
    for (const Waiting& waiting : stream.open) {
        if (done(waiting)) recovered(stream, waiting, now);
    }
    std::erase_if(stream.open, done);
    if (through <= stream.acknowledged) return;
    delivered += stream.delivery.acknowledged(through);
    if (stream.samples.empty() || now - stream.samples.back().at >= kSampleTime) {
        stream.samples.push_back({now, through});
        if (stream.samples.size() > kSamples) stream.samples.pop_front();
    }
    stream.acknowledged = through;
}

} // namespace veriroce::inject
