#include "conformance/model/story.hpp"

#include <algorithm>

namespace veriroce::model {

bool Setting::trait(std::string_view word) const {
    return std::ranges::find(dut.traits, word) != dut.traits.end();
}

} // namespace veriroce::model
