// A backend without a device: answers ping with a fixed time and waits on an empty queue.
#pragma once

#include "conformance/agent/backend.hpp"

namespace veriroce::agent::test {

inline constexpr std::string_view welcome_text =
    R"({"version":1,"name":"bench","backend":"fake","device":"","firmware":"",)"
    R"("capabilities":["rc"],"traits":[],"ports":[],)"
    R"("max":{"qp":0,"qp_wr":0,"sge":0,"cqe":0,"mr_bytes":0,"rd_atomic":0,)"
    R"("dest_rd_atomic":0,"msg_bytes":0,"inline":0},"local_ca_ack_delay":0,"atomic":"NONE",)"
    R"("limits":{"connections":8,"registered_bytes":1073741824,"qps":4096,)"
    R"("queued_bytes":67108864,"line_bytes":16777216,"objects":16384,"idle_seconds":600}})";

class FakeBackend final : public Backend {
  public:
    int devices = 0; // open now
    bool broken = false;

    [[nodiscard]] std::string text() const override { return "nothing"; }

    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override {
        if (broken) {
            return std::unexpected(
                dut::refused("open_device", "ENODEV", "the device refused open_device"));
        }
        return std::make_unique<Device>(*this);
    }

  private:
    class Device final : public dut::Executor {
      public:
        explicit Device(FakeBackend& backend) : backend_(backend) { ++backend_.devices; }
        ~Device() override { --backend_.devices; }

        dut::Answer execute(const dut::Request& request, wire::Instant /*now*/) override {
            if (std::holds_alternative<dut::Hello>(request)) {
                return dut::Welcome{
                    .name = "bench", .backend = "fake", .capabilities = {"rc"}, .atomic = "NONE"};
            }
            if (std::holds_alternative<dut::Ping>(request)) {
                return dut::Pong{.at = wire::Instant(wire::Duration(42))};
            }
            if (std::holds_alternative<dut::Poll>(request)) return dut::Polled{};
            if (const auto* read = std::get_if<dut::MrRead>(&request)) {
                return dut::MrData{.data = std::vector<std::byte>(read->length)};
            }
            return dut::Done{};
        }

      private:
        FakeBackend& backend_;
    };
};

} // namespace veriroce::agent::test
