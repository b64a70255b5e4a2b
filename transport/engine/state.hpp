// What stands behind the surface. For the files that write the surface's functions alone.
#pragma once

#include "transport/engine/device.hpp"

namespace veriroce::engine {

struct Engine::State : Device {
    using Device::Device;
};

} // namespace veriroce::engine
