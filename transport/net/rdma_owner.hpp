// Which RDMA device gets the RoCEv2 packets that arrive at an interface: its hardware takes UDP
// 4791 before the kernel sees it, while ARP and ping still work.
//
// Source: Linux Documentation/ABI/stable/sysfs-class-infiniband, devlink-params(8).
#pragma once

#include <string>
#include <vector>

namespace veriroce::net {

struct RdmaOwner {
    std::string device; // "mlx5_0"; empty if another network namespace has it
    std::string driver; // "mlx5_core"; empty for software (rxe, siw)
    std::string bus;    // "0000:03:00.1"; empty for software

    friend bool operator==(const RdmaOwner&, const RdmaOwner&) = default;
};

// Where the kernel lists devices; tests have folders of their own.
struct SystemFolders {
    std::string rdma_class = "/sys/class/infiniband";
    std::string net_class = "/sys/class/net";
};

// The RDMA devices with a GID on this interface. Without one, and if no RDMA device of the NIC is
// visible here although its RDMA driver is loaded: that driver, without a device.
std::vector<RdmaOwner> rdma_owners(const std::string& interface, const SystemFolders& folders);

// The commands that leave the packets to the kernel: "rdma link delete rxe0".
std::string cure(const RdmaOwner& owner);

} // namespace veriroce::net
