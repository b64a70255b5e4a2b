// Executes the contract's requests on our own engine, in memory. It is the device of the built-in
// DUT in virtual time and of the agent's engine backend.
//
// One EngineDevice is one user of an engine: it sees only its own objects, and its destructor
// destroys them. Several can share an engine; then the owner of the engine passes each event to the
// device whose object it names (`offer`).
//
// Regions get virtual addresses that count up from 0x1000000000, so that two runs with the same
// seed are equal to the byte. Refusals are the engine's VerbError by its errno name; an unknown
// handle, a range beyond a region and a GID or P_Key index that the port does not have are -32602
// or EINVAL as conformance/agent/README.md says.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/dut/budget.hpp"
#include "conformance/dut/executor.hpp"
#include "conformance/dut/region_memory.hpp"
#include "transport/engine/engine.hpp"
#include "transport/engine/management_host.hpp"
#include "transport/engine/surface_filter.hpp"

namespace veriroce::dut {

// Properties of the device that the engine does not know.
struct EngineDeviceDescription {
    std::string name = "veriroce";
    std::string device = "engine0";
    std::string firmware = "built-in";
    std::uint8_t port = 1;
    std::uint32_t least_cqe = 0; // smaller completion queues become so large
    wire::MacAddress mac;
    wire::Mtu mtu_active = wire::Mtu::B4096;
    std::vector<wire::IpAddress> addresses; // one RoCEv2 GID each, in this order
    std::vector<wire::VlanId> vlans;        // one more GID in each of these
    std::vector<wire::Pkey> pkeys{wire::kDefaultPkey};
    std::vector<std::string> traits;
};

class EngineDevice final : public Executor {
  public:
    // The caller owns all three, and they must outlive the device. A filter changes what the device
    // makes of the host's requests, and what the host sees of completions and events.
    EngineDevice(engine::Engine& engine, Budget& budget, EngineDeviceDescription description,
                 engine::SurfaceFilter* filter = nullptr);
    ~EngineDevice() override;

    Answer execute(const Request& request, wire::Instant now) override;

    // Takes an event if it names an object of this device.
    bool offer(const engine::Event& event, wire::Instant now);
    // Its host's connection management, which must outlive the device and is asked for when it
    // listens first; without it the device has no capability `cm`.
    using Management = std::function<engine::ManagementHost&(wire::Instant now)>;
    void use(Management management) { management_ = std::move(management); }
    // Destroys every object, as `reset` does.
    void destroy_all();

  private:
    static constexpr std::size_t max_events = 4096; // beyond it the oldest is lost

    struct Region {
        RegionMemory memory;
        std::uint64_t address = 0;
        std::uint64_t length = 0;
        wire::Lkey lkey;
    };
    struct Window {
        std::uint8_t type = 1;
        wire::Rkey rkey; // from the last bind, even if it is not yet complete
    };
    struct Qp {
        wire::Qpn qpn;
        QpAttributes told; // known only to this side: indices and the GID
        bool shared_receives = false;
    };

    Answer carry_out(const Hello& request, wire::Instant now);
    Answer carry_out(const PdCreate& request, wire::Instant now);
    Answer carry_out(const PdDestroy& request, wire::Instant now);
    Answer carry_out(const CqCreate& request, wire::Instant now);
    Answer carry_out(const CqDestroy& request, wire::Instant now);
    Answer carry_out(const MrRegister& request, wire::Instant now);
    Answer carry_out(const MrRead& request, wire::Instant now);
    Answer carry_out(const MrWrite& request, wire::Instant now);
    Answer carry_out(const MrFill& request, wire::Instant now);
    Answer carry_out(const MrDigest& request, wire::Instant now);
    Answer carry_out(const MrDeregister& request, wire::Instant now);
    Answer carry_out(const QpCreate& request, wire::Instant now);
    Answer carry_out(const QpDestroy& request, wire::Instant now);
    Answer carry_out(const QpModify& request, wire::Instant now);
    Answer carry_out(const QpQuery& request, wire::Instant now);
    Answer carry_out(const PostSend& request, wire::Instant now);
    Answer carry_out(const PostRecv& request, wire::Instant now);
    Answer carry_out(const Poll& request, wire::Instant now);
    Answer carry_out(const Counters& request, wire::Instant now);
    Answer carry_out(const Cancel& request, wire::Instant now);
    Answer carry_out(const Reset& request, wire::Instant now);
    Answer carry_out(const Ping& request, wire::Instant now);
    Answer carry_out(const Events& request, wire::Instant now);
    Answer carry_out(const CqArm& request, wire::Instant now);
    Answer carry_out(const CqWait& request, wire::Instant now);
    Answer carry_out(const SrqCreate& request, wire::Instant now);
    Answer carry_out(const SrqModify& request, wire::Instant now);
    Answer carry_out(const SrqPost& request, wire::Instant now);
    Answer carry_out(const SrqDestroy& request, wire::Instant now);
    Answer carry_out(const MwAlloc& request, wire::Instant now);
    Answer carry_out(const MwBind& request, wire::Instant now);
    Answer carry_out(const MwDealloc& request, wire::Instant now);
    Answer carry_out(const CongestionGet& request, wire::Instant now);
    Answer carry_out(const CongestionSet& request, wire::Instant now);
    Answer carry_out(const CmListen& request, wire::Instant now);
    Answer carry_out(const CmEvents& request, wire::Instant now);
    Answer carry_out(const CmQpAttributes& request, wire::Instant now);
    Answer carry_out(const CmAccept& request, wire::Instant now);
    Answer carry_out(const CmReject& request, wire::Instant now);
    Answer carry_out(const CmDisconnect& request, wire::Instant now);

    // Of one of this device's connections.
    [[nodiscard]] std::expected<const engine::ConnectionOffer*, Failure>
    offer_of(std::string_view method, ConnectionHandle handle) const;

    // The next one that the host sees.
    std::optional<engine::Completion> next_completion(CqHandle cq);

    [[nodiscard]] std::expected<engine::QpAttributes, Failure>
    translate(const QpModify& request, const engine::QpReport& now) const;
    // N-24; `from.alt_address_vector` must be set.
    [[nodiscard]] std::expected<engine::AlternatePath, Failure>
    alternate_path(const QpAttributes& from) const;
    [[nodiscard]] std::expected<engine::AddressVector, Failure>
    translate(const AddressVector& vector, std::string_view name) const;
    // The VLAN of a GID.
    [[nodiscard]] std::optional<wire::VlanId> vlan_of(std::uint32_t gid_index) const;
    [[nodiscard]] std::expected<std::vector<engine::Sge>, Failure>
    translate(const std::vector<Sge>& sges) const;
    // A chain with the SGEs that it points to.
    template <typename Work>
    struct Chain {
        std::vector<std::vector<engine::Sge>> sges;
        std::vector<Work> requests;
    };
    [[nodiscard]] std::expected<Chain<engine::ReceiveRequest>, Failure>
    translate(const std::vector<ReceiveRequest>& requests) const;
    [[nodiscard]] std::expected<engine::SendRequest, Failure>
    translate(const SendRequest& request) const;
    [[nodiscard]] std::expected<engine::BindInfo, Failure> translate(const Bind& bind) const;
    // The window of a BIND_MW and its new range.
    [[nodiscard]] std::expected<void, Failure> add_bind(const SendRequest& from,
                                                        engine::SendRequest& to) const;

    engine::Engine& engine_;
    Budget& budget_;
    EngineDeviceDescription description_;
    engine::SurfaceFilter* filter_;
    Management management_;
    // While it listens.
    engine::Connections* connections_ = nullptr;
    engine::ServiceId service_;
    std::set<PdHandle> pds_;
    std::set<CqHandle> cqs_;
    std::map<MrHandle, Region> regions_;
    std::map<QpHandle, Qp> qps_;
    std::set<SrqHandle> srqs_;
    std::map<MwHandle, Window> windows_;
    std::deque<Event> events_;
    std::optional<engine::Congestion> congestion_before_;      // this user changed it
    std::map<CqHandle, std::deque<engine::Completion>> shown_; // by a filter, and not yet polled
    // A region ends at a 4 GiB border, or goes on beyond it.
    static constexpr std::uint64_t kRegionSpacing = 0x1'0000'0000;
    std::uint64_t next_address_ = 0x10'0000'0000 - RegionMemory::page_bytes;
};

} // namespace veriroce::dut
