// Live capture from an interface, through libpcap.
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
#include <vector>

#include "dissector/capture/record.hpp"

namespace veriroce::capture {

// The names of this host's interfaces, sorted.
std::vector<std::string> interfaces_here();

struct LiveOptions {
    std::string interface;
    std::string filter; // applied by the kernel; empty: capture everything
    std::uint32_t snap_length = 262'144;
    std::uint32_t buffer_mib = 16; // size of the kernel's ring buffer
    bool promiscuous = true;
    bool immediate = false; // deliver each packet at once, not in blocks
    // Set by a signal handler or another thread; next() then returns Stopped.
    const std::atomic<bool>* stop = nullptr;
};

class Live {
  public:
    // The error is a message for users: unknown interface (with a list of those that exist), not
    // permitted, interface down, invalid filter.
    static std::expected<Live, std::string> open(const LiveOptions& options);

    // Packet: `record` is filled and valid until the next call. Soon: nothing was ready, but data
    // has just arrived; call again. Idle: nothing arrived for a while, a good moment to flush
    // output. Stopped: `stop` was set.
    enum class Got : std::uint8_t { Packet, Soon, Idle, Stopped };
    // The error is a message for users: the interface disappeared or went down.
    std::expected<Got, std::string> next(Record& record);

    // Always one, with the interface's name and link type.
    [[nodiscard]] std::span<const Interface> interfaces() const { return {&interface_, 1}; }

    struct Counts {
        std::uint64_t received = 0;          // delivered to the caller
        std::uint64_t dropped = 0;           // because the ring buffer was full
        std::uint64_t interface_dropped = 0; // by the interface or its driver
    };
    // Totals since open().
    [[nodiscard]] Counts counts() const;

  private:
    struct Close {
        void operator()(void* handle) const;
    };

    Live() = default;
    // A pcap_t. It is a void* so that libpcap's header stays out of ours.
    std::unique_ptr<void, Close> handle_;
    Interface interface_;
    const std::atomic<bool>* stop_ = nullptr;
    std::uint64_t received_ = 0;
};

} // namespace veriroce::capture
