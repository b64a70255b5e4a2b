#include "conformance/agent/congestion_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "dissector/wire/ip.hpp"
#include "transport/net/system_files.hpp"

namespace veriroce::agent {

namespace {

namespace fs = std::filesystem;

bool may_be_set(const fs::path& path) {
    return access(path.c_str(), R_OK | W_OK) == 0;
}

std::optional<unsigned> number_in(const fs::path& path) {
    const auto line = net::first_line(path);
    if (!line) return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
    if (error != std::errc{}) return std::nullopt;
    return value;
}

// The value of all these files; nothing if they differ.
std::optional<unsigned> value_of(const std::vector<fs::path>& files) {
    std::optional<unsigned> value;
    for (const fs::path& path : files) {
        const auto one = number_in(path);
        if (!one || (value && value != one)) return std::nullopt;
        value = one;
    }
    return value;
}

// Drivers say in write(2) whether they take it.
int write_line(const fs::path& path, const std::string& line) {
    const int file = open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) return errno;
    const bool written = ::write(file, line.data(), line.size()) >= 0;
    const int error = written ? 0 : errno;
    close(file);
    return error;
}

// The files of a folder: one for each priority.
std::vector<fs::path> each_of(const fs::path& folder) {
    std::vector<fs::path> files = net::entries(folder);
    std::erase_if(files, [](const fs::path& file) { return !may_be_set(file); });
    return files;
}

// The first of these files that there is.
std::vector<fs::path> one_of(std::initializer_list<fs::path> candidates) {
    for (const fs::path& path : candidates) {
        if (may_be_set(path)) return {path};
    }
    return {};
}

// Where the kernel has this device: ".../0000:03:00.0".
fs::path pci_device(const std::string& device, const fs::path& root) {
    std::error_code error;
    const fs::path link = root / "sys/class/infiniband" / device / "device";
    return fs::canonical(link, error);
}

std::string interface_of(const fs::path& pci) {
    const std::vector<fs::path> interfaces = net::entries(pci / "net");
    return interfaces.empty() ? "" : interfaces.front().filename().string();
}

} // namespace

CongestionFiles::CongestionFiles(const std::string& device, const fs::path& root) {
    const fs::path pci = pci_device(device, root);
    if (pci.empty()) return;
    const fs::path kernel = root / "sys/kernel/debug/mlx5" / pci.filename() / "cc_params";
    const fs::path ofed = root / "sys/class/net" / interface_of(pci) / "ecn";
    np_ = each_of(ofed / "roce_np/enable");
    rp_ = each_of(ofed / "roce_rp/enable");
    interval_ =
        one_of({kernel / "np_min_time_between_cnps", ofed / "roce_np/min_time_between_cnps"});
    dscp_ = one_of({kernel / "np_cnp_dscp", ofed / "roce_np/cnp_dscp"});
}

bool CongestionFiles::any() const {
    return !np_.empty() || !rp_.empty() || !interval_.empty() || !dscp_.empty();
}

dut::CongestionSettings CongestionFiles::read() const {
    dut::CongestionSettings settings;
    if (const auto np = value_of(np_)) settings.np = *np != 0;
    if (const auto rp = value_of(rp_)) settings.rp = *rp != 0;
    settings.cnp_interval_us = value_of(interval_);
    const auto dscp = value_of(dscp_);
    if (dscp && *dscp <= wire::kMaxDscp) settings.cnp_dscp = static_cast<std::uint8_t>(*dscp);
    return settings;
}

int CongestionFiles::write(const Files& files, unsigned value, Lines& former) {
    if (files.empty()) return EOPNOTSUPP;
    for (const fs::path& path : files) {
        const auto line = net::first_line(path);
        if (!line) return EIO; // it could not be restored
        if (const int error = write_line(path, std::to_string(value) + "\n"); error != 0)
            return error;
        former.emplace(path, *line);
    }
    return 0;
}

int CongestionFiles::write(const dut::CongestionSettings& wanted) {
    Lines former;
    int error = 0;
    const auto set = [&](const Files& files, const auto& value) {
        if (value && error == 0) error = write(files, static_cast<unsigned>(*value), former);
    };
    set(np_, wanted.np);
    set(rp_, wanted.rp);
    set(interval_, wanted.cnp_interval_us);
    set(dscp_, wanted.cnp_dscp);
    if (error == 0) {
        before_.insert(former.begin(), former.end()); // of each file the oldest line stays
        return 0;
    }
    for (const auto& [path, line] : former)
        static_cast<void>(write_line(path, line + "\n"));
    return error;
}

void CongestionFiles::restore() {
    std::erase_if(before_,
                  [](const auto& one) { return write_line(one.first, one.second + "\n") == 0; });
}

} // namespace veriroce::agent
