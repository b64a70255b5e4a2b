#include "conformance/interpreter/record.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace veriroce::interpreter {
namespace {

std::uint64_t bytes_of(const Entry& entry) {
    return sizeof entry + entry.bytes.size();
}

} // namespace

std::size_t Record::add(Entry entry) {
    bytes_ += bytes_of(entry);
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
}

bool Record::keep_few() {
    if (foreign_++ < packets_that_show) {
        last_foreign_ = entries_.size() - 1;
        return true;
    }
    bytes_ -= bytes_of(entries_.back());
    entries_.pop_back();
    return false;
}

void Record::remark_on_those_not_kept() {
    if (foreign_ <= packets_that_show) return;
    entries_[last_foreign_].remarks.push_back(
        fmt::format("and {} more that belong to no QP of this case", foreign_ - packets_that_show));
}

void Record::sent(std::uint64_t number, Interval at) {
    // It is one of the last.
    const auto entry = std::find_if(entries_.rbegin(), entries_.rend(),
                                    [&](const Entry& one) { return one.number == number; });
    if (entry != entries_.rend()) entry->at = at;
}

std::optional<std::size_t> Record::named(std::string_view name) const {
    const auto found = named_.find(name);
    if (found == named_.end()) return std::nullopt;
    return found->second;
}

} // namespace veriroce::interpreter
