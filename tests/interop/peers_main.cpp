// Two devices, each behind its agent, work with each other: RDMA WRITE, READ, SEND and atomics of
// every length class in both directions, and every byte is compared through the agents.
//
//   interop_peers AGENT TOKEN-FILE AGENT TOKEN-FILE IP-VERSION MTU
//
// Exit codes: 0 all as it should be, 1 something was not (said on stderr), 2 usage, 3 no agent.
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "conformance/dut/remote_dut.hpp"
#include "transport/net/clock.hpp"

namespace {

using namespace veriroce;
using namespace std::chrono_literals;

constexpr std::uint64_t region_bytes = 1U << 20U;
constexpr std::uint64_t guard = 64; // bytes around each target that must stay as they were

struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A device with one region, one CQ and one QP.
class Device {
  public:
    Device(const std::string& agent, const std::string& token_file) {
        std::ifstream stream(token_file);
        std::string token;
        std::getline(stream, token);
        const auto where = net::LineAddress::parse(agent);
        if (!where) throw std::invalid_argument(where.error().text);
        auto dut = dut::RemoteDut::connect(*where, token, net::monotonic_now() + 10s);
        if (!dut) throw std::invalid_argument(dut.error());
        dut_ = std::move(*dut);
        name = dut_->welcome().name + " " + dut_->welcome().backend;
    }

    template <typename Call>
    typename Call::Gives ask(Call call) {
        const auto id = dut_->submit(std::move(call), net::monotonic_now());
        while (true) {
            if (auto reply = dut_->poll(net::monotonic_now())) {
                if (reply->call != id) throw Wrong(name + ": an answer to another call");
                if (!reply->answer) {
                    throw Wrong(fmt::format("{}: {}: {} {}", name, Call::method,
                                            reply->answer.error().message,
                                            reply->answer.error().errno_name));
                }
                return std::get<typename Call::Gives>(*reply->answer);
            }
            pollfd waiting{.fd = dut_->descriptor(), .events = POLLIN, .revents = 0};
            ::poll(&waiting, 1, 100);
        }
    }

    void prepare(bool v4) {
        for (const dut::Gid& gid : dut_->welcome().ports.front().gids) {
            const bool link_local = !gid.address.v4() && gid.address.bytes[0] == std::byte{0xFE};
            if (gid.type != "rocev2" || gid.address.v4() != v4 || link_local) continue;
            address = gid.address;
            gid_index = gid.index;
            break;
        }
        if (address == wire::IpAddress{}) {
            throw Wrong(fmt::format("{} has no IPv{} address", name, v4 ? 4 : 6));
        }
        const auto pd = ask(dut::PdCreate{}).pd;
        cq = ask(dut::CqCreate{.depth = 256}).cq;
        region = ask(dut::MrRegister{.pd = pd,
                                     .length = region_bytes,
                                     .access = {.local_write = true,
                                                .remote_write = true,
                                                .remote_read = true,
                                                .remote_atomic = true}});
        const auto created = ask(
            dut::QpCreate{.pd = pd, .send_cq = cq, .recv_cq = cq, .max_send = 64, .max_recv = 64});
        qp = created.qp;
        qpn = created.qpn;
    }

    // From RESET to RTS with this peer; PSNs wrap soon.
    void connect(const Device& peer, wire::Mtu mtu) {
        ask(dut::QpModify{.qp = qp,
                          .attributes = {.state = engine::QpState::Init,
                                         .access = engine::Access{.local_write = true,
                                                                  .remote_write = true,
                                                                  .remote_read = true,
                                                                  .remote_atomic = true},
                                         .pkey_index = 0,
                                         .port_num = 1}});
        ask(dut::QpModify{
            .qp = qp,
            .attributes = {.state = engine::QpState::Rtr,
                           .address_vector = dut::AddressVector{.gid_index = gid_index,
                                                                .address = peer.address,
                                                                .hop_limit = 64},
                           .path_mtu = mtu,
                           .rq_psn = peer.psn,
                           .min_rnr_timer = 12,
                           .max_dest_rd_atomic = 4,
                           .dest_qp_num = peer.qpn}});
        ask(dut::QpModify{.qp = qp,
                          .attributes = {.state = engine::QpState::Rts,
                                         .timeout = 14,
                                         .retry_cnt = 7,
                                         .rnr_retry = 7,
                                         .max_rd_atomic = 4,
                                         .sq_psn = psn}});
    }

    void fill(std::uint64_t offset, std::uint64_t length, std::uint64_t key) {
        ask(dut::MrFill{.mr = region.mr,
                        .offset = offset,
                        .length = length,
                        .pattern = dut::Pattern::Random,
                        .key = key});
    }
    std::vector<std::byte> read(std::uint64_t offset, std::uint64_t length) {
        return ask(dut::MrRead{.mr = region.mr, .offset = offset, .length = length}).data;
    }

    // Posts requests and waits until all have completed well.
    void carry_out(std::vector<dut::SendRequest> requests) {
        const std::size_t count = requests.size();
        ask(dut::PostSend{.qp = qp, .requests = std::move(requests)});
        complete(count);
    }
    void complete(std::size_t count) {
        while (count > 0) {
            const auto polled = ask(dut::Poll{.cq = cq, .wait_ms = 20'000});
            if (polled.completions.empty()) throw Wrong(name + ": no completion within 20 s");
            for (const dut::Completion& one : polled.completions) {
                if (one.status != engine::WcStatus::Success) {
                    throw Wrong(fmt::format("{}: request {} completed with {}", name, one.id,
                                            engine::name_of(one.status)));
                }
                --count;
            }
        }
    }

    std::string name;
    wire::IpAddress address;
    std::uint32_t gid_index = 0;
    dut::CqHandle cq;
    dut::QpHandle qp;
    wire::Qpn qpn;
    wire::Psn psn{0xFFFFF0};
    dut::MrRegistered region;

  private:
    std::unique_ptr<dut::RemoteDut> dut_;
};

void compare(const std::vector<std::byte>& is, const std::vector<std::byte>& should_be,
             const std::string& what) {
    for (std::size_t i = 0; i < should_be.size(); ++i) {
        if (i < is.size() && is[i] == should_be[i]) continue;
        throw Wrong(
            fmt::format("{}: byte {} of {} is not what it should be", what, i, should_be.size()));
    }
}

// One transfer between two regions; the bytes around the target must not change.
void transfer(Device& asking, Device& other, engine::WrOpcode opcode, std::uint64_t length,
              std::uint64_t key) {
    constexpr std::uint64_t at = guard + 8;
    const bool reads = opcode == engine::WrOpcode::RdmaRead;
    Device& source = reads ? other : asking;
    Device& target = reads ? asking : other;
    source.fill(0, length + 2 * at, 2 * key);
    target.fill(0, length + 2 * at, 2 * key + 1);
    auto wanted = target.read(0, length + 2 * at);
    const auto data = source.read(at, length);
    std::copy(data.begin(), data.end(), wanted.begin() + at);

    dut::SendRequest request{.id = key, .opcode = opcode, .flags = {.signaled = true}};
    if (length > 0) {
        request.sge.push_back(
            {.mr = asking.region.mr, .offset = at, .length = static_cast<std::uint32_t>(length)});
    }
    const bool sends = opcode == engine::WrOpcode::Send;
    if (sends) {
        dut::ReceiveRequest receive{.id = key};
        if (length > 0) {
            receive.sge.push_back({.mr = other.region.mr,
                                   .offset = at,
                                   .length = static_cast<std::uint32_t>(length)});
        }
        other.ask(dut::PostRecv{.qp = other.qp, .requests = {receive}});
    } else {
        request.remote_address = other.region.address + at;
        request.rkey = other.region.rkey;
    }
    asking.carry_out({request});
    if (sends) other.complete(1);
    compare(target.read(0, length + 2 * at), wanted,
            fmt::format("{} of {} bytes by {}", engine::name_of(opcode), length, asking.name));
}

// Atomics in a chain: each sees what the one before it left, and the target ends as their sum.
void atomics(Device& asking, Device& other) {
    constexpr std::uint64_t count = 32;
    constexpr std::uint64_t target = 4096;
    other.ask(dut::MrFill{.mr = other.region.mr, .offset = target, .length = 8});
    std::vector<dut::SendRequest> requests;
    for (std::uint64_t i = 0; i < count; ++i) {
        dut::SendRequest request{.id = i, .flags = {.signaled = true}};
        request.sge.push_back({.mr = asking.region.mr, .offset = 8 * i, .length = 8});
        request.remote_address = other.region.address + target;
        request.rkey = other.region.rkey;
        if (i % 2 == 0) {
            request.opcode = engine::WrOpcode::AtomicFetchAndAdd;
            request.add = i + 1;
        } else {
            request.opcode = engine::WrOpcode::AtomicCmpAndSwp;
            request.compare = i; // what the add before it left
            request.swap = i + 1;
        }
        requests.push_back(request);
    }
    asking.carry_out(std::move(requests));
    // add 1 -> 1; 1 becomes 2; add 3 -> 5; compare with 3 fails ...: the same in plain C++.
    std::uint64_t value = 0;
    const auto seen = asking.read(0, 8 * count);
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t original = 0;
        std::memcpy(&original, seen.data() + 8 * i, 8);
        if (original != value) {
            throw Wrong(fmt::format("atomic {} by {} returned {}, expected {}", i, asking.name,
                                    original, value));
        }
        if (i % 2 == 0)
            value += i + 1;
        else if (value == i)
            value = i + 1;
    }
    std::uint64_t final_value = 0;
    std::memcpy(&final_value, other.read(target, 8).data(), 8);
    if (final_value != value) {
        throw Wrong(fmt::format("{} atomics by {} left {}, expected {}", count, asking.name,
                                final_value, value));
    }
}

int play(const std::vector<std::string>& words) {
    const auto mtu_bytes = static_cast<std::uint16_t>(std::stoi(words[5]));
    const auto mtu = static_cast<wire::Mtu>(mtu_bytes);
    const bool v4 = words[4] == "4";
    Device one(words[0], words[1]);
    Device two(words[2], words[3]);
    one.prepare(v4);
    two.prepare(v4);
    one.connect(two, mtu);
    two.connect(one, mtu);
    const std::array<std::uint64_t, 12> lengths{
        0,     1,      3,      4, 255, mtu_bytes - 1U, mtu_bytes, mtu_bytes + 1U, 2U * mtu_bytes,
        5'000, 65'537, 300'000};
    std::uint64_t key = 1;
    std::size_t done = 0;
    for (const auto& [asking, other] : {std::pair{&one, &two}, std::pair{&two, &one}}) {
        for (const auto opcode :
             {engine::WrOpcode::RdmaWrite, engine::WrOpcode::RdmaRead, engine::WrOpcode::Send}) {
            for (const std::uint64_t length : lengths) {
                transfer(*asking, *other, opcode, length, key++);
                ++done;
            }
        }
        atomics(*asking, *other);
        done += 32;
    }
    fmt::print("{} and {}, IPv{}, MTU {}: {} requests, every byte right\n", one.name, two.name,
               words[4], mtu_bytes, done);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() != 6) {
        fmt::print(stderr, "usage: interop_peers AGENT TOKEN-FILE AGENT TOKEN-FILE 4|6 MTU\n");
        return 2;
    }
    try {
        return play(words);
    } catch (const Wrong& wrong) {
        fmt::print(stderr, "interop_peers: {}\n", wrong.what());
        return 1;
    } catch (const std::exception& error) {
        fmt::print(stderr, "interop_peers: {}\n", error.what());
        return 3;
    }
}
