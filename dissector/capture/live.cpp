#include "dissector/capture/live.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include <net/if.h>
#include <poll.h>

#include <pcap/pcap.h>

namespace veriroce::capture {
namespace {

constexpr int kBlockMilliseconds = 100; // a partly filled block is delivered after this time
constexpr int kIdleMilliseconds = 200;
constexpr std::uint32_t kLargestRingMib = 2047; // libpcap counts bytes in an int

pcap_t* pcap(void* handle) {
    return static_cast<pcap_t*>(handle);
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string why_not(int result, void* handle, const std::string& name) {
    switch (result) {
    case PCAP_ERROR_NO_SUCH_DEVICE:
        return "there is no interface \"" + name + "\": this host has " + listed(interfaces_here());
    case PCAP_ERROR_PERM_DENIED:
    case PCAP_ERROR_PROMISC_PERM_DENIED:
        return "capturing on " + name +
               " needs CAP_NET_RAW: run as root, or setcap cap_net_raw,cap_net_admin+ep on the "
               "program";
    case PCAP_ERROR_IFACE_NOT_UP:
        return "interface " + name + " is down: ip link set " + name + " up";
    default: break;
    }
    const std::string words = ::pcap_geterr(pcap(handle));
    return name + ": " + (words.empty() ? ::pcap_statustostr(result) : words);
}

// Options that must be set before activation.
void prepare(pcap_t* handle, const LiveOptions& options) {
    ::pcap_set_snaplen(handle, static_cast<int>(options.snap_length));
    ::pcap_set_promisc(handle, options.promiscuous ? 1 : 0);
    ::pcap_set_timeout(handle, kBlockMilliseconds);
    ::pcap_set_immediate_mode(handle, options.immediate ? 1 : 0);
    ::pcap_set_buffer_size(
        handle, static_cast<int>(std::min(options.buffer_mib, kLargestRingMib) * 1024U * 1024U));
    ::pcap_set_tstamp_precision(handle, PCAP_TSTAMP_PRECISION_NANO);
}

std::string set_filter(pcap_t* handle, const std::string& expression) {
    ::bpf_program code{};
    if (::pcap_compile(handle, &code, expression.c_str(), 1, PCAP_NETMASK_UNKNOWN) != 0) {
        return ::pcap_geterr(handle);
    }
    const int result = ::pcap_setfilter(handle, &code);
    ::pcap_freecode(&code);
    return result == 0 ? "" : ::pcap_geterr(handle);
}

} // namespace

std::vector<std::string> interfaces_here() {
    struct if_nameindex* all = ::if_nameindex();
    if (all == nullptr) return {};
    std::set<std::string> sorted; // the kernel's order may change
    for (const auto* one = all; one->if_index != 0; ++one)
        sorted.emplace(one->if_name);
    ::if_freenameindex(all);
    return {sorted.begin(), sorted.end()};
}

void Live::Close::operator()(void* handle) const {
    ::pcap_close(pcap(handle));
}

std::expected<Live, std::string> Live::open(const LiveOptions& options) {
    std::array<char, PCAP_ERRBUF_SIZE> words{};
    Live live;
    live.handle_.reset(::pcap_create(options.interface.c_str(), words.data()));
    if (!live.handle_) return std::unexpected(options.interface + ": " + words.data());
    pcap_t* handle = pcap(live.handle_.get());
    prepare(handle, options);
    const int result = ::pcap_activate(handle);
    if (result < 0) return std::unexpected(why_not(result, handle, options.interface));
    if (!options.filter.empty()) {
        const std::string wrong = set_filter(handle, options.filter);
        if (!wrong.empty()) return std::unexpected("-f: " + wrong);
    }
    if (::pcap_setnonblock(handle, 1, words.data()) != 0) {
        return std::unexpected(options.interface + ": " + words.data());
    }
    live.interface_.link_code = static_cast<std::uint16_t>(::pcap_datalink(handle));
    live.interface_.snap_length = static_cast<std::uint32_t>(::pcap_snapshot(handle));
    live.interface_.name = options.interface;
    live.stop_ = options.stop;
    return live;
}

std::expected<Live::Got, std::string> Live::next(Record& record) {
    if (stop_ != nullptr && stop_->load()) return Got::Stopped;
    pcap_t* handle = pcap(handle_.get());
    ::pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    const int result = ::pcap_next_ex(handle, &header, &bytes);
    if (result < 0) {
        return std::unexpected(interface_.name + ": " + ::pcap_geterr(handle));
    }
    if (result == 0) {
        // A signal interrupts the wait; the next call then sees the stop flag.
        ::pollfd wait{.fd = ::pcap_get_selectable_fd(handle), .events = POLLIN, .revents = 0};
        return ::poll(&wait, 1, kIdleMilliseconds) > 0 ? Got::Soon : Got::Idle;
    }
    ++received_;
    record = {};
    record.time_ns = std::int64_t{header->ts.tv_sec} * 1'000'000'000 + header->ts.tv_usec;
    record.link_code = interface_.link_code;
    record.original_length = header->len;
    record.bytes = std::as_bytes(std::span(bytes, header->caplen));
    return Got::Packet;
}

Live::Counts Live::counts() const {
    ::pcap_stat stat{};
    Counts counts{.received = received_};
    if (::pcap_stats(pcap(handle_.get()), &stat) == 0) {
        counts.dropped = stat.ps_drop;
        counts.interface_dropped = stat.ps_ifdrop;
    }
    return counts;
}

} // namespace veriroce::capture
