// An RDMA device through libibverbs, opened for one connection: every method of the contract is one
// or a few verbs. Only the verbs backend includes this header.
//
// When the connection ends, the objects are destroyed in the order that the verbs require. The
// session does all waiting: descriptors of events and completions are read without blocking.
// qp_modify, and post_send to a new UD destination, may block while the kernel resolves a
// neighbour.
#pragma once

#include <infiniband/verbs.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "conformance/agent/congestion_files.hpp"
#include "conformance/agent/kernel_connections.hpp"
#include "conformance/agent/posted_requests.hpp"
#include "conformance/dut/budget.hpp"
#include "conformance/dut/executor.hpp"
#include "conformance/dut/region_memory.hpp"

namespace veriroce::agent {

template <auto Destroy>
struct Destroyed {
    template <typename T>
    void operator()(T* object) const {
        static_cast<void>(Destroy(object));
    }
};
using ContextPtr = std::unique_ptr<ibv_context, Destroyed<ibv_close_device>>;
using PdPtr = std::unique_ptr<ibv_pd, Destroyed<ibv_dealloc_pd>>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroyed<ibv_destroy_comp_channel>>;
using CqPtr = std::unique_ptr<ibv_cq, Destroyed<ibv_destroy_cq>>;
using MrPtr = std::unique_ptr<ibv_mr, Destroyed<ibv_dereg_mr>>;
using SrqPtr = std::unique_ptr<ibv_srq, Destroyed<ibv_destroy_srq>>;
using AhPtr = std::unique_ptr<ibv_ah, Destroyed<ibv_destroy_ah>>;
using QpPtr = std::unique_ptr<ibv_qp, Destroyed<ibv_destroy_qp>>;
// ibv_dealloc_mw is a static function of its header: as a template argument it would make every
// type that uses it local to one file.
struct Deallocated {
    void operator()(ibv_mw* mw) const { static_cast<void>(ibv_dealloc_mw(mw)); }
};
using MwPtr = std::unique_ptr<ibv_mw, Deallocated>;

// The answer to hello, except version and limits. It tries what the device claims. In
// verbs_report.cpp.
dut::Welcome describe(ibv_context& context);
// How much memory the kernel lets this process lock; nothing if it may lock all.
std::optional<std::uint64_t> lockable_bytes();
// Every counter that the kernel shows for the device's ports, by the name of its file.
std::map<std::string, std::uint64_t> read_counters(const std::string& device);

class VerbsDevice final : public dut::Executor {
  public:
    // The backend owns the budget, which all connections share.
    VerbsDevice(ContextPtr context, dut::Budget& budget);
    ~VerbsDevice() override;

    dut::Answer execute(const dut::Request& request, wire::Instant now) override;

  private:
    static constexpr std::size_t max_events = 4096;        // beyond it the oldest is lost
    static constexpr std::uint32_t max_completions = 4096; // per poll

    struct Cq {
        ChannelPtr channel; // destroyed after its queue
        CqPtr cq;
        bool overrun = false;
    };
    struct Region {
        dut::RegionMemory memory; // unmapped after deregistration
        MrPtr mr;
        std::uint64_t address = 0; // of the first byte, as the device reports it
        std::uint64_t length = 0;
    };
    struct UdAddress {
        dut::UdDestination to; // without the QP and its key, which are no part of the handle
        AhPtr ah;
    };
    struct Qp {
        QpPtr qp;
        ibv_pd* pd = nullptr;
        std::uint8_t port = 1;                           // of the last qp_modify that named one
        std::vector<UdAddress> destinations;             // of a UD QP, in the order of first use
        std::optional<KernelConnections::Id> connection; // that was accepted for it
    };

    dut::Answer carry_out(const dut::Hello& request, wire::Instant now);
    dut::Answer carry_out(const dut::PdCreate& request, wire::Instant now);
    dut::Answer carry_out(const dut::PdDestroy& request, wire::Instant now);
    dut::Answer carry_out(const dut::CqCreate& request, wire::Instant now);
    dut::Answer carry_out(const dut::CqDestroy& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrRegister& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrRead& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrWrite& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrFill& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrDigest& request, wire::Instant now);
    dut::Answer carry_out(const dut::MrDeregister& request, wire::Instant now);
    dut::Answer carry_out(const dut::QpCreate& request, wire::Instant now);
    dut::Answer carry_out(const dut::QpDestroy& request, wire::Instant now);
    dut::Answer carry_out(const dut::QpModify& request, wire::Instant now);
    dut::Answer carry_out(const dut::QpQuery& request, wire::Instant now);
    dut::Answer carry_out(const dut::PostSend& request, wire::Instant now);
    dut::Answer carry_out(const dut::PostRecv& request, wire::Instant now);
    dut::Answer carry_out(const dut::Poll& request, wire::Instant now);
    dut::Answer carry_out(const dut::Counters& request, wire::Instant now);
    dut::Answer carry_out(const dut::Cancel& request, wire::Instant now);
    dut::Answer carry_out(const dut::Reset& request, wire::Instant now);
    dut::Answer carry_out(const dut::Ping& request, wire::Instant now);
    dut::Answer carry_out(const dut::Events& request, wire::Instant now);
    dut::Answer carry_out(const dut::CqArm& request, wire::Instant now);
    dut::Answer carry_out(const dut::CqWait& request, wire::Instant now);
    dut::Answer carry_out(const dut::SrqCreate& request, wire::Instant now);
    dut::Answer carry_out(const dut::SrqModify& request, wire::Instant now);
    dut::Answer carry_out(const dut::SrqPost& request, wire::Instant now);
    dut::Answer carry_out(const dut::SrqDestroy& request, wire::Instant now);
    dut::Answer carry_out(const dut::MwAlloc& request, wire::Instant now);
    dut::Answer carry_out(const dut::MwBind& request, wire::Instant now);
    dut::Answer carry_out(const dut::MwDealloc& request, wire::Instant now);
    dut::Answer carry_out(const dut::CongestionGet& request, wire::Instant now);
    dut::Answer carry_out(const dut::CongestionSet& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmListen& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmEvents& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmQpAttributes& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmAccept& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmReject& request, wire::Instant now);
    dut::Answer carry_out(const dut::CmDisconnect& request, wire::Instant now);

    void destroy_all();
    void drain_events(wire::Instant now);
    void take_event(const ibv_async_event& event, wire::Instant now);

    // A chain of work requests for the verbs: arrays that point into one another.
    struct SendChain {
        std::vector<std::vector<ibv_sge>> sges;
        std::vector<ibv_send_wr> requests;
    };
    struct RecvChain {
        std::vector<std::vector<ibv_sge>> sges;
        std::vector<ibv_recv_wr> requests;
    };
    std::expected<std::vector<ibv_sge>, dut::Failure> translate(const std::vector<dut::Sge>& sges,
                                                                bool inline_data) const;
    std::expected<ibv_send_wr, dut::Failure> translate(const dut::SendRequest& request, Qp& qp);
    std::expected<RecvChain, dut::Failure>
    translate(const std::vector<dut::ReceiveRequest>& requests, dut::QpHandle qp);
    std::expected<ibv_mw_bind_info, dut::Failure> translate(const dut::Bind& bind) const;
    std::expected<ibv_ah*, dut::Failure> destination(const dut::UdDestination& ud, Qp& qp);
    std::optional<dut::Completion> translate(const ibv_wc& wc, wire::Instant now);

    // The kernel's number for one of this caller's connections.
    [[nodiscard]] std::expected<KernelConnections::Id, dut::Failure>
    id_of(std::string_view method, dut::ConnectionHandle handle) const;

    template <typename Handle>
    Handle next_handle() {
        return Handle{next_handle_++};
    }

    ContextPtr context_;
    dut::Budget& budget_;
    std::map<dut::PdHandle, PdPtr> pds_;
    std::map<dut::CqHandle, Cq> cqs_;
    std::map<dut::SrqHandle, SrqPtr> srqs_;
    std::map<dut::MrHandle, Region> regions_;
    std::map<dut::MwHandle, MwPtr> mws_;
    std::map<dut::QpHandle, Qp> qps_;
    std::map<std::uint32_t, dut::QpHandle> qp_by_number_;
    PostedRequests posted_requests_;
    CongestionFiles congestion_;
    KernelConnections connections_;
    std::set<dut::ConnectionHandle> requested_;
    std::deque<dut::Event> events_;
    std::uint64_t next_handle_ =
        1; // one sequence for all kinds, so that a handle of another kind is never found
};

// The object with this handle, or nothing.
template <typename Map, typename Handle>
auto* find_in(Map& map, Handle handle) {
    const auto found = map.find(handle);
    return found == map.end() ? nullptr : &found->second;
}

} // namespace veriroce::agent
