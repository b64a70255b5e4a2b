// The tests' own main. Catch2 2.13 calls a run of nothing a success: a test without an assertion
// and a name that matches no test are failures here.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "tests/on_failure.hpp"

namespace {

class FailurePrinter final : public Catch::TestEventListenerBase {
  public:
    using TestEventListenerBase::TestEventListenerBase;

    bool assertionEnded(const Catch::AssertionStats& stats) override {
        if (!stats.assertionResult.isOk()) Catch::cout() << veriroce::house::OnFailure::all();
        return false;
    }
};
CATCH_REGISTER_LISTENER(FailurePrinter)

} // namespace

int main(int argc, char* argv[]) {
    Catch::Session session;
    if (const int refused = session.applyCommandLine(argc, argv); refused != 0) return refused;
    auto& config = session.configData();
    config.warnings = static_cast<Catch::WarnAbout::What>(
        config.warnings | Catch::WarnAbout::NoAssertions | Catch::WarnAbout::NoTests);
    return session.run();
}
