#include "dissector/filter/pattern.hpp"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace veriroce::filter {
namespace {

// Limits of one match: a few milliseconds and one megabyte.
constexpr std::uint32_t kMatchLimit = 100'000;
constexpr std::uint32_t kHeapKilobytes = 1024;

const auto* units(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

} // namespace

void Pattern::Delete::operator()(void* code) const {
    ::pcre2_code_free(static_cast<pcre2_code*>(code));
}
void Pattern::DeleteRoom::operator()(void* room) const {
    ::pcre2_match_data_free(static_cast<pcre2_match_data*>(room));
}
void Pattern::DeleteLimits::operator()(void* limits) const {
    ::pcre2_match_context_free(static_cast<pcre2_match_context*>(limits));
}

std::expected<Pattern, std::string> Pattern::compile(std::string_view expression) {
    int number = 0;
    PCRE2_SIZE place = 0;
    Pattern pattern;
    // Packet bytes are not UTF-8, and the expression must not be able to turn UTF-8 mode on.
    pattern.code_.reset(::pcre2_compile(units(expression), expression.size(),
                                        PCRE2_CASELESS | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C,
                                        &number, &place, nullptr));
    if (!pattern.code_) {
        std::array<PCRE2_UCHAR, 256> words{};
        ::pcre2_get_error_message(number, words.data(), words.size());
        return std::unexpected("not a regular expression: " +
                               std::string(reinterpret_cast<const char*>(words.data())) +
                               " (after " + std::to_string(place) + " characters)");
    }
    pattern.room_.reset(::pcre2_match_data_create_from_pattern(
        static_cast<pcre2_code*>(pattern.code_.get()), nullptr));
    auto* limits = ::pcre2_match_context_create(nullptr);
    pattern.limits_.reset(limits);
    if (!pattern.room_ || limits == nullptr) return std::unexpected("out of memory");
    ::pcre2_set_match_limit(limits, kMatchLimit);
    ::pcre2_set_heap_limit(limits, kHeapKilobytes);
    return pattern;
}

bool Pattern::matches(wire::Bytes bytes) const {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const int result = ::pcre2_match(static_cast<const pcre2_code*>(code_.get()),
                                     bytes.empty() ? units("") : units(text), text.size(), 0, 0,
                                     static_cast<pcre2_match_data*>(room_.get()),
                                     static_cast<pcre2_match_context*>(limits_.get()));
    if (result < 0 && result != PCRE2_ERROR_NOMATCH) ++given_up_;
    return result >= 0;
}

} // namespace veriroce::filter
