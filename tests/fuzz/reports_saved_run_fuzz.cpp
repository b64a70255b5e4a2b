// Any text as results.json: read, or refused with a phrase; what is read can be compared, merged
// and written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "reports/comparison.hpp"
#include "reports/json.hpp"
#include "reports/markdown.hpp"
#include "reports/merge.hpp"
#include "reports/saved_results.hpp"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace veriroce::reports;
    auto results = read_results(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!results) {
        require(!results.error().empty());
        return 0;
    }
    const SavedRun run = saved_run("x", *results);
    const std::string written = results_json(*results);
    require(read_results(written).has_value());
    require(!report_markdown(*results).empty());
    const std::size_t cases = results->cases.size();
    require(merge({{"a", *results}, {"b", std::move(*results)}}).results.cases.size() <= cases);
    const Comparison same = compare(run, run);
    require(same.worse.empty() && same.better.empty() && same.unchanged == run.cases.size());
    require(!matrix_text({run, run}, true, TableFormat::Markdown).empty());
    return 0;
}
