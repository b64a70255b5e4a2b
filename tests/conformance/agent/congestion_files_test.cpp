// Congestion management by the files of the mlx5 drivers, on a tree of files of our own.
#include "conformance/agent/congestion_files.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <fstream>

#include "tests/temporary_folder.hpp"

namespace {

using namespace veriroce;
using agent::CongestionFiles;
namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& line) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << line << '\n';
}

std::string line_of(const fs::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// A host with one mlx5 device and its interface.
struct Host {
    house::TemporaryFolder folder;
    fs::path root = folder.path();
    fs::path kernel = root / "sys/kernel/debug/mlx5/0000:03:00.0/cc_params";
    fs::path ofed = root / "sys/class/net/eth7/ecn";

    Host() {
        const fs::path pci = root / "sys/devices/pci0000:00/0000:03:00.0";
        fs::create_directories(pci / "net/eth7");
        fs::create_directories(root / "sys/class/infiniband/mlx5_0");
        fs::create_directory_symlink(pci, root / "sys/class/infiniband/mlx5_0/device");
    }
    void has_kernel_files() const {
        put(kernel / "np_min_time_between_cnps", "4");
        put(kernel / "np_cnp_dscp", "48");
    }
    void has_ofed_files() const {
        for (const char* point : {"roce_np", "roce_rp"}) {
            for (char priority = '0'; priority < '8'; ++priority)
                put(ofed / point / "enable" / std::string(1, priority), "1");
        }
        put(ofed / "roce_np/min_time_between_cnps", "2");
        put(ofed / "roce_np/cnp_dscp", "46");
    }
};

} // namespace

TEST_CASE("congestion files: a device without them has no such settings", "[agent]") {
    const Host host;
    CHECK_FALSE(CongestionFiles("mlx5_0", host.root).any());
    CHECK_FALSE(CongestionFiles("rxe0", host.root).any());
    CongestionFiles none("mlx5_0", host.root);
    CHECK(none.write({.cnp_dscp = 20}) == EOPNOTSUPP);
    CHECK(none.read() == dut::CongestionSettings{});
}

TEST_CASE("congestion files: the kernel's are read, written and put back", "[agent]") {
    const Host host;
    host.has_kernel_files();
    CongestionFiles files("mlx5_0", host.root);
    CHECK(files.read() == dut::CongestionSettings{.cnp_interval_us = 4, .cnp_dscp = 48});
    CHECK(files.write({.cnp_interval_us = 3000, .cnp_dscp = 20}) == 0);
    CHECK(files.write({.cnp_dscp = 21}) == 0);
    CHECK(line_of(host.kernel / "np_min_time_between_cnps") == "3000");
    CHECK(files.read() == dut::CongestionSettings{.cnp_interval_us = 3000, .cnp_dscp = 21});
    files.restore();
    CHECK(files.read() == dut::CongestionSettings{.cnp_interval_us = 4, .cnp_dscp = 48});
    // What cannot be set leaves the rest as it was, also what was set before.
    CHECK(files.write({.cnp_dscp = 21}) == 0);
    CHECK(files.write({.rp = true, .cnp_interval_us = 9, .cnp_dscp = 22}) == EOPNOTSUPP);
    CHECK(files.read() == dut::CongestionSettings{.cnp_interval_us = 4, .cnp_dscp = 21});
    files.restore();
    CHECK(line_of(host.kernel / "np_cnp_dscp") == "48");
}

TEST_CASE("congestion files: MLNX_OFED has one switch for each priority", "[agent]") {
    const Host host;
    host.has_ofed_files();
    {
        CongestionFiles files("mlx5_0", host.root);
        CHECK(files.read() == dut::CongestionSettings{
                                  .np = true, .rp = true, .cnp_interval_us = 2, .cnp_dscp = 46});
        CHECK(files.write({.np = false}) == 0);
        CHECK(line_of(host.ofed / "roce_np/enable/5") == "0");
        CHECK(line_of(host.ofed / "roce_rp/enable/5") == "1");
        CHECK(files.read().np == false);
        put(host.ofed / "roce_np/enable/3", "1"); // neither on nor off
        CHECK_FALSE(files.read().np.has_value());
    }
    CHECK(line_of(host.ofed / "roce_np/enable/5") == "1"); // at the end
}
