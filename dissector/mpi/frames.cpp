#include "dissector/mpi/frames.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/file_mapping.hpp>
#include <boost/interprocess/mapped_region.hpp>

#include "dissector/capture/facts.hpp"
#include "dissector/capture/pcap_format.hpp"
#include "dissector/decode/decoder.hpp"
#include "dissector/flow/divided_packets.hpp"
#include "dissector/mpi/packet_bytes.hpp"

namespace veriroce::mpi {
namespace {

namespace bip = boost::interprocess;

// A file in memory. Only the pages that are looked at are read.
class Mapped {
  public:
    // Nothing if it is not a file that can be mapped.
    static std::optional<Mapped> open(const std::string& path) {
        std::error_code unknown;
        if (!std::filesystem::is_regular_file(path, unknown)) return std::nullopt;
        if (std::filesystem::file_size(path, unknown) == 0) return std::nullopt;
        try {
            const bip::file_mapping file(path.c_str(), bip::read_only);
            Mapped mapped(bip::mapped_region(file, bip::read_only));
            mapped.region_.advise(bip::mapped_region::advice_sequential);
            return mapped;
        } catch (const bip::interprocess_exception&) {
            return std::nullopt;
        }
    }
    [[nodiscard]] wire::Bytes bytes() const {
        return {static_cast<const std::byte*>(region_.get_address()), region_.get_size()};
    }
    // Nothing if the file is in another format, or compressed.
    [[nodiscard]] std::optional<capture::PcapFormat> pcap() const {
        if (bytes().size() < capture::PcapFormat::kFileHeaderBytes) return std::nullopt;
        return capture::PcapFormat::recognise(bytes());
    }

  private:
    explicit Mapped(bip::mapped_region region) : region_(std::move(region)) {}
    bip::mapped_region region_;
};

} // namespace

void Frames::add_packet(std::size_t owner, const flow::Packet& packet) {
    if (owner >= by_owner_.size()) by_owner_.resize(owner + 1);
    Owned& owned = by_owner_[owner];
    owned.packets.push_back(
        {.frame = keys_.size() - 1, .begin = std::as_const(owned.bytes).bytes().size()});
    put_packet(owned.bytes, packet);
}

void Frames::raise_keys(Key before) {
    for (Key& key : keys_) {
        if (key >= before) return; // and so are those behind
        key = before;
    }
}

void Frames::release(std::span<const std::uint64_t> numbers, std::span<Outgoing> outgoing) {
    for (std::size_t owner = 0; owner < by_owner_.size(); ++owner) {
        Owned& owned = by_owner_[owner];
        const wire::MutableBytes bytes = owned.bytes.bytes();
        const auto begin_of = [&](std::size_t packet) {
            return packet < owned.packets.size() ? owned.packets[packet].begin : bytes.size();
        };
        const std::size_t begin = begin_of(owned.released);
        for (; owned.released < owned.packets.size(); ++owned.released) {
            const Packet& packet = owned.packets[owned.released];
            const std::size_t at = packet.frame - released_;
            if (at >= numbers.size()) break;
            set_number(bytes.subspan(packet.begin), numbers[at]);
        }
        const std::size_t end = begin_of(owned.released);
        if (begin < end) outgoing[owner].push_back(bytes.subspan(begin, end - begin));
    }
    released_ += numbers.size();
}

void Frames::clear() {
    keys_.clear();
    for (Owned& owned : by_owner_) {
        owned.bytes.clear();
        owned.packets.clear();
        owned.released = 0;
    }
    others_ = {};
    released_ = 0;
}

std::expected<Progress, capture::ReadError> Files::begin(std::size_t file) const {
    auto reader = capture::Reader::open(paths_[file]);
    if (!reader) return std::unexpected(reader.error());
    Progress progress;
    capture::Record record;
    // Without a first frame it is not known what comes first: the file is read at once.
    progress.key = std::numeric_limits<Key>::min();
    if (reader->next(record).value_or(false)) progress.key = record.time_ns.value_or(0);
    const auto mapped = Mapped::open(paths_[file]);
    if (mapped && mapped->pcap()) {
        progress.divisible = true;
        progress.bytes = mapped->bytes().size();
        progress.next = capture::PcapFormat::kFileHeaderBytes;
        progress.finished = progress.next >= progress.bytes;
    }
    return progress;
}

ReadPiece Files::read(const Piece& piece) {
    ReadPiece result{.piece = piece};
    if (!spare_.empty()) {
        result.frames = std::move(spare_.back());
        spare_.pop_back();
    }
    if (piece.end > 0) {
        read_part(result);
    } else {
        read_on(result);
    }
    return result;
}

void Files::recycle(Frames frames) {
    frames.clear();
    spare_.push_back(std::move(frames));
}

void Files::read_part(ReadPiece& result) {
    const Piece& piece = result.piece;
    const auto mapped = Mapped::open(paths_[piece.file]);
    const auto format = mapped ? mapped->pcap() : std::nullopt;
    result.finished = true;
    if (!format || mapped->bytes().size() < piece.end) { // it was another file before
        result.error = {.kind = capture::ReadErrorKind::Truncated, .offset = piece.begin};
        return;
    }
    const wire::Bytes file = mapped->bytes();
    result.begin = piece.exact ? piece.begin : format->likely_packet(file, piece.begin);
    result.end = result.begin;
    auto reader = capture::Reader::over(file, result.begin);
    capture::Record record;
    while (result.end < piece.end) {
        const auto more = reader->next(record);
        if (!more) result.error = more.error();
        if (!more.value_or(false)) return;
        take(record, result.frames);
        result.end = record.offset + capture::PcapFormat::kPacketHeaderBytes + record.bytes.size();
    }
    result.finished = result.end >= file.size();
}

void Files::read_on(ReadPiece& result) {
    const std::uint32_t file = result.piece.file;
    auto open = open_.find(file);
    result.finished = true;
    if (open == open_.end()) {
        auto reader = capture::Reader::open(paths_[file]);
        if (!reader) {
            result.error = reader.error();
            return;
        }
        open = open_.emplace(file, std::move(*reader)).first;
    }
    capture::Record record;
    for (std::uint64_t bytes = 0; bytes < options_.piece_bytes; bytes += record.bytes.size()) {
        const auto more = open->second.next(record);
        if (!more) result.error = more.error();
        if (!more.value_or(false)) {
            open_.erase(open);
            return;
        }
        take(record, result.frames);
    }
    result.finished = false;
}

void Files::take(const capture::Record& record, Frames& frames) {
    capture::tell(record, 0, dissection_.frame);
    decode::dissect_frame({.also_roce_ports = options_.roce_ports}, dissection_);
    flow::FramePacket one;
    flow::read_packets(std::span(&dissection_, 1), std::span(&one, 1));
    frames.add(record.time_ns);
    if (one.there) {
        frames.add_packet(
            flow::share_of(one.packet.source, one.packet.destination, options_.owners), one.packet);
    } else {
        frames.count(dissection_);
    }
}

} // namespace veriroce::mpi
