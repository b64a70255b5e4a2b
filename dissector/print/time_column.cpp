#include "dissector/print/time_column.hpp"

#include "dissector/print/value_text.hpp"

namespace veriroce::print {
namespace {

constexpr unsigned kDecimals = 6; // as tshark prints for most files
constexpr std::int64_t kMinute = 60 * kSecond;

std::int64_t floor_of(std::int64_t value, std::int64_t unit) {
    return value / unit - (value % unit < 0 ? 1 : 0);
}

// The difference may exceed 63 bits in a damaged file: it then wraps.
void put_since(Cell& cell, std::int64_t time_ns, std::optional<std::int64_t> from_ns) {
    const auto since =
        static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(from_ns.value_or(time_ns));
    put_seconds(cell, static_cast<std::int64_t>(since), kDecimals);
}

void put_two_digits(Cell& cell, int value) {
    if (value < 10) cell.put('0');
    cell.decimal(value);
}

bool dated(TimeForm form) {
    return form == TimeForm::Date || form == TimeForm::UtcDate;
}

bool utc(TimeForm form) {
    return form == TimeForm::Utc || form == TimeForm::UtcDate;
}

} // namespace

Cell TimeColumn::text(const decode::Dissection& dissection) {
    Cell cell;
    const decode::FrameFacts& frame = dissection.frame;
    if (!frame.time_ns) return cell;
    const std::int64_t time_ns = *frame.time_ns;
    switch (form_) {
    case TimeForm::Relative: put_since(cell, time_ns, frame.first_time_ns); break;
    case TimeForm::Delta: put_since(cell, time_ns, frame.last_time_ns); break;
    case TimeForm::DeltaDisplayed:
        put_since(cell, time_ns, displayed_ns_);
        displayed_ns_ = time_ns;
        break;
    case TimeForm::Epoch: put_seconds(cell, time_ns, kDecimals); break;
    case TimeForm::Clock:
    case TimeForm::Date:
    case TimeForm::Utc:
    case TimeForm::UtcDate: put_clock(cell, time_ns); break;
    }
    return cell;
}

void TimeColumn::put_clock(Cell& cell, std::int64_t time_ns) {
    const std::int64_t minute = floor_of(time_ns, kMinute);
    if (minute_ != minute) {
        const std::time_t seconds = minute * 60;
        if (utc(form_)) {
            ::gmtime_r(&seconds, &parts_);
        } else {
            ::localtime_r(&seconds, &parts_);
        }
        minute_ = minute;
    }
    if (dated(form_)) {
        cell.decimal(parts_.tm_year + 1900);
        cell.put('-');
        put_two_digits(cell, parts_.tm_mon + 1);
        cell.put('-');
        put_two_digits(cell, parts_.tm_mday);
        cell.put(' ');
    }
    put_two_digits(cell, parts_.tm_hour);
    cell.put(':');
    put_two_digits(cell, parts_.tm_min);
    cell.put(':');
    const std::int64_t rest = time_ns - minute * kMinute;
    if (rest < 10 * kSecond) cell.put('0');
    put_seconds(cell, rest, kDecimals);
}

} // namespace veriroce::print
