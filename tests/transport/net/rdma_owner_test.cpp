// Which RDMA device gets the packets of an interface: on made-up folders of /sys.
#include "transport/net/rdma_owner.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.hpp"
#include "transport/net/interface.hpp"

namespace {

using namespace veriroce;
namespace fs = std::filesystem;

struct Sys {
    house::TemporaryFolder folder;
    net::SystemFolders folders{.rdma_class = folder.path() / "infiniband",
                               .net_class = folder.path() / "net"};

    Sys() { fs::create_directories(folders.net_class); }

    // A PCI device with an interface.
    [[nodiscard]] fs::path nic(const std::string& bus, const std::string& interface,
                               const std::string& driver) const {
        const fs::path pci = folder.path() / bus;
        fs::create_directories(pci);
        fs::create_directory_symlink("/drivers/" + driver, pci / "driver");
        fs::create_directories(fs::path(folders.net_class) / interface);
        fs::create_directory_symlink("../../" + bus,
                                     fs::path(folders.net_class) / interface / "device");
        return pci;
    }
    // Empty bus: software.
    void rdma(const std::string& device, const std::string& bus,
              const std::string& gid_interface) const {
        const fs::path port = fs::path(folders.rdma_class) / device / "ports" / "1";
        fs::create_directories(port / "gid_attrs" / "ndevs");
        if (!gid_interface.empty()) {
            std::ofstream(port / "gid_attrs" / "ndevs" / "0") << gid_interface << '\n';
        }
        if (bus.empty()) return;
        fs::create_directory_symlink("../../" + bus,
                                     fs::path(folders.rdma_class) / device / "device");
        fs::create_directories(folder.path() / bus / "infiniband" / device);
    }
};

std::string cures(const Sys& sys, const std::string& interface) {
    std::string text;
    for (const auto& owner : net::rdma_owners(interface, sys.folders))
        text += owner.device + ": " + net::cure(owner) + "\n";
    return text;
}

} // namespace

TEST_CASE("rdma owner: the cure fits the driver", "[net]") {
    struct Row {
        std::string driver;
        std::string cure;
    };
    const std::initializer_list<Row> rows{
        {"mlx5_core", "devlink dev param set pci/0000:03:00.1 name enable_roce value false cmode "
                      "driverinit && devlink dev reload pci/0000:03:00.1"},
        {"ice", "modprobe -r irdma"},
        {"bnxt_en", "modprobe -r bnxt_re"},
        {"hns3", "modprobe -r hns_roce_hw_v2"},
        {"qede", "modprobe -r qedr"},
        {"ionic", "modprobe -r ionic_rdma"},
        {"mana", "modprobe -r mana_ib"},
        {"new_vendor", "unload the RDMA driver of rdma0"}};
    for (const Row& row : rows) {
        const Sys sys;
        (void)sys.nic("0000:03:00.1", "eth1", row.driver);
        sys.rdma("rdma0", "0000:03:00.1", "eth1");
        CHECK(cures(sys, "eth1") == "rdma0: " + row.cure + "\n");
        CHECK(cures(sys, "eth2").empty());
    }
    const Sys software;
    software.rdma("rxe0", "", "eth1");
    CHECK(cures(software, "eth1") == "rxe0: rdma link delete rxe0\n");
}

TEST_CASE("rdma owner: a device without a GID on the interface takes nothing", "[net]") {
    const Sys sys;
    (void)sys.nic("0000:03:00.1", "eth1", "mlx5_core");
    sys.rdma("mlx5_0", "0000:03:00.1", ""); // after enable_roce false
    CHECK(cures(sys, "eth1").empty());
}

TEST_CASE("rdma owner: a device in another network namespace shows by its driver", "[net]") {
    const Sys sys;
    const fs::path pci = sys.nic("0000:03:00.1", "eth1", "mlx5_core");
    fs::create_directories(pci / "mlx5_core.eth.0");
    fs::create_directory_symlink("/drivers/mlx5_core.eth", pci / "mlx5_core.eth.0" / "driver");
    fs::create_directories(pci / "mlx5_core.rdma.0");
    CHECK(cures(sys, "eth1").empty()); // its RDMA driver is not loaded
    fs::create_directory_symlink("/drivers/mlx5_ib.rdma", pci / "mlx5_core.rdma.0" / "driver");
    const auto owners = net::rdma_owners("eth1", sys.folders);
    CHECK(owners ==
          std::vector<net::RdmaOwner>{{.device = {}, .driver = "mlx5_ib", .bus = "0000:03:00.1"}});
    CHECK(net::cure(owners.front()).starts_with("devlink dev param set pci/0000:03:00.1 "));
    // A hint is no reason to refuse the interface.
    CHECK(net::check_no_rdma("eth1", sys.folders.rdma_class).has_value());
}
