#include "conformance/agent/verbs_backend.hpp"

#ifdef VERIROCE_HAVE_VERBS

#include <cerrno>
#include <cstring>
#include <span>

#include "conformance/agent/verbs_device.hpp"
#include "conformance/agent/verbs_names.hpp"

namespace veriroce::agent {

namespace {

using DeviceListPtr = std::unique_ptr<ibv_device*, Destroyed<ibv_free_device_list>>;

class VerbsBackend final : public Backend {
  public:
    VerbsBackend(DeviceListPtr list, ibv_device* device, const dut::AgentLimits& limits)
        : list_(std::move(list)), device_(device), budget_(limits) {}

    [[nodiscard]] std::string text() const override {
        return std::string(ibv_get_device_name(device_)) + " (verbs)";
    }

    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override {
        ContextPtr context(ibv_open_device(device_));
        if (context == nullptr) return std::unexpected(refused_with("open_device", errno));
        return std::make_unique<VerbsDevice>(std::move(context), budget_);
    }

  private:
    DeviceListPtr list_; // keeps device_ alive
    ibv_device* device_;
    dut::Budget budget_;
};

} // namespace

std::expected<std::unique_ptr<Backend>, std::string> open_verbs(const Options& options) {
    int count = 0;
    DeviceListPtr list(ibv_get_device_list(&count));
    if (list == nullptr || count == 0) {
        return std::unexpected(
            "this host has no RDMA device: load its driver, or create a software "
            "one (rdma link add rxe0 type rxe netdev IFACE)");
    }
    std::string names;
    for (ibv_device* device : std::span(list.get(), static_cast<std::size_t>(count))) {
        const std::string name = ibv_get_device_name(device);
        const bool wanted = options.device.empty() ? count == 1 : name == options.device;
        if (wanted) {
            return std::make_unique<VerbsBackend>(std::move(list), device, options.limits);
        }
        names += (names.empty() ? "" : ", ") + name;
    }
    if (options.device.empty()) return std::unexpected("choose one with --device: " + names);
    return std::unexpected("this host has no RDMA device " + options.device + "; it has " + names);
}

} // namespace veriroce::agent

#else

namespace veriroce::agent {

std::expected<std::unique_ptr<Backend>, std::string> open_verbs(const Options& /*options*/) {
    return std::unexpected(
        "this program was built without libibverbs: install libibverbs-dev and build it again");
}

} // namespace veriroce::agent

#endif // VERIROCE_HAVE_VERBS
