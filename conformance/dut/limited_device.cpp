#include "conformance/dut/limited_device.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "conformance/dut/capabilities.hpp"

namespace veriroce::dut {

namespace {

using Refusal = std::optional<Failure>;

constexpr std::array kEach = std::to_array<std::string_view>({"uc",           "ud",
                                                              "read",         "atomics",
                                                              "send_inv",     "imm",
                                                              "ipv6",         "vlan",
                                                              "sqd",          "flush",
                                                              "events",       "notify",
                                                              "srq",          "atomic_write",
                                                              "mw",           "mw1",
                                                              "mw2",          "mtu256",
                                                              "reset_reuse",  "query_qp",
                                                              "sge>=2",       "inline>=1",
                                                              "mtu>=4096",    "mtu>=2048",
                                                              "rd_atomic>=2", "dest_rd_atomic>=2",
                                                              "ud_path",      "iova",
                                                              "congestion",   "cm",
                                                              "apm",          "e2e_credits"});

std::string_view word_of(engine::WrOpcode opcode) {
    switch (opcode) {
    case engine::WrOpcode::Send:
    case engine::WrOpcode::RdmaWrite:
    case engine::WrOpcode::LocalInv: return "rc";
    case engine::WrOpcode::SendWithImm:
    case engine::WrOpcode::RdmaWriteWithImm: return "imm";
    case engine::WrOpcode::SendWithInv: return "send_inv";
    case engine::WrOpcode::RdmaRead: return "read";
    case engine::WrOpcode::AtomicCmpAndSwp:
    case engine::WrOpcode::AtomicFetchAndAdd: return "atomics";
    case engine::WrOpcode::BindMw: return "mw2";
    case engine::WrOpcode::Flush: return "flush";
    case engine::WrOpcode::AtomicWrite: return "atomic_write";
    }
    return "rc";
}

Failure unsupported(std::string_view verb, std::string_view what) {
    return refused(verb, "EOPNOTSUPP", fmt::format("the device has no {}", what));
}
Failure too_much(std::string_view verb, std::string_view what) {
    return refused(verb, "EINVAL", fmt::format("{} is beyond the device's limit", what));
}

// One overload for each request that a device may refuse because it lacks something.
struct Refuses {
    const Lacks& lacks;

    Refusal operator()(const QpCreate& r) const {
        if (r.type == engine::QpType::Uc && lacks.word("uc")) return unsupported(r.method, "UC");
        if (r.type == engine::QpType::Ud && lacks.word("ud")) return unsupported(r.method, "UD");
        if (lacks.beyond("sge", r.max_sge.value_or(1))) return too_much(r.method, "max_sge");
        if (lacks.beyond("inline", r.max_inline.value_or(0)))
            return too_much(r.method, "max_inline");
        return {};
    }
    Refusal operator()(const QpModify& r) const {
        const QpAttributes& to = r.attributes;
        if (to.state == engine::QpState::Sqd && lacks.word("sqd")) return too_much(r.method, "SQD");
        if (to.alt_address_vector && lacks.word("apm")) return unsupported(r.method, "second path");
        if (to.flow_control && lacks.word("e2e_credits"))
            return unsupported(r.method, "end-to-end flow control");
        if (to.path_mtu == wire::Mtu::B256 && lacks.word("mtu256"))
            return too_much(r.method, "path_mtu");
        if (to.path_mtu && lacks.beyond("mtu", wire::bytes_of(*to.path_mtu)))
            return too_much(r.method, "path_mtu");
        if (lacks.beyond("rd_atomic", to.max_rd_atomic.value_or(0)))
            return too_much(r.method, "max_rd_atomic");
        if (lacks.beyond("dest_rd_atomic", to.max_dest_rd_atomic.value_or(0)))
            return too_much(r.method, "max_dest_rd_atomic");
        return {};
    }
    Refusal operator()(const QpQuery& r) const {
        return lacks.word("query_qp") ? Refusal(unsupported(r.method, "query")) : Refusal();
    }
    Refusal operator()(const PostSend& r) const {
        for (const SendRequest& one : r.requests) {
            if (lacks.word(word_of(one.opcode)))
                return unsupported(r.method, engine::name_of(one.opcode));
            if (one.ud && one.ud->hop_limit && lacks.word("ud_path"))
                return unsupported(r.method, "hop limit of a datagram");
        }
        return {};
    }
    Refusal operator()(const MrRegister& r) const {
        const bool lacking = r.iova && lacks.word("iova");
        return lacking ? Refusal(unsupported(r.method, "regions at a chosen address")) : Refusal();
    }
    Refusal operator()(const MwAlloc& r) const {
        const bool lacking = lacks.word("mw") || lacks.word(r.type == 1 ? "mw1" : "mw2");
        return lacking ? Refusal(unsupported(r.method, "memory window of this type")) : Refusal();
    }
    Refusal operator()(const Events& r) const { return group(r.method, "events"); }
    Refusal operator()(const CqArm& r) const { return group(r.method, "notify"); }
    Refusal operator()(const CqWait& r) const { return group(r.method, "notify"); }
    Refusal operator()(const SrqCreate& r) const { return group(r.method, "srq"); }
    Refusal operator()(const CongestionGet& r) const { return group(r.method, "congestion"); }
    Refusal operator()(const CongestionSet& r) const { return group(r.method, "congestion"); }
    Refusal operator()(const CmListen& r) const { return group(r.method, "cm"); }
    Refusal operator()(const CmEvents& r) const { return group(r.method, "cm"); }
    Refusal operator()(const CmQpAttributes& r) const { return group(r.method, "cm"); }
    Refusal operator()(const CmAccept& r) const { return group(r.method, "cm"); }
    Refusal operator()(const CmReject& r) const { return group(r.method, "cm"); }
    Refusal operator()(const CmDisconnect& r) const { return group(r.method, "cm"); }
    Refusal operator()(const auto& /*request*/) const { return {}; }

    [[nodiscard]] Refusal group(std::string_view method, std::string_view word) const {
        if (!lacks.word(word)) return {};
        return no_method(method, fmt::format("the device has no {}", word));
    }
};

} // namespace

bool Lacks::beyond(std::string_view name, std::uint64_t value) const {
    const auto limit = from.find(name);
    return limit != from.end() && value >= limit->second;
}

void Lacks::add(const Lacks& other) {
    words.insert(other.words.begin(), other.words.end());
    for (const auto& [name, value] : other.from) {
        const auto known = from.try_emplace(name, value).first;
        known->second = std::min(known->second, value);
    }
}

std::span<const std::string_view> Lacks::each() {
    return kEach;
}

std::expected<Lacks, std::string> Lacks::parse(std::string_view list) {
    Lacks lacks;
    while (!list.empty()) {
        const std::string_view one = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), one.size() + 1));
        const std::size_t sign = one.find(">=");
        const std::string_view name = one.substr(0, sign);
        const bool known = std::ranges::any_of(kEach, [&](std::string_view each) {
            return sign == std::string_view::npos ? each == one
                                                  : each.starts_with(one.substr(0, sign + 2));
        });
        if (!known)
            return std::unexpected(fmt::format("'{}' is nothing that a device can lack", one));
        if (sign == std::string_view::npos) {
            lacks.words.emplace(name);
            continue;
        }
        const std::string_view digits = one.substr(sign + 2);
        std::uint32_t value = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || value == 0) {
            return std::unexpected(fmt::format("'{}' needs a number from 1 on", one));
        }
        lacks.from.insert_or_assign(std::string(name), value);
    }
    return lacks;
}

void LimitedDevice::limit(Welcome& welcome) const {
    for (const std::string& word : lacks_.words)
        remove_capability(welcome, word);
    const auto at_most = [&](std::string_view name, std::uint32_t& value) {
        if (lacks_.beyond(name, value)) value = lacks_.from.find(name)->second - 1;
    };
    at_most("sge", welcome.max.sge);
    at_most("inline", welcome.max.inline_bytes);
    at_most("rd_atomic", welcome.max.rd_atomic);
    at_most("dest_rd_atomic", welcome.max.dest_rd_atomic);
    for (Port& port : welcome.ports) {
        for (const wire::Mtu smaller : {wire::Mtu::B2048, wire::Mtu::B1024, wire::Mtu::B512}) {
            if (lacks_.beyond("mtu", wire::bytes_of(port.mtu_active))) port.mtu_active = smaller;
        }
        std::erase_if(port.gids, [&](const Gid& gid) {
            return (lacks_.word("ipv6") && !gid.address.v4()) ||
                   (lacks_.word("vlan") && gid.vlan.has_value());
        });
    }
}

std::optional<Failure> LimitedDevice::refusal(const Request& request) const {
    const auto* modify = std::get_if<QpModify>(&request);
    if (modify != nullptr && lacks_.word("reset_reuse") && used_.contains(modify->qp) &&
        modify->attributes.state == engine::QpState::Init) {
        return too_much(QpModify::method, "INIT after RESET");
    }
    return std::visit(Refuses{lacks_}, request);
}

Answer LimitedDevice::execute(const Request& request, wire::Instant now) {
    if (auto failure = refusal(request)) return std::unexpected(std::move(*failure));
    Answer answer = device_.execute(request, now);
    if (const auto* modify = std::get_if<QpModify>(&request);
        modify != nullptr && answer && modify->attributes.state) {
        const bool reset = *modify->attributes.state == engine::QpState::Reset;
        if (!reset) left_reset_.insert(modify->qp);
        if (reset && left_reset_.contains(modify->qp)) used_.insert(modify->qp);
    }
    if (std::holds_alternative<Hello>(request) && answer && told_ == Told::Yes) {
        limit(std::get<Welcome>(*answer));
    }
    return answer;
}

} // namespace veriroce::dut
