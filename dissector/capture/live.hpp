// Packets from an interface as they come, through libpcap.
//
//   auto live = Live::open({.interface = "eth0"});
//   Record record;
//   for (;;) {
//       const auto got = live->next(record);
//       if (!got) return say(got.error());
//       if (*got == Live::Got::Stopped) break;
//       if (*got == Live::Got::Packet) ...
//   }
//
// Linux. Needs CAP_NET_RAW.
#pragma once

#include <atomic>
#include <expected>
#include <memory>
#include <span>
#include <string>

#include "dissector/capture/record.hpp"

namespace veriroce::capture {

struct LiveOptions {
    std::string interface;
    std::string filter; // capture filter that the kernel applies; empty: everything
    std::uint32_t snap_length = 262'144;
    std::uint32_t buffer_mib = 16; // of the ring that the kernel fills
    bool immediate = false;        // hand over each packet at once, not in blocks
    // Set from a signal's handler or another thread: next() then gives Stopped.
    const std::atomic<bool>* stop = nullptr;
};

class Live {
  public:
    // The error is a sentence: no such interface (with those that there are), not permitted, down,
    // a filter that is wrong.
    static std::expected<Live, std::string> open(const LiveOptions& options);

    // Packet: `record` is filled and holds until the next call. Soon: there was nothing, and now
    // there is; call again. Idle: nothing came for a moment, so that what is buffered may be
    // written. Stopped: `stop` was set.
    enum class Got : std::uint8_t { Packet, Soon, Idle, Stopped };
    // The error is a sentence: the interface is gone, or went down.
    std::expected<Got, std::string> next(Record& record);

    // One, with the interface's name and link type.
    [[nodiscard]] std::span<const Interface> interfaces() const { return {&interface_, 1}; }

    struct Counts {
        std::uint64_t received = 0;          // handed over
        std::uint64_t dropped = 0;           // for lack of room in the ring
        std::uint64_t interface_dropped = 0; // by the interface or its driver
    };
    // Since the beginning.
    [[nodiscard]] Counts counts() const;

  private:
    struct Close {
        void operator()(void* handle) const;
    };

    Live() = default;
    // pcap_t; its header has no place in one of ours.
    std::unique_ptr<void, Close> handle_;
    Interface interface_;
    const std::atomic<bool>* stop_ = nullptr;
    std::uint64_t received_ = 0;
};

} // namespace veriroce::capture
