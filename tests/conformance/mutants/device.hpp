// A device: an engine behind a defect's surface. Benches and stages are built on it, and write down
// what it does as text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conformance/mutants/mutants.hpp"
#include "transport/engine/engine.hpp"

namespace veriroce::mutants::test {

std::vector<std::byte> bytes_of(const wire::Packet& packet);
std::vector<std::byte> frame_of(const wire::Envelope& envelope, wire::Bytes transport);
// Memory of which each 256 bytes hold their own number from 1 on.
std::vector<std::byte> numbered(std::size_t bytes);

class Device {
  public:
    explicit Device(const Mutant& mutant);
    virtual ~Device();

    [[nodiscard]] const std::string& text() const { return text_; }

  protected:
    // A frame at the link's edge, and a datagram at the engine's surface.
    void take_frame(wire::Bytes frame);
    void enter(engine::OwnedDatagram datagram);
    // Lets the device send what it has to send.
    void speak();
    // Writes down a datagram that leaves.
    virtual void note(const engine::OwnedDatagram& datagram) = 0;

    std::unique_ptr<engine::SurfaceFilter> filter_;
    engine::Engine engine_;
    wire::Instant now_;
    std::string text_;
};

} // namespace veriroce::mutants::test
