// Lines of a stranger, and of a tester, to the agent's session on our engine. Before a right hello
// nothing is said and no device is opened; afterwards every line has at most one answer, each one
// line of JSON, and the budget is empty when the session has ended.
#include <memory>
#include <string_view>

#include "conformance/agent/session.hpp"
#include "conformance/dut/engine_device.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace veriroce;

constexpr dut::AgentLimits kLimits{.registered_bytes = 1U << 20U, .qps = 4, .objects = 16};

class FuzzedBackend final : public agent::Backend {
  public:
    int devices = 0;

    ~FuzzedBackend() override { fuzz::require(budget_.unused()); }
    [[nodiscard]] std::string text() const override { return "fuzzed"; }
    std::expected<std::unique_ptr<dut::Executor>, dut::Failure> open_device() override {
        ++devices;
        return std::make_unique<dut::EngineDevice>(engine_, budget_,
                                                   dut::EngineDeviceDescription{});
    }

  private:
    engine::Engine engine_{engine::Config{}};
    dut::Budget budget_{kLimits};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    FuzzedBackend backend;
    agent::Session session(backend, "sesame");
    wire::Instant now{};
    std::size_t lines = 0;
    std::size_t answers = 0;
    const auto take_answers = [&] {
        while (const auto line = session.poll_line()) {
            ++answers;
            fuzz::require(line->starts_with("{\"jsonrpc\":\"2.0\",\"id\":"));
            fuzz::require(line->find('\n') == std::string::npos);
        }
        fuzz::require(answers <= lines);
        fuzz::require(session.standing() == agent::Session::Standing::Admitted ||
                      backend.devices == 0);
    };
    while (!rest.empty() && lines < 256) {
        const auto end = rest.find('\n');
        session.handle_line(rest.substr(0, end), now);
        ++lines;
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        take_answers();
        now += std::chrono::milliseconds(1);
        session.advance(now);
    }
    session.advance(now + std::chrono::seconds(61)); // every wait has ended
    take_answers();
    return 0;
}
