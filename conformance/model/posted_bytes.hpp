// What the application of the device wrote to its regions: the bytes that requests send.
//
// A region that anything else may have changed (a request of the tester, a receive, a READ or an
// atomic of the device) is not known any more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "conformance/model/story.hpp"

namespace veriroce::model {

class PostedBytes {
  public:
    // A call that the device carries out from now on.
    void take(const Call& call);
    // A packet of the tester: it may write to a region.
    void take(const Packet& packet);

    // The bytes of a chain of pieces, as they are when it is posted, and as the application changes
    // them later.
    struct Piece {
        dut::MrHandle mr;
        std::uint64_t offset = 0;
        std::uint64_t length = 0;
        bool known = false;      // when it was posted
        std::size_t version = 0; // of the region then
    };
    using Pieces = std::vector<Piece>;
    [[nodiscard]] Pieces pieces(const std::vector<dut::Sge>& sge) const;
    // Whether each piece lies inside a region, under the region's own key.
    [[nodiscard]] bool reaches(const std::vector<dut::Sge>& sge) const;

    // Whether the payload can be bytes `at` and following of the pieces. True, too, if they are not
    // known. `fixed`: only the bytes of the time of posting (inline data).
    [[nodiscard]] bool permits(const Pieces& pieces, std::uint64_t at, wire::Bytes payload,
                               bool fixed) const;

  private:
    struct Region {
        bool known = false;
        bool lost = false; // others may have written it: it will not be known again
        std::uint64_t length = 0;
        wire::Rkey rkey;
        std::vector<std::vector<std::byte>> versions; // the latest is the last

        void lose() {
            known = false;
            lost = true;
        }
        [[nodiscard]] bool held(std::uint64_t offset, wire::Bytes bytes, std::size_t from,
                                std::size_t to) const;
    };
    static constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20; // of a region that is known
    static constexpr std::size_t kMostVersions = 64;                    // of a region

    void change(dut::MrHandle mr, std::uint64_t offset, wire::Bytes bytes);
    void lose(const std::vector<dut::Sge>& sge);
    void lose(wire::Rkey rkey);

    std::map<dut::MrHandle, Region> regions_;
    std::map<wire::Rkey, dut::MrHandle> windows_; // by every key that they had
};

} // namespace veriroce::model
