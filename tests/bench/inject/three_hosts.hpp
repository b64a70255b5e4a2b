// Two hosts and the bump between them, in network namespaces of their own, and the frames that one
// host sends to the other:
//
//     host_a --- bump_a (the caller) bump_b --- host_b
//
// One queue each, no addresses, no frames of their own. Needs root, iproute2 and ethtool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace veriroce::bench_test {

class ThreeHosts {
  public:
    // Throws Failure. The calling thread is where the bump is from now on.
    ThreeHosts();

    // Calls `work` at host_a or host_b.
    template <typename Work>
    auto at_a(Work work) const {
        return at(left_, work);
    }
    template <typename Work>
    auto at_b(Work work) const {
        return at(right_, work);
    }

    // Frames that host_b has received, by the kernel's count.
    [[nodiscard]] std::uint64_t received() const;

  private:
    class Visit {
      public:
        Visit(int there, int back);
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        ~Visit();

      private:
        int back_;
    };
    template <typename Work>
    auto at(int there, Work& work) const {
        const Visit visit(there, here_);
        return work();
    }

    int left_ = -1; // of namespaces; they live as long as the program
    int right_ = -1;
    int here_ = -1;
};

// Whether the shell's command succeeded; what it prints is left out.
bool succeeds(const std::string& command);
void must_succeed(const std::string& command);

// An RC SEND ONLY to QP 0x11, sealed; with another port than RoCE's it is none.
std::vector<std::byte> send_frame(std::size_t payload_bytes, std::uint32_t psn,
                                  std::uint16_t destination_port);

} // namespace veriroce::bench_test
