#include "dissector/capture/decoded_frames.hpp"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "dissector/capture/decode_pool.hpp"
#include "dissector/capture/facts.hpp"

namespace veriroce::capture {
namespace {

// For other threads a batch is worth its hand-over, and what is under way stays in the second
// cache.
constexpr std::size_t kFramesShared = DecodedFrames::kMostTogether;
// So that batches under way stay among the pages that the reader keeps (page_prefetcher.hpp).
constexpr std::size_t kBatchBytes = std::size_t{128} * 1024;

std::unique_ptr<DecodePool> pool_for(const DecodedFrames::Options& options) {
    const std::uint32_t threads = DecodedFrames::threads(options.threads);
    return std::make_unique<DecodePool>(
        options.decode, DecodePool::Work{options.prepare, options.shares, options.observe}, threads,
        DecodedFrames::places(threads), threads == 1 ? options.together : kFramesShared);
}

std::vector<Reader> alone(Reader reader) {
    std::vector<Reader> readers;
    readers.push_back(std::move(reader));
    return readers;
}

} // namespace

std::uint32_t DecodedFrames::threads(std::uint32_t wanted) {
    if (wanted == 0) wanted = std::max(1U, std::thread::hardware_concurrency());
    return std::min(wanted, kMostThreads);
}

std::size_t DecodedFrames::shares(std::span<const std::string> files, std::uint32_t threads) {
    const auto again = [](const std::string& file) {
        std::error_code unknown;
        return file != "-" && std::filesystem::is_regular_file(file, unknown);
    };
    return std::ranges::all_of(files, again) ? DecodedFrames::threads(threads) : 1;
}

std::size_t DecodedFrames::places(std::uint32_t threads) {
    const std::uint32_t wanted = DecodedFrames::threads(threads);
    return wanted == 1 ? 1 : wanted * kBatchesPerThread;
}

DecodedFrames::DecodedFrames(std::vector<Reader> readers, Options options)
    : options_(std::move(options)), pool_(pool_for(options_)) {
    inputs_.reserve(readers.size());
    for (Reader& reader : readers) {
        keeps_ = keeps_ && reader.keeps();
        inputs_.emplace_back(std::move(reader));
    }
}

DecodedFrames::DecodedFrames(Reader reader, Options options)
    : DecodedFrames(alone(std::move(reader)), std::move(options)) {}

DecodedFrames::DecodedFrames(DecodedFrames&&) noexcept = default;
DecodedFrames& DecodedFrames::operator=(DecodedFrames&&) noexcept = default;
DecodedFrames::~DecodedFrames() = default;

bool DecodedFrames::read(std::size_t index, Record& record) {
    Input& input = inputs_[index];
    const auto more = input.reader.next(record);
    if (!more) errors_.emplace_back(index, more.error());
    input.ended = !more.value_or(false);
    return !input.ended;
}

void DecodedFrames::advance(std::size_t index) {
    Input& input = inputs_[index];
    if (!input.taken || input.ended) return;
    input.taken = false;
    if (read(index, input.record) && input.record.time_ns) input.time_ns = *input.record.time_ns;
}

// The input whose frame comes next. False at the end of all. The others are only looked at when the
// current one has passed the earliest of them.
bool DecodedFrames::choose() {
    if (inputs_.empty()) return false;
    if (begun_) {
        advance(current_);
        const Input& input = inputs_[current_];
        if (!input.ended && (!limit_ || std::pair(input.time_ns, current_) < *limit_)) return true;
    } else {
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            advance(i);
        begun_ = true;
    }
    std::optional<std::pair<std::int64_t, std::size_t>> first;
    limit_.reset();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].ended) continue;
        const std::pair place(inputs_[i].time_ns, i);
        if (!first || place < *first) {
            limit_ = first;
            first = place;
        } else if (!limit_ || place < *limit_) {
            limit_ = place;
        }
    }
    if (!first) return false;
    current_ = first->second;
    return true;
}

// The record that comes next. A single reader's is not copied: it would be stored in small pieces
// and read in large ones, for which a processor waits.
bool DecodedFrames::take(Record& record) {
    if (inputs_.size() == 1) {
        begun_ = true;
        return read(0, record);
    }
    if (!choose()) return false;
    inputs_[current_].taken = true;
    record = inputs_[current_].record;
    return true;
}

// Whether take() leaves the bytes of all frames before where they are: it reads on in the current
// input only.
bool DecodedFrames::at_hand() const {
    if (keeps_) return true;
    if (!begun_)
        return std::ranges::all_of(inputs_,
                                   [](const Input& input) { return input.reader.at_hand(); });
    return inputs_.empty() || inputs_[current_].ended || inputs_[current_].reader.at_hand();
}

bool DecodedFrames::may_wait() const {
    return !ended_ && pool_->under_way() <= (given_ != nullptr ? 1 : 0) && !at_hand();
}

// Where a packet is, only the one before it tells. So each header would be waited for; most packets
// are as long as the one before, so it is known where to look for the next.
void DecodedFrames::fetch_ahead(const Record& record) {
    constexpr std::uintptr_t kPackets = 8;
    constexpr std::uintptr_t kHeaderBytes = 16;
    const auto at = reinterpret_cast<std::uintptr_t>(record.bytes.data()) - kHeaderBytes;
    const std::uintptr_t ahead = at + kPackets * (at - std::exchange(last_at_, at));
    __builtin_prefetch(reinterpret_cast<const void*>(ahead));
}

// Up to where the reader would have to move the bytes of frames that are under way.
void DecodedFrames::fill(DecodeBatch& batch) {
    batch.size = 0;
    batch.first_number = number_ + 1;
    bool first = pool_->under_way() <= 1; // nothing but this batch
    for (std::size_t bytes = 0; batch.size < batch.packets.size() && bytes < kBatchBytes;) {
        if (!first && !at_hand()) break;
        first = false;
        auto& [record, interfaces] = batch.sources[batch.size];
        ended_ = !take(record);
        if (ended_) break;
        interfaces = static_cast<std::uint32_t>(reader().interfaces().size());
        const bool selected = !options_.select || options_.select(record);
        DecodeBatch::Packet& packet = batch.packets[batch.size];
        packet.selected = selected;
        if (pool_->alone()) {
            // While its bytes are in the cache, and straight from the record.
            decode::Dissection& frame = batch.room->frames[batch.size];
            if (selected) {
                tell(record, batch.first_number + batch.size, frame.frame);
                decode::dissect_frame(options_.decode, frame);
            }
            bytes += record.bytes.size();
            ++batch.size;
            continue;
        }
        packet.bytes = record.bytes.data();
        packet.captured = static_cast<std::uint32_t>(record.bytes.size());
        packet.original_length = record.original_length;
        packet.link_code = record.link_code;
        packet.has_time = record.time_ns.has_value();
        packet.time_ns = record.time_ns.value_or(0);
        bytes += packet.captured;
        fetch_ahead(record);
        ++batch.size;
    }
    number_ += batch.size;
    if (pool_->alone()) pool_->finish_alone(batch);
}

// Many at once, so that sleeping threads are woken seldom.
void DecodedFrames::read_ahead() {
    if (pool_->under_way() > pool_->capacity() / 2) return;
    std::size_t filled = 0;
    while (!ended_ && pool_->under_way() < pool_->capacity() &&
           (pool_->under_way() == 0 || at_hand())) {
        fill(pool_->free());
        ++filled;
    }
    if (filled > 0) pool_->submit(filled);
}

// One batch, again and again, without anything of the queue.
std::span<decode::Dissection> DecodedFrames::next_alone() {
    given_ = nullptr;
    if (ended_) return {};
    DecodeBatch& batch = pool_->own_batch();
    fill(batch);
    if (batch.size == 0) return {};
    given_ = &batch;
    return std::span(batch.room->frames).first(batch.size);
}

std::span<decode::Dissection> DecodedFrames::next() {
    if (pool_->alone()) return next_alone();
    if (given_ != nullptr) pool_->release();
    given_ = nullptr;
    read_ahead();
    if (pool_->under_way() == 0) return {};
    DecodeBatch& batch = pool_->oldest();
    given_ = &batch;
    return std::span(batch.room->frames).first(batch.size);
}

const Record& DecodedFrames::record(std::size_t index) const {
    return given_->sources[index].record;
}

std::span<const Interface> DecodedFrames::interfaces(std::size_t index) const {
    return reader().interfaces().first(given_->sources[index].interfaces);
}

std::size_t DecodedFrames::place() const {
    return given_->room->place;
}

bool DecodedFrames::selected(std::size_t index) const {
    return given_->packets[index].selected;
}

} // namespace veriroce::capture
