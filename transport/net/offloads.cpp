#include "transport/net/offloads.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "transport/net/ethtool_features.hpp"

namespace veriroce::net {

namespace {

// Kernel names; ethtool calls them gro, lro, rx-gro-hw, rx-udp-gro-forwarding, rx-gro-list,
// rx-vlan-offload and rx-vlan-filter.
constexpr std::array<std::string_view, 7> kUnwanted{
    "rx-gro",      "rx-lro",           "rx-gro-hw", "rx-udp-gro-forwarding",
    "rx-gro-list", "rx-vlan-hw-parse", kVlanFilter,
};

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names)
        text += (text.empty() ? "" : ", ") + name;
    return text;
}

// Ignores unknown names, because any program may have written the file.
std::vector<std::string> read_file(const std::string& path) {
    std::vector<std::string> names;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (std::ranges::find(kUnwanted, line) != kUnwanted.end()) names.push_back(line);
    }
    return names;
}

// The file, locked for as long as it is open: by the run that will put back what it names. Invalid
// if it cannot be made; nothing if another run has locked it.
std::optional<Descriptor> locked_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (file.valid() && ::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
    return file;
}

// The name that the interface has now; empty if it is gone.
std::string name_of(unsigned index) {
    std::array<char, IF_NAMESIZE> name{};
    return ::if_indextoname(index, name.data()) == nullptr ? std::string() : name.data();
}

// False if the file could not be written.
bool write_file(const std::string& path, const std::vector<std::string>& names) {
    std::ofstream file(path, std::ios::trunc);
    for (const auto& name : names)
        file << name << '\n';
    return static_cast<bool>(file.flush());
}

std::expected<void, Error> turn_on(const std::string& interface,
                                   const std::vector<std::string>& names) {
    const auto features = EthtoolFeatures::open(interface);
    if (!features) return std::unexpected(features.error());
    for (const auto& name : names) {
        if (const int number = features->set(name, true); number != 0) {
            return std::unexpected(
                system_error("cannot turn " + name + " on " + interface + " on again", number));
        }
    }
    return {};
}

// Offloads that are on and should be off; fails only if the interface cannot be queried.
std::expected<std::vector<std::string>, Error> unwanted_on(const EthtoolFeatures& features) {
    std::vector<std::string> names;
    for (const auto name : kUnwanted) {
        const auto on = features.is_on(name);
        if (!on) return std::unexpected(on.error());
        if (*on) names.emplace_back(name);
    }
    return names;
}

} // namespace

std::span<const std::string_view> unwanted_offloads() {
    return kUnwanted;
}

std::string restore_file(const std::string& interface) {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    const std::string folder = runtime != nullptr && *runtime != '\0' ? runtime : "/run";
    struct stat network{};
    ::stat("/proc/thread-self/ns/net", &network);
    return folder + "/veriroce-offloads-" + interface + "-" + std::to_string(network.st_ino);
}

std::expected<Offloads, Error> Offloads::turn_off(const std::string& interface) {
    const auto features = EthtoolFeatures::open(interface);
    if (!features) return std::unexpected(features.error());
    const auto on = unwanted_on(*features);
    if (!on) return std::unexpected(on.error());

    Offloads offloads;
    const std::string path = restore_file(interface);
    const bool there = ::access(path.c_str(), F_OK) == 0;
    if (there || !on->empty()) {
        auto file = locked_file(path);
        if (!file) {
            offloads.notes_.push_back(
                "another run has " + interface +
                " and puts its offloads back when it ends: packets may be merged from then on");
            return offloads;
        }
        offloads.lock_ = std::move(*file);
    }
    offloads.file_ = path;
    offloads.index_ = ::if_nametoindex(interface.c_str());
    auto left_off = read_file(path); // by a run that was killed
    std::erase_if(left_off,
                  [&on](const auto& name) { return std::ranges::find(*on, name) != on->end(); });
    auto to_restore = left_off;
    to_restore.insert(to_restore.end(), on->begin(), on->end());
    if (to_restore.empty()) return offloads;
    if (!write_file(path, to_restore)) {
        offloads.notes_.push_back("cannot write " + path +
                                  ": after a crash, turn the offloads on again yourself");
    }

    offloads.changed_ = left_off;
    std::vector<std::string> turned_off;
    std::vector<std::string> refused;
    for (const auto& name : *on) {
        const int number = features->set(name, false);
        const auto still_on = features->is_on(name);
        const bool off = number == 0 && still_on && !*still_on;
        (off ? turned_off : refused).push_back(name);
        if (off) offloads.changed_.push_back(name);
    }
    if (!turned_off.empty()) {
        offloads.notes_.push_back("turned off " + joined(turned_off) + " on " + interface);
    }
    if (!left_off.empty()) {
        offloads.notes_.push_back("will turn " + joined(left_off) + " on again on " + interface +
                                  ", which a killed run left off");
    }
    if (!refused.empty()) {
        offloads.notes_.push_back("could not turn off " + joined(refused) + " on " + interface +
                                  ": the driver or missing CAP_NET_ADMIN forbids it");
    }
    return offloads;
}

Offloads::Offloads(Offloads&& other) noexcept
    : file_(std::exchange(other.file_, {})), index_(std::exchange(other.index_, 0)),
      lock_(std::move(other.lock_)), changed_(std::exchange(other.changed_, {})),
      notes_(std::move(other.notes_)) {}

Offloads& Offloads::operator=(Offloads&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(index_, other.index_);
    std::swap(lock_, other.lock_);
    std::swap(changed_, other.changed_);
    std::swap(notes_, other.notes_);
    return *this;
}

// After a failure, the file stays for restore_offloads.
Offloads::~Offloads() {
    (void)put_back();
}

std::expected<void, Error> Offloads::put_back() {
    if (file_.empty()) return {};
    const std::string interface = name_of(index_); // it may have been renamed
    if (interface.empty()) changed_.clear();       // it is gone, and its settings with it
    if (!changed_.empty()) {
        if (auto done = turn_on(interface, changed_); !done) return done;
        changed_.clear();
    }
    ::unlink(file_.c_str());
    file_.clear();
    lock_ = {};
    return {};
}

std::expected<std::vector<std::string>, Error> restore_offloads(const std::string& interface) {
    const auto path = restore_file(interface);
    if (::access(path.c_str(), F_OK) != 0) return std::vector<std::string>{};
    const auto file = locked_file(path);
    if (!file) {
        return std::unexpected(
            Error{ErrorKind::System, "another run has " + interface + ": it puts back itself"});
    }
    auto names = read_file(path);
    if (auto done = turn_on(interface, names); !done) return std::unexpected(done.error());
    if (::unlink(path.c_str()) != 0) {
        return std::unexpected(system_error("cannot remove " + path, errno));
    }
    return names;
}

} // namespace veriroce::net
