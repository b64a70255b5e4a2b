// Congestion management of an mlx5 device, by the files that its drivers offer for it: the kernel's
// in debugfs, MLNX_OFED's in sysfs. A device that has none of them has no such setting.
//
// Source: mlx5_ib's cc_params (np_min_time_between_cnps in us, np_cnp_dscp); MLNX_OFED's
// /sys/class/net/IFACE/ecn (roce_np and roce_rp, an `enable` for each priority).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "conformance/dut/device_methods.hpp"

namespace veriroce::agent {

class CongestionFiles {
  public:
    // Those of this RDMA device that may be written. `root` is "/" except in tests.
    explicit CongestionFiles(const std::string& device, const std::filesystem::path& root = "/");
    ~CongestionFiles() { restore(); }
    CongestionFiles(const CongestionFiles&) = delete;
    CongestionFiles& operator=(const CongestionFiles&) = delete;

    [[nodiscard]] bool any() const;
    [[nodiscard]] dut::CongestionSettings read() const;
    // An errno: 0 if all that is given was taken, EOPNOTSUPP if there is no file for a setting.
    // After a failure everything is as before this call.
    [[nodiscard]] int write(const dut::CongestionSettings& wanted);
    // Everything as it was before the first write.
    void restore();

  private:
    using Files = std::vector<std::filesystem::path>; // that hold the same value

    using Lines = std::map<std::filesystem::path, std::string>;

    [[nodiscard]] int write(const Files& files, unsigned value, Lines& former);

    Files np_;
    Files rp_;
    Files interval_;
    Files dscp_;
    Lines before_;
};

} // namespace veriroce::agent
