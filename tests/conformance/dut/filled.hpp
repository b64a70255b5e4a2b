// Requests and results with something in every field, made by the contract's own field lists, so
// that a field that is added is tested without a line here.
#pragma once

#include <type_traits>

#include "conformance/dut/fields.hpp"

namespace veriroce::dut::test {

// Each value is made of the next number, so that two fields that are swapped show.
struct Filler {
    std::uint64_t next = 1;

    void fill(bool& value) { value = true; }
    void fill(std::string& value) { value = "text " + std::to_string(next++); }
    void fill(std::vector<std::byte>& value) {
        for (std::size_t i = 0; i < 5; ++i)
            value.push_back(static_cast<std::byte>(0xF0 + next++));
    }
    void fill(wire::IpAddress& value) {
        value = wire::IpAddress::from_v4(0x0A4D0000U + static_cast<std::uint32_t>(next++));
    }
    void fill(wire::MacAddress& value) { value.bytes[5] = static_cast<std::byte>(next++); }
    void fill(wire::Mtu& value) { value = wire::Mtu::B2048; }
    void fill(wire::Psn& value) {
        value = wire::Psn(0xFFFFF0U + static_cast<std::uint32_t>(next++));
    }
    void fill(wire::Instant& value) {
        value = wire::Instant(wire::Duration(0x7000'0000'0000'0000));
    }
    void fill(engine::Access& value) { value = {.remote_write = true, .mw_bind = true}; }
    void fill(Flags& value) { value = {.signaled = true, .fence = true}; }
    void fill(std::map<std::string, std::uint64_t>& value) {
        value = {{"out_of_sequence", ~std::uint64_t{0}}, {"rnr_nak_sent", 0}};
    }
    template <typename T>
        requires std::is_unsigned_v<T>
    void fill(T& value) {
        value = static_cast<T>(next++);
    }
    template <typename T>
        requires std::is_enum_v<T>
    void fill(T& value) {
        value = static_cast<T>(1);
    }
    template <typename Tag, typename T>
    void fill(wire::Identifier<Tag, T>& value) {
        fill(value.value);
    }
    template <typename T>
    void fill(std::optional<T>& value) {
        fill(value.emplace());
    }
    template <typename T>
    void fill(std::vector<T>& value) {
        value.resize(2);
        for (auto& element : value)
            fill(element);
    }
    template <typename T>
        requires requires { fields_of(Of<T>{}); }
    void fill(T& value) {
        std::apply([&](const auto&... field) { (fill(value.*field.member), ...); },
                   fields_of(Of<T>{}));
    }
};

// Calls `check` with one value of each alternative of the variant, everything filled, and once more
// with everything as it is by default.
template <typename Variant, typename Check, std::size_t Index = 0>
void for_each_alternative(const Check& check) {
    if constexpr (Index < std::variant_size_v<typename Variant::variant>) {
        std::variant_alternative_t<Index, typename Variant::variant> value{};
        check(Variant(value));
        Filler{}.fill(value);
        check(Variant(value));
        for_each_alternative<Variant, Check, Index + 1>(check);
    }
}

} // namespace veriroce::dut::test
