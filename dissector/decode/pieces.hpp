// A message's first packet, piece by piece: what its Payload is replaced by. Internal to this room.
#pragma once

#include <algorithm>
#include <bit>

#include "dissector/decode/dissection.hpp"
#include "dissector/wire/bytes.hpp"

namespace veriroce::decode {

class Pieces {
  public:
    // The most layers of one message; the bytes after them stay payload.
    static constexpr std::size_t kMost = 32;

    // `bytes`: what the packet holds of the message, also if the capture cut it. `goes_on`: the
    // message does not end with this packet. `too_short`: the finding if it ends too early.
    Pieces(Dissection& out, LayerSpan payload, std::uint32_t bytes, bool goes_on,
           FindingKind too_short)
        : out_(out), payload_(payload), bytes_(bytes), goes_on_(goes_on), too_short_(too_short) {}

    // The next `bytes` bytes are a header of this kind. False if they are not all there: then
    // nothing more can be taken. A header that the capture cut is kept as far as it goes.
    bool take(LayerKind kind, std::uint32_t bytes) {
        if (size_ + 1 == kMost) return false; // the last is for the payload
        if (!needs(bytes)) return false;
        const std::uint32_t at_hand = std::min(bytes, payload_.length - at_);
        if (at_hand > 0) layers_[size_++] = {kind, payload_.offset + at_, at_hand};
        at_ += at_hand;
        return at_hand == bytes;
    }
    // Whether the message has this many more bytes; a finding if it ends before them.
    bool needs(std::uint32_t bytes) {
        if (bytes <= left()) return true;
        if (!goes_on_) find(too_short_, 0, left(), at_ + left(), at_ + bytes);
        return false;
    }
    void find(FindingKind kind, std::uint32_t ahead, std::uint32_t length, std::uint32_t found,
              std::uint32_t expected = 0) {
        out_.findings.add({kind, payload_.offset + at_ + ahead, length, found, expected});
    }
    // What is left stays what it was.
    void finish() {
        if (size_ == 0) return;
        if (at_ < payload_.length) {
            layers_[size_++] = {payload_.kind, payload_.offset + at_, payload_.length - at_};
        }
        out_.upper = out_.layers.replace(payload_.kind, std::span(layers_).first(size_));
    }

    [[nodiscard]] std::uint32_t bytes() const { return bytes_; } // of the whole
    [[nodiscard]] std::uint32_t left() const { return bytes_ - at_; }
    [[nodiscard]] bool goes_on() const { return goes_on_; }
    // What is ahead, if it was captured; else 0.
    [[nodiscard]] std::uint8_t u8(std::uint32_t ahead) const {
        return captured(ahead + 1) ? wire::load_u8(ahead_of(ahead), 0) : std::uint8_t{0};
    }
    [[nodiscard]] std::uint32_t u24(std::uint32_t ahead) const {
        return captured(ahead + 3) ? wire::load_u24(ahead_of(ahead), 0) : 0;
    }
    [[nodiscard]] std::uint32_t u32(std::uint32_t ahead) const {
        return captured(ahead + 4) ? wire::load_u32(ahead_of(ahead), 0) : 0;
    }
    [[nodiscard]] std::uint32_t little_u32(std::uint32_t ahead) const {
        return std::byteswap(u32(ahead));
    }
    [[nodiscard]] bool captured(std::uint32_t bytes) const {
        return bytes <= payload_.length - at_;
    }

  private:
    [[nodiscard]] wire::Bytes ahead_of(std::uint32_t ahead) const {
        return out_.frame.bytes.subspan(payload_.offset + at_ + ahead);
    }

    Dissection& out_;
    LayerSpan payload_;
    std::uint32_t bytes_;
    bool goes_on_;
    FindingKind too_short_;
    std::array<LayerSpan, kMost> layers_{};
    std::size_t size_ = 0;
    std::uint32_t at_ = 0;
};

} // namespace veriroce::decode
