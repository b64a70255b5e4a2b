// Receive offloads of an interface that would show a tester other packets than the wire carried:
// GRO and its kin, LRO, and the stripping of VLAN tags. They are turned off while a link is open
// and put back when it closes.
//
// What will be changed is written to a file (see restore_file) before it is changed, so that a run
// that was killed can be cleaned up after: by restore_offloads, or by the next turn_off, which
// takes over what it finds there.
//
// Units: names are the kernel's ("rx-gro"). Errors: Error.
// Source: design of the live link, "Offloads"; ethtool(8), linux/ethtool.h.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "transport/net/error.hpp"

namespace veriroce::net {

class Offloads {
  public:
    // Turns off what is on. What the driver refuses to turn off is a note, not an error.
    static std::expected<Offloads, Error> turn_off(const std::string& interface);

    Offloads(const Offloads&) = delete;
    Offloads& operator=(const Offloads&) = delete;
    Offloads(Offloads&& other) noexcept;
    Offloads& operator=(Offloads&& other) noexcept;
    ~Offloads(); // puts back

    // Names of what this object will turn on again.
    [[nodiscard]] const std::vector<std::string>& changed() const { return changed_; }
    // Lines for people: "turned off rx-gro, rx-vlan-hw-parse on eth1"; none if nothing was to do.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

    // Puts back now instead of in the destructor, and says whether that worked.
    std::expected<void, Error> put_back();

  private:
    Offloads() = default;

    std::string interface_;
    std::vector<std::string> changed_;
    std::vector<std::string> notes_;
};

// Turns on again what a killed run left off, and removes its file. Returns the names; none if no
// run left anything.
std::expected<std::vector<std::string>, Error> restore_offloads(const std::string& interface);

// /run/veriroce-offloads-IFACE, or in $XDG_RUNTIME_DIR where that is set. One name a line.
std::string restore_file(const std::string& interface);

} // namespace veriroce::net
