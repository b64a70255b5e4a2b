// What a wire that loses, repeats, delays or reorders packets could have to do with a finding. It
// decides whether one play of a case is enough to blame the device.
#pragma once

#include <cstdint>

namespace veriroce::rules {

enum class FindingClass : std::uint8_t {
    Contradiction, // no loss, copy or delay of any packet explains it: it counts at once
    Absence,       // something did not come, or came otherwise than if all packets had arrived
    Surplus,       // something came that a timer, or a copy on the wire, may have caused
};

} // namespace veriroce::rules
