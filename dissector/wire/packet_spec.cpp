#include "dissector/wire/packet_spec.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "dissector/wire/icrc.hpp"

namespace veriroce::wire {
namespace {

constexpr std::array<std::string_view, 5> kIcrcNames{"good", "bad", "swapped", "zero", "unmasked"};

constexpr std::size_t kLongestIp = 0xFFFF;
constexpr std::size_t kLongestOptions = 40;
constexpr std::size_t kCnpBodyBytes = 16; // CNP-02
constexpr std::byte kTrailerByte{0xA5};   // not zero: it must not look like padding

using Failure = std::optional<SpecFailure>; // nothing: done

Failure fail(SpecError error, std::optional<Field> field = std::nullopt) {
    return SpecFailure{.error = error, .field = field};
}

std::vector<std::byte> payload_of(const PacketSpec& spec, const Sender& sender) {
    if (spec.payload) return *spec.payload;
    const OpcodeInfo& info = opcode_info(spec.opcode);
    if (info.operation == Operation::Cnp) return std::vector<std::byte>(kCnpBodyBytes);
    return info.carries_payload() ? sender.payload : std::vector<std::byte>{};
}

std::vector<std::byte> pad_bytes_of(const PacketSpec& spec, std::size_t payload_bytes) {
    if (spec.pad_bytes) return *spec.pad_bytes;
    // A written pad count adds no byte: it is there to contradict the payload.
    if (spec.written(Field::Pad) != nullptr) return {};
    return std::vector<std::byte>(pad_of(payload_bytes));
}

class Encoder {
  public:
    Encoder(const PacketSpec& spec, const Sender& sender) : spec_(spec), sender_(sender) {}

    std::expected<std::vector<std::byte>, SpecFailure> run() {
        if (const Failure failure = lay_out()) return std::unexpected(*failure);
        for (const PacketSpec::Written& written : spec_.fields) {
            if (const Failure failure = write(written)) return std::unexpected(*failure);
        }
        for (const Flip& each : spec_.inverted) {
            if (const Failure failure = flip(each)) return std::unexpected(*failure);
        }
        put_ip_checksum();
        put_icrc();
        put_udp_checksum();
        if (const Failure failure = damage()) return std::unexpected(*failure);
        return std::move(frame_);
    }

  private:
    Failure lay_out();
    void map_layers(const Envelope& envelope, std::size_t bth_at);
    Failure write(const PacketSpec::Written& written);
    void put_lengths();
    void put_ip_checksum();
    void put_icrc();
    void put_udp_checksum();
    Failure damage();
    void truncate(std::size_t kept);
    void remove_tag();
    Failure flip(const Flip& flip);
    [[nodiscard]] bool hits_ip_checksum(const Flip& flip) const;

    [[nodiscard]] bool free(Field field) const { return spec_.written(field) == nullptr; }
    [[nodiscard]] bool v4() const { return layers_.has(Layer::Ipv4); }
    [[nodiscard]] std::size_t ip_at() const { return layers_.at(v4() ? Layer::Ipv4 : Layer::Ipv6); }
    [[nodiscard]] std::size_t udp_at() const { return layers_.at(Layer::Udp); }
    [[nodiscard]] MutableBytes from(std::size_t at) { return MutableBytes(frame_).subspan(at); }
    void set(Field field, std::uint64_t value) {
        if (free(field)) write_field(frame_, layers_, field, value);
    }

    const PacketSpec& spec_;
    const Sender& sender_;
    std::vector<std::byte> frame_;
    LayerMap layers_;
};

// The correct packet, still without ICRC.
Failure Encoder::lay_out() {
    Envelope envelope = sender_.envelope;
    const bool tagged =
        !free(Field::VlanId) || !free(Field::VlanPriority) || !free(Field::VlanDropEligible);
    if (tagged && !envelope.vlan) envelope.vlan = VlanId{};

    const bool v4 = envelope.destination.v4();
    const std::size_t options = spec_.ip_options.size();
    if (options != 0 && !v4) return fail(SpecError::FieldNotInPacket);
    if (options % 4 != 0 || options > kLongestOptions) return fail(SpecError::ValueTooLarge);

    const std::vector<std::byte> payload = payload_of(spec_, sender_);
    const std::vector<std::byte> pad = pad_bytes_of(spec_, payload.size());
    Packet packet = sender_.packet;
    packet.bth.opcode = spec_.opcode;
    packet.bth.pad = pad_of(payload.size());
    packet.headers = packet.info().headers;

    const std::size_t transport = packet.header_bytes() + payload.size() + pad.size() + kIcrcBytes;
    const std::size_t counted = (v4 ? Ipv4::kSize + options : 0) + Udp::kSize + transport;
    if (counted > kLongestIp) return fail(SpecError::FrameTooLong);

    frame_.resize(outer_bytes(envelope) + options + transport);
    const std::size_t bth_at =
        write_outer(sender_.link, envelope, sender_.ip_id, spec_.ip_options, transport, frame_);
    MutableBytes rest = from(bth_at);
    rest = rest.subspan(encode_headers(packet, rest));
    std::ranges::copy(payload, rest.begin());
    std::ranges::copy(pad, rest.subspan(payload.size()).begin());
    map_layers(envelope, bth_at);
    return std::nullopt;
}

void Encoder::map_layers(const Envelope& envelope, std::size_t bth_at) {
    Frame frame{.bytes = frame_};
    const std::size_t ip = Ethernet::kSize + (envelope.vlan ? VlanTag::kSize : 0);
    frame.layers.set(Layer::Ethernet, 0);
    if (envelope.vlan) frame.layers.set(Layer::Vlan, Ethernet::kSize);
    frame.layers.set(envelope.destination.v4() ? Layer::Ipv4 : Layer::Ipv6, ip);
    frame.layers.set(Layer::Udp, bth_at - Udp::kSize);
    frame.layers.set(Layer::Bth, bth_at);
    frame.layers.set(Layer::Icrc, frame_.size() - kIcrcBytes);
    frame.transport = frame.bytes.subspan(bth_at, frame_.size() - kIcrcBytes - bth_at);
    map_transport(frame);
    layers_ = frame.layers;
}

Failure Encoder::write(const PacketSpec::Written& written) {
    const auto [field, value] = written;
    if (!locate(layers_, field)) return fail(SpecError::FieldNotInPacket, field);
    const FieldKind kind = field_info(field).kind;
    if (const auto* number = std::get_if<std::uint64_t>(&value)) {
        if (kind != FieldKind::Number) return fail(SpecError::WrongKind, field);
        if (write_field(frame_, layers_, field, *number)) return std::nullopt;
        return fail(SpecError::ValueTooLarge, field);
    }
    if (const auto* ip = std::get_if<IpAddress>(&value)) {
        if (kind != FieldKind::Ip) return fail(SpecError::WrongKind, field);
        if (write_ip(frame_, layers_, field, *ip)) return std::nullopt;
        return fail(SpecError::FieldNotInPacket, field); // the other IP family
    }
    if (kind != FieldKind::Mac) return fail(SpecError::WrongKind, field);
    write_mac(frame_, layers_, field, std::get<MacAddress>(value));
    return std::nullopt;
}

void Encoder::put_lengths() {
    const std::size_t counted_from = v4() ? ip_at() : udp_at();
    set(Field::IpLength, frame_.size() - counted_from);
    set(Field::UdpLength, frame_.size() - udp_at());
}

void Encoder::put_ip_checksum() {
    if (!v4() || frame_.size() < ip_at() + Ipv4::kSize) return;
    // By the header length in the frame, because that is what a receiver sums up.
    const std::size_t said = load<where("ip.hdr_len")>(frame_, ip_at()) * 4;
    const std::size_t header = std::clamp(said, Ipv4::kSize, frame_.size() - ip_at());
    set(Field::IpChecksum, ipv4_checksum(from(ip_at()).first(header)));
}

void Encoder::put_icrc() {
    if (!free(Field::Icrc)) return;
    const std::size_t at = layers_.at(Layer::Icrc);
    if (const auto* number = std::get_if<std::uint32_t>(&spec_.icrc)) {
        store_be<4>(frame_, at, *number);
        return;
    }
    const Bytes covered = from(ip_at()).first(at - ip_at());
    store_icrc(from(at), icrc_of(std::get<IcrcKind>(spec_.icrc), covered));
}

// Last, because it covers the ICRC. (An unmasked ICRC sees the checksum field as zero.)
void Encoder::put_udp_checksum() {
    if (const auto* number = std::get_if<std::uint16_t>(&spec_.udp_checksum)) {
        set(Field::UdpChecksum, *number);
        return;
    }
    const auto kind = std::get<UdpChecksumKind>(spec_.udp_checksum);
    if (kind == UdpChecksumKind::Zero) return;
    const Bytes addresses = ip_addresses(from(ip_at()), !v4());
    const std::uint16_t good = udp_checksum(addresses, from(udp_at()));
    // Any other value is bad, except for zero, which says that there is none.
    const std::uint16_t bad = good == 0x5555 ? 0xAAAA : good ^ 0x5555;
    set(Field::UdpChecksum, kind == UdpChecksumKind::Good ? good : bad);
}

Failure Encoder::damage() {
    const Damage& damage = spec_.damage;
    if (damage.truncate) truncate(*damage.truncate);
    if (damage.cut) frame_.resize(std::min(*damage.cut, frame_.size()));
    frame_.insert(frame_.end(), damage.trailer, kTrailerByte);
    for (const Flip& each : damage.flips) {
        if (const Failure failure = flip(each)) return failure;
    }
    const bool aimed = std::ranges::any_of(
        damage.flips, [this](const Flip& each) { return hits_ip_checksum(each); });
    if (!damage.flips.empty() && !aimed) put_ip_checksum();
    if (damage.untagged) remove_tag();
    return std::nullopt;
}

// What follows the tag says the type, so the tag and the type that announces it go.
void Encoder::remove_tag() {
    if (!layers_.has(Layer::Vlan) || frame_.size() < Ethernet::kSize + VlanTag::kSize) return;
    const auto tag = frame_.begin() + Ethernet::kSize - sizeof(VlanTag::ether_type);
    frame_.erase(tag, tag + VlanTag::kSize);
}

void Encoder::truncate(std::size_t kept) {
    const std::size_t end = layers_.at(Layer::Bth) + kept;
    if (end >= frame_.size()) return;
    frame_.resize(end);
    put_lengths();
    put_ip_checksum();
    put_udp_checksum();
}

Failure Encoder::flip(const Flip& flip) {
    if (const auto* field = std::get_if<Field>(&flip.where)) {
        if (!locate(layers_, *field)) return fail(SpecError::FieldNotInPacket, *field);
        if (flip_field(frame_, layers_, *field, flip.bit)) return std::nullopt;
        return fail(SpecError::FlipOutside, *field);
    }
    const std::size_t offset = std::get<std::size_t>(flip.where);
    if (flip.bit > 7 || frame_.size() < ip_at() || offset >= frame_.size() - ip_at()) {
        return fail(SpecError::FlipOutside);
    }
    frame_[ip_at() + offset] ^= static_cast<std::byte>(1U << flip.bit);
    return std::nullopt;
}

bool Encoder::hits_ip_checksum(const Flip& flip) const {
    if (const auto* field = std::get_if<Field>(&flip.where)) return *field == Field::IpChecksum;
    const std::size_t offset = std::get<std::size_t>(flip.where);
    constexpr Location checksum = where("ip.checksum");
    return v4() && offset >= checksum.first_byte() &&
           offset < checksum.first_byte() + checksum.bytes();
}

} // namespace

std::string_view name_of(IcrcKind kind) {
    return kIcrcNames[static_cast<std::size_t>(kind)];
}

std::optional<IcrcKind> icrc_kind_by_name(std::string_view name) {
    for (std::size_t i = 0; i < kIcrcNames.size(); ++i) {
        if (kIcrcNames[i] == name) return static_cast<IcrcKind>(i);
    }
    return std::nullopt;
}

std::uint32_t icrc_of(IcrcKind kind, Bytes covered) {
    switch (kind) {
    case IcrcKind::Good: return icrc(covered);
    case IcrcKind::Bad: return ~icrc(covered);
    case IcrcKind::Swapped: return std::byteswap(icrc(covered));
    case IcrcKind::Zero: return 0;
    case IcrcKind::Unmasked: return icrc_unmasked(covered);
    }
    return 0;
}

UdpChecksumKind udp_checksum_kind(const Frame& frame) {
    if (frame.udp.checksum == 0) return UdpChecksumKind::Zero;
    return udp_checksum_acceptable(frame.outer) ? UdpChecksumKind::Good : UdpChecksumKind::Bad;
}

const FieldValue* PacketSpec::written(Field field) const {
    for (std::size_t i = fields.size(); i-- > 0;) {
        if (fields[i].field == field) return &fields[i].value;
    }
    return nullptr;
}

std::string_view text_of(SpecError error) {
    switch (error) {
    case SpecError::FieldNotInPacket: return "the packet has no such field";
    case SpecError::ValueTooLarge: return "the value does not fit the field";
    case SpecError::WrongKind: return "an address where a number belongs, or the other way round";
    case SpecError::FrameTooLong: return "the packet is longer than 65,535 bytes of IP";
    case SpecError::FlipOutside: return "the bit to flip lies outside the frame";
    }
    return "";
}

std::expected<std::vector<std::byte>, SpecFailure> encode(const PacketSpec& spec,
                                                          const Sender& sender) {
    return Encoder(spec, sender).run();
}

} // namespace veriroce::wire
