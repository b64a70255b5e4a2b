// Receive offloads that would show a tester different packets than the wire carried: GRO and its
// variants, LRO, VLAN tag stripping, and the filter of VLANs. They are turned off while a link is
// open and restored when it closes.
//
// The planned changes are first written to a file (see restore_file), so that a killed run can be
// cleaned up: by restore_offloads, or by the next turn_off, which takes over the file's entries.
//
// Units: names are the kernel's ("rx-gro"). Errors: Error.
// Source: ethtool(8), linux/ethtool.h.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/net/descriptor.hpp"
#include "transport/net/error.hpp"

namespace veriroce::net {

class Offloads {
  public:
    // Turns the unwanted offloads off. If the driver refuses, that is a note, not an error.
    static std::expected<Offloads, Error> turn_off(const std::string& interface);

    Offloads(const Offloads&) = delete;
    Offloads& operator=(const Offloads&) = delete;
    Offloads(Offloads&& other) noexcept;
    Offloads& operator=(Offloads&& other) noexcept;
    ~Offloads(); // restores

    // The offloads that this object will restore.
    [[nodiscard]] const std::vector<std::string>& changed() const { return changed_; }
    // Lines for users: "turned off rx-gro, rx-vlan-hw-parse on eth1"; empty if nothing was changed.
    [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

    // Restores now instead of in the destructor, and reports whether that worked.
    std::expected<void, Error> put_back();

  private:
    Offloads() = default;

    std::string file_; // empty: nothing to restore
    unsigned index_ = 0;
    Descriptor lock_;
    std::vector<std::string> changed_;
    std::vector<std::string> notes_;
};

// Kernel names of the offloads that are turned off.
std::span<const std::string_view> unwanted_offloads();

// Restores what a killed run turned off, and removes its file. Returns the names; empty if there
// was no file.
std::expected<std::vector<std::string>, Error> restore_offloads(const std::string& interface);

// /run/veriroce-offloads-IFACE-NS, or in $XDG_RUNTIME_DIR if that is set; NS is the inode number of
// the network namespace (`stat -Lc %i /proc/self/ns/net`). One name per line. The run that wrote it
// holds a lock on it: a file without a lock is a killed run's.
std::string restore_file(const std::string& interface);

} // namespace veriroce::net
