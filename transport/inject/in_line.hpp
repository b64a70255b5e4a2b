// The bump in its wire: two interfaces, and a loop that moves frames between them through a Bump.
//
//   auto line = InLine::open("eth1", "eth2", {});
//   while (...) line->step(bump, until, observer);
//
// While it is open, receive offloads of both interfaces are off, and both are promiscuous. Its
// destructor restores them; so does the next run after one that was killed.
//
// Errors: net::Error, one sentence.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "transport/inject/kernel_rules.hpp"
#include "transport/inject/observer.hpp"
#include "transport/inject/ports.hpp"
#include "transport/net/offloads.hpp"

namespace veriroce::inject {

enum class DataPath : std::uint8_t { Automatic, Native, Generic, Packet };

struct LineOptions {
    DataPath path = DataPath::Automatic;
    // What becomes of the traffic if the process is killed or hangs: it goes on without faults, or
    // (false) the bump blocks RoCEv2, and when the process is gone, everything. Needs XDP.
    bool forward_when_killed = false;
    // Rules of the plan that the kernel decides. Their packets do not come to the process: they
    // are neither measured nor observed. Needs XDP.
    KernelRules in_kernel = {};
    // PFC frames come to the process, too, which XDP otherwise passes in the kernel.
    bool takes_pfc = false;
};

class InLine {
  public:
    static std::expected<InLine, net::Error> open(const std::string& a, const std::string& b,
                                                  const LineOptions& options = {});

    // Waits until frames come, one is due to leave, or `until`; then moves all that are there, at
    // most one batch of each port. `observer` may be null.
    std::expected<void, net::Error> step(Bump& bump, wire::Instant until, Observer* observer);

    // "AF_PACKET, MTU 1500"
    [[nodiscard]] std::string path() const;
    // What the interfaces say; 10 Gb/s if they say nothing.
    [[nodiscard]] double bits_per_second() const { return bits_per_second_; }
    // Lines for users about what was changed or chosen, and what is in the way.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
    PortCounts counts(End end) { return ports_->counts(end); }
    // Adds what the kernel did by rules since the last call.
    void collect(Bump& bump);
    // Restores the interfaces and reports whether that worked.
    std::expected<void, net::Error> close();

  private:
    InLine() = default;
    std::expected<void, net::Error> take(End from, Bump& bump, Observer* observer);
    void send_due(Bump& bump, Observer* observer);
    void send_all(const Arrival* arrival, wire::Instant now, Observer* observer);
    void consider(const Bump& bump, std::uint64_t connection);

    std::vector<net::Descriptor> locks_;
    std::vector<net::Offloads> offloads_;
    std::unique_ptr<Ports> ports_; // closed before the offloads are put back
    std::string a_name_;
    std::string b_name_;
    std::vector<std::string> notes_;
    std::size_t mtu_ = 0;
    double bits_per_second_ = 10e9;
    std::vector<Leaving> leaving_;
    std::vector<bool>
        considered_; // connections of which it is decided whether a rule concerns them
    std::vector<BypassPath> to_bypass_;
    std::vector<std::size_t> kernel_places_; // in the plan, of the rules that the kernel decides
    std::vector<fault::Fired> collected_;
    bool emptied_ = false; // the last batches left nothing behind
};

} // namespace veriroce::inject
