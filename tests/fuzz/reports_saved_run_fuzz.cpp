// Any text as results.json: read, or refused with a phrase; what is read can be compared.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "reports/comparison.hpp"
#include "reports/saved_run.hpp"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace veriroce::reports;
    const auto run =
        read_saved_run("x", std::string_view(reinterpret_cast<const char*>(data), size));
    if (!run) {
        require(!run.error().empty());
        return 0;
    }
    const Comparison same = compare(*run, *run);
    require(same.worse.empty() && same.better.empty() && same.unchanged == run->cases.size());
    require(!matrix_text({*run, *run}, true, TableFormat::Markdown).empty());
    return 0;
}
