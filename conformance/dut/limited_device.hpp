// A device that lacks something: an Executor in front of another one. It takes the words of what
// is lacking out of the answer to hello, and refuses the verbs that need it, as real devices do
// (EOPNOTSUPP for what they do not have, EINVAL for a value beyond their limits).
//
//   LimitedDevice device(engine_device, *Lacks::parse("uc,inline>=1,mtu256"), Told::Yes);
//
// With Told::No the answer to hello still claims everything, like an agent that does not probe.
// Source: conformance/agent/README.md, "Capabilities and traits".
#pragma once

#include <expected>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "conformance/dut/executor.hpp"

namespace veriroce::dut {

// Capability words, and the first value that is too much: "sge>=2" is a device with one SGE.
struct Lacks {
    std::set<std::string, std::less<>> words;
    std::map<std::string, std::uint32_t, std::less<>> from; // sge, inline, rd_atomic, …, mtu

    [[nodiscard]] bool empty() const { return words.empty() && from.empty(); }
    [[nodiscard]] bool word(std::string_view one) const { return words.contains(one); }
    // Whether `value` is beyond the limit of that name.
    [[nodiscard]] bool beyond(std::string_view name, std::uint64_t value) const;

    // What the other lacks as well.
    void add(const Lacks& other);

    // "uc,sge>=2"; the error is a phrase.
    static std::expected<Lacks, std::string> parse(std::string_view list);
    // Every word and limit that a device can lack, one each, as parse() takes them.
    static std::span<const std::string_view> each();
};

enum class Told : std::uint8_t { Yes, No };

class LimitedDevice final : public Executor {
  public:
    // `device` must outlive this one.
    LimitedDevice(Executor& device, Lacks lacks, Told told)
        : device_(device), lacks_(std::move(lacks)), told_(told) {}

    Answer execute(const Request& request, wire::Instant now) override;

  private:
    [[nodiscard]] std::optional<Failure> refusal(const Request& request) const;
    void limit(Welcome& welcome) const;

    Executor& device_;
    Lacks lacks_;
    Told told_;
    std::set<QpHandle> used_; // QPs that were in another state than RESET, and are in RESET again
    std::set<QpHandle> left_reset_;
};

} // namespace veriroce::dut
