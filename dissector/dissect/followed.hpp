// --follow: the connection that it names, and which packets belong to it. Internal to this room.
//
// A packet names the QP that it is sent to, not the one that sent it. The tracker finds out which
// two QPs are a connection, often after its first packets; so a file is read twice: first every
// packet is given to `learn`, then `shows` knows the packets of both directions from the first one
// on. A pipe or an interface is read once: there, packets are shown from where their QP is known.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dissector/decode/dissection.hpp"
#include "dissector/flow/path.hpp"
#include "dissector/flow/tracker.hpp"

namespace veriroce::dissect {

class Followed {
  public:
    // "10.77.0.1:0x11" or "[fd77::1]:17", a QP; "0x11", the QP of this number, if only one address
    // has it; "3", the connection of this number (roce.flow.connection). The error is a message.
    static std::expected<Followed, std::string> parse(std::string_view word);

    // Before another file: connections are counted anew.
    void begin_file();
    // The connection of a packet, as it is known behind that packet.
    void learn(const flow::Connection& connection);
    // The ends that the number names, if they are several connections'; otherwise empty.
    [[nodiscard]] std::vector<std::string> candidates() const;
    [[nodiscard]] bool found() const { return !paths_.empty(); }

    // Whether a packet is one of the connection's.
    [[nodiscard]] bool shows(const decode::Dissection& dissection) const {
        return path_of(dissection) != nullptr;
    }
    // Whether it goes to the right: the end that sent the first request shown is the left one. Call
    // it for packets that are shown, in order.
    bool to_right(const decode::Dissection& dissection);
    // "10.77.0.1 QP 0x000011", after the first call of `to_right`.
    [[nodiscard]] std::string left() const { return name_of(!named_right_); }
    [[nodiscard]] std::string right() const { return name_of(named_right_); }
    // Whether `to_right` was not called yet in this file.
    [[nodiscard]] bool fresh() const { return fresh_; }

  private:
    // QPs of both ends that served one connection after the other; more are not shown.
    static constexpr std::size_t kMostPaths = 64;
    static constexpr std::size_t kMostCandidates = 8;

    struct Qp {
        wire::IpAddress address;
        wire::Qpn qpn;
        friend bool operator==(const Qp&, const Qp&) = default;
        [[nodiscard]] std::string text() const;
    };
    struct Direction {
        flow::Path path;
        bool to_named = false; // to the end that --follow names
    };

    [[nodiscard]] const Direction* path_of(const decode::Dissection& dissection) const;
    [[nodiscard]] std::string name_of(bool named) const;
    void choose(const flow::Connection& connection);
    void add(const flow::Path& path, bool to_named);

    std::optional<wire::IpAddress> address_; // as the user gave them
    std::optional<wire::Qpn> qpn_;
    std::uint64_t connection_ = 0;

    std::optional<Qp> named_;
    std::vector<Qp> others_; // with the same number
    std::vector<Direction> paths_;
    bool named_right_ = true;
    bool fresh_ = true;
};

} // namespace veriroce::dissect
