#include "transport/net/rdma_owner.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "transport/net/system_files.hpp"

namespace veriroce::net {

namespace {

namespace fs = std::filesystem;

// The name of what a symbolic link leads to; empty if there is none.
std::string target_name(const fs::path& link) {
    std::error_code none;
    return fs::read_symlink(link, none).filename().string();
}

bool has_gid_on(const fs::path& device, const std::string& interface) {
    for (const auto& port : entries(device / "ports")) {
        for (const auto& gid : entries(port / "gid_attrs" / "ndevs")) {
            if (first_line(gid) == interface) return true;
        }
    }
    return false;
}

// "mlx5_ib" of "mlx5_ib.rdma": drivers of the auxiliary bus have the module's name before the dot.
std::string module_of(const std::string& driver) {
    return driver.substr(0, driver.find('.'));
}

// The RDMA driver of the NIC, on the auxiliary bus: "mlx5_core.rdma.0", "ice.roce.1".
std::string rdma_driver(const fs::path& nic) {
    for (const auto& child : entries(nic)) {
        const std::string name = child.filename().string();
        if (!name.contains(".rdma.") && !name.contains(".roce.")) continue;
        if (auto driver = module_of(target_name(child / "driver")); !driver.empty()) return driver;
    }
    return {};
}

// The module to unload for a network or RDMA driver.
struct Module {
    std::string_view driver;
    std::string_view module;
};
constexpr std::array kModules{
    Module{"ice", "irdma"},           Module{"i40e", "irdma"},        Module{"bnxt_en", "bnxt_re"},
    Module{"hns3", "hns_roce_hw_v2"}, Module{"qede", "qedr"},         Module{"ionic", "ionic_rdma"},
    Module{"mana", "mana_ib"},        Module{"mlx4_core", "mlx4_ib"}, Module{"mlx4_en", "mlx4_ib"},
    Module{"hinic3", "hiroce3"},      Module{"enic", "usnic_verbs"},  Module{"cxgb4", "iw_cxgb4"},
};

} // namespace

std::vector<RdmaOwner> rdma_owners(const std::string& interface, const SystemFolders& folders) {
    std::vector<RdmaOwner> owners;
    for (const auto& device : entries(folders.rdma_class)) {
        if (!has_gid_on(device, interface)) continue;
        owners.push_back({.device = device.filename().string(),
                          .driver = target_name(device / "device" / "driver"),
                          .bus = target_name(device / "device")});
    }
    const fs::path nic = fs::path(folders.net_class) / interface / "device";
    // A visible device without a GID here does not do RoCE: this is how mlx5 looks after
    // enable_roce false.
    if (!owners.empty() || !entries(nic / "infiniband").empty()) return owners;
    if (auto driver = rdma_driver(nic); !driver.empty()) {
        owners.push_back({.device = {}, .driver = std::move(driver), .bus = target_name(nic)});
    }
    return owners;
}

std::string cure(const RdmaOwner& owner) {
    if (owner.driver.empty()) return "rdma link delete " + owner.device;
    if (owner.driver.starts_with("mlx5_")) {
        const std::string nic = "pci/" + owner.bus;
        return "devlink dev param set " + nic +
               " name enable_roce value false cmode driverinit && devlink dev reload " + nic;
    }
    const auto known = std::ranges::find(kModules, owner.driver, &Module::driver);
    if (known != kModules.end()) return "modprobe -r " + std::string(known->module);
    if (owner.device.empty()) return "modprobe -r " + owner.driver; // it is the RDMA driver
    return "unload the RDMA driver of " + owner.device;
}

} // namespace veriroce::net
