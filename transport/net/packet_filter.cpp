#include "transport/net/packet_filter.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "dissector/wire/ethernet.hpp"
#include "dissector/wire/udp.hpp"

namespace veriroce::net {

namespace {

constexpr std::uint32_t kWholePacket = 0x40000;

constexpr std::uint16_t kLoadHalf = BPF_LD | BPF_H | BPF_ABS;
constexpr std::uint16_t kLoadHalfFromX = BPF_LD | BPF_H | BPF_IND;
constexpr std::uint16_t kLoadByteFromX = BPF_LD | BPF_B | BPF_IND;
constexpr std::uint16_t kSetX = BPF_LDX | BPF_W | BPF_IMM;

// Builds a program. Jumps go forward to the next place() with their label.
class Assembler {
  public:
    enum Label : std::uint8_t { Next, Accept, Type, Ipv4, Ipv4Udp, Ipv6, Ipv6Udp, Tagged, kLabels };

    void step(std::uint16_t code, std::uint32_t k = 0) { program_.push_back({code, 0, 0, k}); }
    void jump_if_equal(std::uint32_t k, Label to) { jump(BPF_JMP | BPF_JEQ | BPF_K, k, to); }
    void jump_if_set(std::uint32_t k, Label to) { jump(BPF_JMP | BPF_JSET | BPF_K, k, to); }
    void drop() { step(BPF_RET | BPF_K, 0); }

    void place(Label label) {
        for (auto& [from, to] : open_) {
            if (to != label) continue;
            program_[from].jt = static_cast<std::uint8_t>(program_.size() - from - 1);
            to = Next;
        }
    }

    std::vector<sock_filter> finish() {
        place(Accept);
        step(BPF_RET | BPF_K, kWholePacket);
        for (const auto& [from, to] : open_)
            assert(to == Next);
        return std::move(program_);
    }

  private:
    void jump(std::uint16_t code, std::uint32_t k, Label to) {
        open_.emplace_back(program_.size(), to);
        step(code, k);
    }

    std::vector<sock_filter> program_;
    std::vector<std::pair<std::size_t, Label>> open_;
};

constexpr std::uint32_t number(wire::EtherType type) {
    return std::to_underlying(type);
}

// Loads the EtherType, after at most one tag, into A, and the offset of its payload into X.
void load_type(Assembler& program) {
    program.step(kLoadHalf, 12);
    program.step(kSetX, 14);
    program.jump_if_equal(number(wire::EtherType::Vlan), Assembler::Tagged);
    program.step(BPF_JMP | BPF_JA, 2);
    program.place(Assembler::Tagged);
    program.step(kSetX, 18);
    program.step(kLoadHalf, 16);
}

} // namespace

std::vector<sock_filter> link_filter() {
    Assembler program;
    load_type(program);
    program.jump_if_equal(number(wire::EtherType::Ipv4), Assembler::Ipv4);
    program.jump_if_equal(number(wire::EtherType::Ipv6), Assembler::Ipv6);
    for (const auto type :
         {wire::EtherType::Arp, wire::EtherType::RoceV1, wire::EtherType::MacControl,
          wire::EtherType::Vlan, wire::EtherType::QinQ}) {
        program.jump_if_equal(number(type), Assembler::Accept);
    }
    program.drop();

    program.place(Assembler::Ipv4);
    program.step(kLoadByteFromX, 9); // protocol
    program.jump_if_equal(IPPROTO_ICMP, Assembler::Accept);
    program.jump_if_equal(IPPROTO_UDP, Assembler::Ipv4Udp);
    program.drop();
    program.place(Assembler::Ipv4Udp);
    program.step(kLoadHalfFromX, 6); // fragment offset
    program.jump_if_set(0x1FFF, Assembler::Accept);
    program.step(kLoadByteFromX, 0); // header length in words
    program.step(BPF_ALU | BPF_AND | BPF_K, 0xF);
    program.step(BPF_ALU | BPF_LSH | BPF_K, 2);
    program.step(BPF_ALU | BPF_ADD | BPF_X);
    program.step(BPF_MISC | BPF_TAX);
    program.step(kLoadHalfFromX, 2); // destination port
    program.jump_if_equal(wire::kRocePort, Assembler::Accept);
    program.drop();

    program.place(Assembler::Ipv6);
    program.step(kLoadByteFromX, 6); // next header
    program.jump_if_equal(IPPROTO_UDP, Assembler::Ipv6Udp);
    for (const auto next :
         {IPPROTO_ICMPV6, IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_DSTOPTS}) {
        program.jump_if_equal(static_cast<std::uint32_t>(next), Assembler::Accept);
    }
    program.drop();
    program.place(Assembler::Ipv6Udp);
    program.step(kLoadHalfFromX, 42); // destination port
    program.jump_if_equal(wire::kRocePort, Assembler::Accept);
    program.drop();
    return program.finish();
}

std::vector<sock_filter> neighbour_filter() {
    Assembler program;
    load_type(program);
    program.jump_if_equal(number(wire::EtherType::Arp), Assembler::Accept);
    program.jump_if_equal(number(wire::EtherType::Ipv6), Assembler::Ipv6);
    program.drop();
    program.place(Assembler::Ipv6);
    program.step(kLoadByteFromX, 6);
    program.jump_if_equal(IPPROTO_ICMPV6, Assembler::Accept);
    program.drop();
    return program.finish();
}

std::vector<sock_filter> drop_all_filter() {
    return {{BPF_RET | BPF_K, 0, 0, 0}};
}

int attach(int fd, std::vector<sock_filter> filter) {
    const sock_fprog program{static_cast<std::uint16_t>(filter.size()), filter.data()};
    const int refused = ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    return refused != 0 ? errno : 0;
}

} // namespace veriroce::net
