#include "conformance/plan/own_case.hpp"

#include <algorithm>
#include <vector>

#include "conformance/sheet/measure.hpp"

namespace veriroce::plan {

std::span<const cases::EmbeddedFile> own_cases() {
    static const std::vector<cases::EmbeddedFile> all = [] {
        const auto suite = cases::embedded_files();
        const auto sheet = sheet::case_files();
        std::vector<cases::EmbeddedFile> both(suite.begin(), suite.end());
        both.insert(both.end(), sheet.begin(), sheet.end());
        return both;
    }();
    return all;
}

const cases::EmbeddedFile* own_case(std::string_view id) {
    const auto all = own_cases();
    const auto found = std::ranges::find(all, id, &cases::EmbeddedFile::id);
    return found == all.end() ? nullptr : &*found;
}

} // namespace veriroce::plan
