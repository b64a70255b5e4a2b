#include "transport/inject/kernel_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "dissector/wire/ip.hpp"
#include "dissector/wire/udp.hpp"
#include "transport/fault/injector.hpp"

namespace veriroce::inject {
namespace {

// Behind the UDP header, whatever the IP version: no header checksum covers it. The kernel leaves
// packets with IPv4 options to the process.
constexpr std::size_t kFirstCorruptible = wire::Ipv6::kSize + wire::Udp::kSize;

// What changes a single byte in place.
bool translate(const fault::Corrupt& corrupt, kernel_rule& rule) {
    if (corrupt.good_icrc) return false;
    rule.action = KERNEL_CORRUPT;
    if (const auto* bit = std::get_if<fault::CorruptBit>(&corrupt.where)) {
        rule.offset = static_cast<std::uint32_t>(bit->bit / 8);
        rule.mask = static_cast<std::uint8_t>(0x80U >> (bit->bit % 8));
    } else if (const auto* byte = std::get_if<fault::CorruptByte>(&corrupt.where)) {
        rule.offset = static_cast<std::uint32_t>(byte->byte);
        rule.mask = 0xFF;
    } else {
        return false;
    }
    return rule.offset >= kFirstCorruptible;
}

bool translate(const fault::Action& action, kernel_rule& rule) {
    if (std::holds_alternative<fault::Drop>(action)) {
        rule.action = KERNEL_DROP;
        return true;
    }
    if (std::holds_alternative<fault::MarkCe>(action)) {
        rule.action = KERNEL_MARK_CE;
        return true;
    }
    const auto* corrupt = std::get_if<fault::Corrupt>(&action);
    return corrupt != nullptr && translate(*corrupt, rule);
}

bool translate(const fault::Selector& selector, kernel_rule& rule) {
    if (selector.connection || selector.service_id || selector.psn || selector.message ||
        selector.packet || selector.pass || selector.nth || selector.traffic_class ||
        selector.paused || selector.pfc ||
        (selector.qp && !std::holds_alternative<std::uint32_t>(*selector.qp))) {
        return false;
    }
    if (selector.host) {
        rule.has_host = 1;
        std::ranges::transform(selector.host->bytes, rule.host,
                               [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
    }
    // The process compares a multiple of 2^-53 with p: the same as integers.
    rule.draws = selector.probability ? 1 : 0;
    rule.below = static_cast<std::uint64_t>(std::ceil(selector.probability.value_or(1) * 0x1.0p53));
    rule.every = selector.every.value_or(1);
    rule.first = selector.first.value_or(std::numeric_limits<std::uint64_t>::max());
    rule.interval_ns = selector.per_second ? 1'000'000'000 / *selector.per_second : 0;
    const fault::Range between = selector.between.value_or(fault::Range{});
    rule.between_low = between.low;
    rule.between_high = between.high;
    return true;
}

std::optional<kernel_rule> translated(const fault::Rule& rule, std::uint64_t seed) {
    kernel_rule made{};
    made.also = rule.also ? 1 : 0;
    made.random = fault::first_random(seed, rule.line);
    if (!translate(rule.action, made) || !translate(rule.selector, made)) return std::nullopt;
    return made;
}

bool counts_or_draws(const fault::Selector& selector) {
    return selector.every || selector.probability || selector.first || selector.per_second;
}

void add(rule_set& set, std::size_t rule) {
    set.words[rule / 64] |= std::uint64_t{1} << (rule % 64);
}

RuleIndex index_of(const KernelRules& kernel, std::span<const fault::Rule> plan) {
    RuleIndex index;
    for (std::size_t i = 0; i < kernel.rules.size(); ++i) {
        const fault::Selector& selector = plan[kernel.places[i]].selector;
        for (const fault::End end : {fault::End::A, fault::End::B}) {
            if (selector.from.value_or(end) != end) continue;
            for (std::size_t code = 0; code < 256; ++code) {
                if (selector.opcodes && !selector.opcodes->test(code)) continue;
                add(index.by_opcode[end == fault::End::A ? 0 : 1][code], i);
            }
        }
        const auto* qpn = selector.qp ? std::get_if<std::uint32_t>(&*selector.qp) : nullptr;
        add(qpn == nullptr ? index.any_qpn : index.by_qpn[*qpn], i);
    }
    return index;
}

} // namespace

bool KernelRules::has(std::size_t place) const {
    return std::ranges::find(places, place) != places.end();
}

KernelRules kernel_rules(std::span<const fault::Rule> plan, std::uint64_t seed) {
    KernelRules all;
    for (std::size_t i = 0; i < plan.size() && all.rules.size() < KERNEL_RULES; ++i) {
        const auto rule = translated(plan[i], seed);
        if (!rule) continue;
        all.rules.push_back(*rule);
        all.places.push_back(i);
    }
    all.whole_plan = all.rules.size() == plan.size();
    if (all.whole_plan) {
        all.index = index_of(all, plan);
        return all;
    }
    KernelRules stateless;
    for (std::size_t i = 0; i < all.rules.size(); ++i) {
        if (counts_or_draws(plan[all.places[i]].selector)) continue;
        stateless.rules.push_back(all.rules[i]);
        stateless.places.push_back(all.places[i]);
    }
    stateless.index = index_of(stateless, plan);
    return stateless;
}

} // namespace veriroce::inject
