// The one description of each struct's JSON: the names of its fields and how numbers are written.
// Encoder, decoder, client, agent and the test of the reference all use these lists; nothing about
// a field is typed twice.
//
//   fields_of(std::type_identity<CqCreate>{})  ->  tuple of Field{name, pointer to member, style}
//
// An std::optional member may be absent; every other member is required.
#pragma once

#include <string_view>
#include <tuple>
#include <type_traits>

#include "conformance/dut/contract.hpp"

namespace veriroce::dut {

// How a 64-bit value is written: numbers that may exceed 2^53 are strings.
enum class Style : std::uint8_t {
    Plain,   // a JSON number below 2^53; other types have only one form
    Hex,     // "0x1f": addresses, atomic operands
    Decimal, // "31": work request ids, counters, times
};

template <typename Struct, typename Member>
struct Field {
    std::string_view name;
    Member Struct::* member;
    Style style = Style::Plain;
};

// A member whose own fields appear beside the others; a map becomes one field per entry.
template <typename Struct, typename Member>
struct Merged {
    Member Struct::* member;
};

template <typename Struct, typename Member>
constexpr Field<Struct, Member> plain(std::string_view name, Member Struct::* member) {
    return {name, member, Style::Plain};
}
template <typename Struct, typename Member>
constexpr Field<Struct, Member> hex(std::string_view name, Member Struct::* member) {
    return {name, member, Style::Hex};
}
template <typename Struct, typename Member>
constexpr Field<Struct, Member> decimal(std::string_view name, Member Struct::* member) {
    return {name, member, Style::Decimal};
}
template <typename Struct, typename Member>
constexpr Merged<Struct, Member> merged(Member Struct::* member) {
    return {member};
}

template <typename T>
using Of = std::type_identity<T>;

constexpr auto fields_of(Of<Done> /*of*/) {
    return std::tuple{};
}

// --- hello

constexpr auto fields_of(Of<Hello> /*of*/) {
    return std::tuple{plain("version", &Hello::version), plain("token", &Hello::token)};
}
constexpr auto fields_of(Of<Gid> /*of*/) {
    return std::tuple{plain("index", &Gid::index), plain("type", &Gid::type),
                      plain("address", &Gid::address), plain("vlan", &Gid::vlan)};
}
constexpr auto fields_of(Of<Port> /*of*/) {
    return std::tuple{plain("port", &Port::port),
                      plain("mac", &Port::mac),
                      plain("mtu_active", &Port::mtu_active),
                      plain("mtu_max", &Port::mtu_max),
                      plain("speed_mbps", &Port::speed_mbps),
                      plain("link_layer", &Port::link_layer),
                      plain("state", &Port::state),
                      plain("pkeys", &Port::pkeys),
                      plain("gids", &Port::gids),
                      plain("other_addresses", &Port::other_addresses)};
}
constexpr auto fields_of(Of<DeviceMax> /*of*/) {
    return std::tuple{plain("qp", &DeviceMax::qp),
                      plain("qp_wr", &DeviceMax::qp_wr),
                      plain("sge", &DeviceMax::sge),
                      plain("cqe", &DeviceMax::cqe),
                      plain("mr_bytes", &DeviceMax::mr_bytes),
                      plain("rd_atomic", &DeviceMax::rd_atomic),
                      plain("dest_rd_atomic", &DeviceMax::dest_rd_atomic),
                      plain("msg_bytes", &DeviceMax::msg_bytes),
                      plain("inline", &DeviceMax::inline_bytes)};
}
constexpr auto fields_of(Of<AgentLimits> /*of*/) {
    return std::tuple{plain("connections", &AgentLimits::connections),
                      plain("registered_bytes", &AgentLimits::registered_bytes),
                      plain("qps", &AgentLimits::qps),
                      plain("queued_bytes", &AgentLimits::queued_bytes),
                      plain("line_bytes", &AgentLimits::line_bytes),
                      plain("objects", &AgentLimits::objects),
                      plain("idle_seconds", &AgentLimits::idle_seconds),
                      plain("memlock_bytes", &AgentLimits::memlock_bytes)};
}
constexpr auto fields_of(Of<CongestionSettings> /*of*/) {
    return std::tuple{plain("np", &CongestionSettings::np), plain("rp", &CongestionSettings::rp),
                      plain("cnp_interval_us", &CongestionSettings::cnp_interval_us),
                      plain("cnp_dscp", &CongestionSettings::cnp_dscp)};
}
constexpr auto fields_of(Of<Welcome> /*of*/) {
    return std::tuple{plain("version", &Welcome::version),
                      plain("name", &Welcome::name),
                      plain("backend", &Welcome::backend),
                      plain("device", &Welcome::device),
                      plain("firmware", &Welcome::firmware),
                      plain("kernel", &Welcome::kernel),
                      plain("instance", &Welcome::instance),
                      plain("driver", &Welcome::driver),
                      plain("capabilities", &Welcome::capabilities),
                      plain("probed", &Welcome::probed),
                      plain("traits", &Welcome::traits),
                      plain("ports", &Welcome::ports),
                      plain("max", &Welcome::max),
                      plain("local_ca_ack_delay", &Welcome::local_ca_ack_delay),
                      plain("atomic", &Welcome::atomic),
                      plain("limits", &Welcome::limits),
                      plain("congestion", &Welcome::congestion)};
}

// --- protection domains, completion queues

constexpr auto fields_of(Of<PdCreate> /*of*/) {
    return std::tuple{};
}
constexpr auto fields_of(Of<PdCreated> /*of*/) {
    return std::tuple{plain("pd", &PdCreated::pd)};
}
constexpr auto fields_of(Of<PdDestroy> /*of*/) {
    return std::tuple{plain("pd", &PdDestroy::pd)};
}
constexpr auto fields_of(Of<CqCreate> /*of*/) {
    return std::tuple{plain("depth", &CqCreate::depth)};
}
constexpr auto fields_of(Of<CqCreated> /*of*/) {
    return std::tuple{plain("cq", &CqCreated::cq), plain("depth", &CqCreated::depth)};
}
constexpr auto fields_of(Of<CqDestroy> /*of*/) {
    return std::tuple{plain("cq", &CqDestroy::cq)};
}

// --- memory regions

constexpr auto fields_of(Of<Fill> /*of*/) {
    return std::tuple{plain("pattern", &Fill::pattern), plain("key", &Fill::key)};
}
constexpr auto fields_of(Of<MrRegister> /*of*/) {
    return std::tuple{plain("pd", &MrRegister::pd), plain("length", &MrRegister::length),
                      plain("access", &MrRegister::access), plain("fill", &MrRegister::fill),
                      hex("iova", &MrRegister::iova)};
}
constexpr auto fields_of(Of<MrRegistered> /*of*/) {
    return std::tuple{plain("mr", &MrRegistered::mr), hex("address", &MrRegistered::address),
                      plain("lkey", &MrRegistered::lkey), plain("rkey", &MrRegistered::rkey)};
}
constexpr auto fields_of(Of<MrRead> /*of*/) {
    return std::tuple{plain("mr", &MrRead::mr), plain("offset", &MrRead::offset),
                      plain("length", &MrRead::length)};
}
constexpr auto fields_of(Of<MrData> /*of*/) {
    return std::tuple{plain("data", &MrData::data)};
}
constexpr auto fields_of(Of<MrWrite> /*of*/) {
    return std::tuple{plain("mr", &MrWrite::mr), plain("offset", &MrWrite::offset),
                      plain("data", &MrWrite::data)};
}
constexpr auto fields_of(Of<MrFill> /*of*/) {
    return std::tuple{plain("mr", &MrFill::mr), plain("offset", &MrFill::offset),
                      plain("length", &MrFill::length), plain("pattern", &MrFill::pattern),
                      plain("key", &MrFill::key)};
}
constexpr auto fields_of(Of<MrDigest> /*of*/) {
    return std::tuple{plain("mr", &MrDigest::mr), plain("offset", &MrDigest::offset),
                      plain("length", &MrDigest::length)};
}
constexpr auto fields_of(Of<MrDigested> /*of*/) {
    return std::tuple{plain("crc32c", &MrDigested::crc32c),
                      plain("guards_intact", &MrDigested::guards_intact),
                      plain("guard_before", &MrDigested::guard_before),
                      plain("guard_behind", &MrDigested::guard_behind)};
}
constexpr auto fields_of(Of<MrDeregister> /*of*/) {
    return std::tuple{plain("mr", &MrDeregister::mr)};
}

// --- queue pairs

constexpr auto fields_of(Of<QpCreate> /*of*/) {
    return std::tuple{plain("pd", &QpCreate::pd),
                      plain("type", &QpCreate::type),
                      plain("send_cq", &QpCreate::send_cq),
                      plain("recv_cq", &QpCreate::recv_cq),
                      plain("srq", &QpCreate::srq),
                      plain("max_send", &QpCreate::max_send),
                      plain("max_recv", &QpCreate::max_recv),
                      plain("max_sge", &QpCreate::max_sge),
                      plain("max_inline", &QpCreate::max_inline),
                      plain("signal_all", &QpCreate::signal_all)};
}
constexpr auto fields_of(Of<QpCreated> /*of*/) {
    return std::tuple{plain("qp", &QpCreated::qp), plain("qpn", &QpCreated::qpn)};
}
constexpr auto fields_of(Of<QpDestroy> /*of*/) {
    return std::tuple{plain("qp", &QpDestroy::qp)};
}
constexpr auto fields_of(Of<AddressVector> /*of*/) {
    return std::tuple{plain("gid_index", &AddressVector::gid_index),
                      plain("address", &AddressVector::address),
                      plain("dlid", &AddressVector::dlid),
                      plain("hop_limit", &AddressVector::hop_limit),
                      plain("traffic_class", &AddressVector::traffic_class),
                      plain("flow_label", &AddressVector::flow_label),
                      plain("udp_sport", &AddressVector::udp_sport)};
}
constexpr auto fields_of(Of<QpAttributes> /*of*/) {
    return std::tuple{plain("state", &QpAttributes::state),
                      plain("cur_qp_state", &QpAttributes::cur_state),
                      plain("en_sqd_async_notify", &QpAttributes::en_sqd_async_notify),
                      plain("qp_access_flags", &QpAttributes::access),
                      plain("pkey_index", &QpAttributes::pkey_index),
                      plain("port_num", &QpAttributes::port_num),
                      plain("qkey", &QpAttributes::qkey),
                      plain("ah_attr", &QpAttributes::address_vector),
                      plain("path_mtu", &QpAttributes::path_mtu),
                      plain("timeout", &QpAttributes::timeout),
                      plain("retry_cnt", &QpAttributes::retry_cnt),
                      plain("rnr_retry", &QpAttributes::rnr_retry),
                      plain("rq_psn", &QpAttributes::rq_psn),
                      plain("max_rd_atomic", &QpAttributes::max_rd_atomic),
                      plain("alt_ah_attr", &QpAttributes::alt_address_vector),
                      plain("alt_pkey_index", &QpAttributes::alt_pkey_index),
                      plain("alt_port_num", &QpAttributes::alt_port_num),
                      plain("alt_timeout", &QpAttributes::alt_timeout),
                      plain("min_rnr_timer", &QpAttributes::min_rnr_timer),
                      plain("sq_psn", &QpAttributes::sq_psn),
                      plain("max_dest_rd_atomic", &QpAttributes::max_dest_rd_atomic),
                      plain("path_mig_state", &QpAttributes::path_mig_state),
                      plain("dest_qp_num", &QpAttributes::dest_qp_num),
                      plain("flow_control", &QpAttributes::flow_control)};
}
constexpr auto fields_of(Of<QpModify> /*of*/) {
    return std::tuple{plain("qp", &QpModify::qp), merged(&QpModify::attributes)};
}
constexpr auto fields_of(Of<QpQuery> /*of*/) {
    return std::tuple{plain("qp", &QpQuery::qp)};
}
constexpr auto fields_of(Of<QpQueried> /*of*/) {
    return std::tuple{merged(&QpQueried::attributes)};
}

// --- work requests and completions

constexpr auto fields_of(Of<Sge> /*of*/) {
    return std::tuple{plain("mr", &Sge::mr), plain("offset", &Sge::offset),
                      plain("length", &Sge::length), plain("lkey", &Sge::lkey)};
}
constexpr auto fields_of(Of<Bind> /*of*/) {
    return std::tuple{plain("mr", &Bind::mr), plain("offset", &Bind::offset),
                      plain("length", &Bind::length), plain("access", &Bind::access)};
}
constexpr auto fields_of(Of<UdDestination> /*of*/) {
    return std::tuple{plain("address", &UdDestination::address),
                      plain("gid_index", &UdDestination::gid_index),
                      plain("qpn", &UdDestination::qpn),
                      plain("qkey", &UdDestination::qkey),
                      plain("hop_limit", &UdDestination::hop_limit),
                      plain("traffic_class", &UdDestination::traffic_class),
                      plain("flow_label", &UdDestination::flow_label)};
}
constexpr auto fields_of(Of<SendRequest> /*of*/) {
    return std::tuple{decimal("id", &SendRequest::id),
                      plain("opcode", &SendRequest::opcode),
                      plain("sge", &SendRequest::sge),
                      hex("remote_address", &SendRequest::remote_address),
                      plain("rkey", &SendRequest::rkey),
                      plain("imm", &SendRequest::imm),
                      plain("invalidate_rkey", &SendRequest::invalidate_rkey),
                      hex("compare", &SendRequest::compare),
                      hex("swap", &SendRequest::swap),
                      hex("add", &SendRequest::add),
                      plain("flush_length", &SendRequest::flush_length),
                      plain("flush_placement", &SendRequest::flush_placement),
                      plain("flush_selectivity", &SendRequest::flush_selectivity),
                      plain("mw", &SendRequest::mw),
                      plain("bind", &SendRequest::bind),
                      plain("ud", &SendRequest::ud),
                      plain("flags", &SendRequest::flags)};
}
constexpr auto fields_of(Of<ReceiveRequest> /*of*/) {
    return std::tuple{decimal("id", &ReceiveRequest::id), plain("sge", &ReceiveRequest::sge)};
}
constexpr auto fields_of(Of<PostSend> /*of*/) {
    return std::tuple{plain("qp", &PostSend::qp), plain("requests", &PostSend::requests)};
}
constexpr auto fields_of(Of<PostRecv> /*of*/) {
    return std::tuple{plain("qp", &PostRecv::qp), plain("requests", &PostRecv::requests)};
}
constexpr auto fields_of(Of<Posted> /*of*/) {
    return std::tuple{plain("posted", &Posted::posted)};
}
constexpr auto fields_of(Of<Poll> /*of*/) {
    return std::tuple{plain("cq", &Poll::cq), plain("max", &Poll::max),
                      plain("wait_ms", &Poll::wait_ms)};
}
constexpr auto fields_of(Of<Completion> /*of*/) {
    return std::tuple{decimal("id", &Completion::id),
                      plain("qp", &Completion::qp),
                      plain("queue", &Completion::queue),
                      plain("status", &Completion::status),
                      plain("opcode", &Completion::opcode),
                      plain("byte_len", &Completion::byte_len),
                      plain("imm", &Completion::imm),
                      plain("invalidated_rkey", &Completion::invalidated_rkey),
                      plain("src_qpn", &Completion::src_qpn),
                      plain("vendor_err", &Completion::vendor_err),
                      decimal("at", &Completion::at)};
}
constexpr auto fields_of(Of<Polled> /*of*/) {
    return std::tuple{plain("completions", &Polled::completions),
                      plain("overrun", &Polled::overrun)};
}

// --- the device and the connection

constexpr auto fields_of(Of<Counters> /*of*/) {
    return std::tuple{};
}
constexpr auto fields_of(Of<CounterValues> /*of*/) {
    return std::tuple{merged(&CounterValues::values)};
}
constexpr auto fields_of(Of<Cancel> /*of*/) {
    return std::tuple{plain("id", &Cancel::id)};
}
constexpr auto fields_of(Of<Reset> /*of*/) {
    return std::tuple{};
}
constexpr auto fields_of(Of<Ping> /*of*/) {
    return std::tuple{};
}
constexpr auto fields_of(Of<Pong> /*of*/) {
    return std::tuple{decimal("at", &Pong::at)};
}

// --- events, notify

constexpr auto fields_of(Of<Events> /*of*/) {
    return std::tuple{plain("wait_ms", &Events::wait_ms)};
}
constexpr auto fields_of(Of<Event> /*of*/) {
    return std::tuple{plain("type", &Event::type), plain("qp", &Event::qp), plain("cq", &Event::cq),
                      plain("srq", &Event::srq), decimal("at", &Event::at)};
}
constexpr auto fields_of(Of<EventList> /*of*/) {
    return std::tuple{plain("events", &EventList::events)};
}
constexpr auto fields_of(Of<CqArm> /*of*/) {
    return std::tuple{plain("cq", &CqArm::cq), plain("solicited", &CqArm::solicited)};
}
constexpr auto fields_of(Of<CqWait> /*of*/) {
    return std::tuple{plain("cq", &CqWait::cq), plain("wait_ms", &CqWait::wait_ms)};
}
constexpr auto fields_of(Of<Notified> /*of*/) {
    return std::tuple{plain("notified", &Notified::notified), decimal("at", &Notified::at)};
}

// --- srq, mw

constexpr auto fields_of(Of<SrqCreate> /*of*/) {
    return std::tuple{plain("pd", &SrqCreate::pd), plain("depth", &SrqCreate::depth),
                      plain("limit", &SrqCreate::limit)};
}
constexpr auto fields_of(Of<SrqCreated> /*of*/) {
    return std::tuple{plain("srq", &SrqCreated::srq)};
}
constexpr auto fields_of(Of<SrqModify> /*of*/) {
    return std::tuple{plain("srq", &SrqModify::srq), plain("limit", &SrqModify::limit)};
}
constexpr auto fields_of(Of<SrqPost> /*of*/) {
    return std::tuple{plain("srq", &SrqPost::srq), plain("requests", &SrqPost::requests)};
}
constexpr auto fields_of(Of<SrqDestroy> /*of*/) {
    return std::tuple{plain("srq", &SrqDestroy::srq)};
}
constexpr auto fields_of(Of<MwAlloc> /*of*/) {
    return std::tuple{plain("pd", &MwAlloc::pd), plain("type", &MwAlloc::type)};
}
constexpr auto fields_of(Of<MwAllocated> /*of*/) {
    return std::tuple{plain("mw", &MwAllocated::mw), plain("rkey", &MwAllocated::rkey)};
}
constexpr auto fields_of(Of<MwBind> /*of*/) {
    return std::tuple{plain("qp", &MwBind::qp),         plain("mw", &MwBind::mw),
                      plain("mr", &MwBind::mr),         plain("offset", &MwBind::offset),
                      plain("length", &MwBind::length), plain("access", &MwBind::access),
                      decimal("id", &MwBind::id)};
}
constexpr auto fields_of(Of<MwBound> /*of*/) {
    return std::tuple{plain("rkey", &MwBound::rkey)};
}
constexpr auto fields_of(Of<MwDealloc> /*of*/) {
    return std::tuple{plain("mw", &MwDealloc::mw)};
}

// --- congestion

constexpr auto fields_of(Of<CongestionGet> /*of*/) {
    return std::tuple{};
}
constexpr auto fields_of(Of<CongestionSet> /*of*/) {
    return std::tuple{merged(&CongestionSet::settings)};
}

// --- cm

constexpr auto fields_of(Of<CmListen> /*of*/) {
    return std::tuple{plain("port", &CmListen::port)};
}
constexpr auto fields_of(Of<CmListening> /*of*/) {
    return std::tuple{hex("service_id", &CmListening::service_id)};
}
constexpr auto fields_of(Of<CmEvents> /*of*/) {
    return std::tuple{plain("wait_ms", &CmEvents::wait_ms)};
}
constexpr auto fields_of(Of<CmEvent> /*of*/) {
    return std::tuple{plain("type", &CmEvent::type), plain("connection", &CmEvent::connection),
                      decimal("at", &CmEvent::at)};
}
constexpr auto fields_of(Of<CmEventList> /*of*/) {
    return std::tuple{plain("events", &CmEventList::events)};
}
constexpr auto fields_of(Of<CmQpAttributes> /*of*/) {
    return std::tuple{plain("connection", &CmQpAttributes::connection),
                      plain("state", &CmQpAttributes::state)};
}
constexpr auto fields_of(Of<CmAccept> /*of*/) {
    return std::tuple{plain("connection", &CmAccept::connection), plain("qp", &CmAccept::qp),
                      plain("responder_resources", &CmAccept::responder_resources),
                      plain("initiator_depth", &CmAccept::initiator_depth)};
}
constexpr auto fields_of(Of<CmReject> /*of*/) {
    return std::tuple{plain("connection", &CmReject::connection)};
}
constexpr auto fields_of(Of<CmDisconnect> /*of*/) {
    return std::tuple{plain("connection", &CmDisconnect::connection)};
}

} // namespace veriroce::dut
