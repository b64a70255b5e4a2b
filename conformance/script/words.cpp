#include "conformance/script/words.hpp"

#include <algorithm>

#include "dissector/wire/opcode.hpp"

namespace veriroce::script {
namespace {

using namespace std::string_view_literals;

constexpr std::array kHeaderList{"rule"sv, "title"sv, "role"sv, "level"sv, "needs"sv, "unless"sv,
                                 "tags"sv, "let"sv,   "for"sv,  "qp"sv,    "tester"sv};
constexpr std::array kStatementList{"dut"sv,   "tester"sv,    "fault"sv,  "expect"sv, "no"sv,
                                    "quiet"sv, "dropped"sv,   "judged"sv, "wait"sv,   "any"sv,
                                    "or"sv,    "unordered"sv, "repeat"sv, "end"sv};
// The words of the DUT contract, and those that the testbed measures on the link.
constexpr std::array kCapabilityList{
    "rc"sv,    "uc"sv,           "ud"sv,          "read"sv,           "atomics"sv,     "send_inv"sv,
    "imm"sv,   "ipv6"sv,         "vlan"sv,        "rocev1"sv,         "sqd"sv,         "apm"sv,
    "flush"sv, "atomic_write"sv, "e2e_credits"sv, "pkey_table"sv,     "events"sv,      "notify"sv,
    "srq"sv,   "mw"sv,           "cm"sv,          "congestion"sv,     "raw"sv,         "hwtime"sv,
    "mtu"sv,   "mw1"sv,          "mw2"sv,         "mtu256"sv,         "reset_reuse"sv, "query_qp"sv,
    "sge"sv,   "inline"sv,       "rd_atomic"sv,   "dest_rd_atomic"sv, "ud_path"sv,     "iova"sv};
// Those that are an amount: `needs sge>=3`. The testbed knows the MTU, hello's `max` the others.
constexpr std::array kAmountList{"mtu"sv, "sge"sv, "inline"sv, "rd_atomic"sv, "dest_rd_atomic"sv};
constexpr std::array kTraitList{
    "out_of_order"sv, "selective_repeat"sv,   "adaptive_retransmission"sv, "ack_timer_ignored"sv,
    "odp"sv,          "buffers_before_rtr"sv, "full_cq_idles"sv,           "dscp_overridden"sv,
    "multipath"sv};
constexpr std::array kTagList{"lethal"sv, "load"sv, "slow"sv, "timing"sv, "unscripted"sv};
// One word for each row of the verbs' table of rights.
constexpr auto kAccessList = [] {
    std::array<std::string_view, wire::kAccessRights.size()> words;
    std::ranges::transform(wire::kAccessRights, words.begin(), &wire::AccessRight::word);
    return words;
}();
constexpr auto kStatusList = [] {
    constexpr auto& statuses = wire::kNamesOf<wire::WcStatus>;
    std::array<std::string_view, statuses.size() + 1> words;
    std::ranges::copy(statuses, words.begin());
    words.back() = "FAILED";
    return words;
}();
constexpr std::array kClassList{"requests"sv, "responses"sv, "all"sv};

// Names of ibv_qp_attr and ibv_qp_init_attr, and the attributes that tests add.
using enum AttributeKind;
constexpr std::array kAttributeList{
    AttributeRow{"type", Type},
    AttributeRow{"mtu", AttributeKind::Mtu, 0, true},
    AttributeRow{"psn", Psn, 0, true},
    AttributeRow{"state", AttributeKind::State, 0, true},
    AttributeRow{"timeout", Number, 31, true},
    AttributeRow{"retry_cnt", Number, 7, true},
    AttributeRow{"rnr_retry", Number, 7, true},
    AttributeRow{"min_rnr_timer", Number, 31, true},
    AttributeRow{"max_rd_atomic", Number, 255, true},
    AttributeRow{"max_dest_rd_atomic", Number, 255, true},
    AttributeRow{"access", Access, 0, true},
    AttributeRow{"pkey_index", Number, 65'535, true},
    AttributeRow{"qkey", Number, 0xFFFF'FFFF, true},
    AttributeRow{"path_mig_state", Mig, 0, true},
    AttributeRow{"en_sqd_async_notify", Bit, 0, true},
    AttributeRow{"dscp", Number, wire::kMaxDscp, true},
    AttributeRow{"ecn", Number, 3, true},
    AttributeRow{"ttl", Number, 255, true},
    AttributeRow{"flow", Number, 0xFFFFF, true},
    AttributeRow{"sport", Number, 65'535, true},
    AttributeRow{"to", AttributeKind::Address, 0, true},
    AttributeRow{"alt", AttributeKind::Address, 0, true},
    AttributeRow{"flow_control", Bit},
    AttributeRow{"pd", Number, 65'535},
    AttributeRow{"cq", Cq},
    AttributeRow{"recv_cq", Cq},
    AttributeRow{"srq", Srq},
    AttributeRow{"send_wr", Number, 1'000'000},
    AttributeRow{"recv_wr", Number, 1'000'000},
    AttributeRow{"sge", Number, 1'000},
    AttributeRow{"inline", Number, 65'535},
    AttributeRow{"signal_all", Bit},
    AttributeRow{"ip", Ip},
    AttributeRow{"vlan", Vlan, 4'094},
};

// In the order of their enums.
constexpr std::array kMessageList{"SEND"sv,       "SEND_WITH_IMM"sv,       "SEND_WITH_INV"sv,
                                  "RDMA_WRITE"sv, "RDMA_WRITE_WITH_IMM"sv, "RDMA_READ_RESPONSE"sv};
constexpr std::array kSpecialList{"len"sv,     "data"sv,         "padbytes"sv,
                                  "icrc"sv,    "udp.checksum"sv, "ip.options"sv,
                                  "credits"sv, "timer"sv,        "code"sv};
constexpr std::array kAcknowledgementList{"ACK"sv, "NAK"sv, "RNR_NAK"sv};

template <typename Enum>
std::optional<Enum> enumerator(Words words, std::string_view name) {
    const auto found = std::ranges::find(words, name);
    if (found == words.end()) return std::nullopt;
    return static_cast<Enum>(found - words.begin());
}

} // namespace

Words header_words() {
    return kHeaderList;
}
Words statement_words() {
    return kStatementList;
}
Words capabilities() {
    return kCapabilityList;
}
Words amounts() {
    return kAmountList;
}
Words traits() {
    return kTraitList;
}
Words case_tags() {
    return kTagList;
}
Words access_words() {
    return kAccessList;
}
Words completion_statuses() {
    return kStatusList;
}
Words opcode_classes() {
    return kClassList;
}

bool contains(Words words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

bool opens_block(std::string_view word) {
    return word == "any" || word == "unordered" || word == "repeat";
}

std::span<const AttributeRow> attributes() {
    return kAttributeList;
}

std::vector<std::string_view> attribute_names(bool modify) {
    std::vector<std::string_view> names;
    for (const AttributeRow& row : kAttributeList) {
        if (!modify || row.modify) names.push_back(row.name);
    }
    return names;
}

Words message_names() {
    return kMessageList;
}
std::optional<Message> message_by_name(std::string_view name) {
    return enumerator<Message>(kMessageList, name);
}
std::string_view name_of(Message message) {
    return kMessageList.at(static_cast<std::size_t>(message));
}

wire::Operation operation_of(Message message) {
    switch (message) {
    case Message::Send:
    case Message::SendWithImm:
    case Message::SendWithInv: return wire::Operation::Send;
    case Message::RdmaWrite:
    case Message::RdmaWriteWithImm: return wire::Operation::RdmaWrite;
    case Message::RdmaReadResponse: return wire::Operation::RdmaReadResponse;
    }
    return wire::Operation::Reserved;
}
bool immediate(Message message) {
    return message == Message::SendWithImm || message == Message::RdmaWriteWithImm;
}
bool invalidates(Message message) {
    return message == Message::SendWithInv;
}

Words special_field_names() {
    return kSpecialList;
}
std::optional<SpecialField> special_field_by_name(std::string_view name) {
    return enumerator<SpecialField>(kSpecialList, name);
}
std::string_view name_of(SpecialField field) {
    return kSpecialList.at(static_cast<std::size_t>(field));
}
std::string_view name_of(Acknowledgement kind) {
    return kAcknowledgementList.at(static_cast<std::size_t>(kind));
}

std::optional<FieldName> field_by_name(std::string_view name) {
    if (const auto special = special_field_by_name(name)) return *special;
    if (const auto field = wire::field_by_name(name)) return *field;
    return std::nullopt;
}

std::string_view name_of(const FieldName& field) {
    if (const auto* special = std::get_if<SpecialField>(&field)) return name_of(*special);
    if (const auto* mad = std::get_if<MadField>(&field)) return mad->name;
    return wire::field_info(std::get<wire::Field>(field)).name;
}

std::vector<std::string_view> field_names() {
    std::vector<std::string_view> names(kSpecialList.begin(), kSpecialList.end());
    for (const wire::FieldInfo& info : wire::field_table()) {
        if (!contains(kSpecialList, info.name)) names.push_back(info.name);
    }
    return names;
}

std::optional<FieldName> readable_field(std::string_view name) {
    const auto field = field_by_name(name);
    if (!field) return std::nullopt;
    if (const auto* special = std::get_if<SpecialField>(&*field)) {
        const bool number = *special == SpecialField::Length || *special == SpecialField::Credits ||
                            *special == SpecialField::Timer;
        return number ? field : std::nullopt;
    }
    const auto& info = wire::field_info(std::get<wire::Field>(*field));
    return info.kind == wire::FieldKind::Number ? field : std::nullopt;
}

std::vector<std::string_view> opcode_names(wire::Service service) {
    std::vector<std::string_view> names;
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        const bool known = info.service == service || info.service == wire::Service::Cnp;
        if (known && !info.reserved()) names.push_back(info.name);
    }
    return names;
}

std::vector<std::string_view> opcodes_of_class(std::string_view name) {
    std::vector<std::string_view> names;
    for (const wire::OpcodeInfo& info : wire::opcode_table()) {
        if (info.service != wire::Service::Rc || info.reserved()) continue;
        const bool wanted = name == "all" || (name == "requests" && info.request()) ||
                            (name == "responses" && info.response());
        if (wanted) names.push_back(info.name);
    }
    return names;
}

} // namespace veriroce::script
