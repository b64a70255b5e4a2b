// Plays of one case, and what they prove together. On a wire that may lose packets, one play does
// not prove what a lost, late, repeated or damaged packet would explain as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/interpreter/case_result.hpp"

namespace veriroce::plan {

// How often something went wrong on the way to the device, as far as this run has seen. Plays that
// a device's defect decided are not counted.
class WireRecord {
  public:
    // What went wrong in a play. Damage counts only up to the share that a wire may do.
    enum class Disturbance : std::uint8_t { None, Lost, Damaged };
    void add(std::uint64_t packets, Disturbance disturbance = Disturbance::None);
    // Packets that were sent to measure the wire. Most cases do not notice that two packets changed
    // places or that one came twice, and pass; these packets tell.
    void add_probe(std::uint64_t packets, Disturbance disturbance = Disturbance::None);
    // The packets of a probe that passed, and how many of them came again.
    void add_copies(std::uint64_t packets, std::uint64_t copies);
    [[nodiscard]] std::uint64_t packets() const { return all_.packets; }
    [[nodiscard]] std::uint64_t probed() const { return probes_.packets; }
    [[nodiscard]] std::uint64_t disturbed() const { return all_.disturbed(damages()); }
    // The share of packets that something happens to: a cautious guess, 0 to 1. That of the probes,
    // if it is higher.
    [[nodiscard]] double share() const;
    // Whether the probes showed it, in which a device has the least to do.
    [[nodiscard]] bool is_bad() const { return probes_.disturbed(true) > 0; }
    // "9 of 4012 packets of a probe"
    [[nodiscard]] std::string probes_text() const;
    // How probable it is that the wire disturbs at least `disturbed` of `plays` plays of so many
    // packets.
    [[nodiscard]] double chance(std::uint64_t plays, std::uint64_t disturbed,
                                std::uint64_t packets) const;

  private:
    struct Count {
        std::uint64_t packets = 0;
        std::uint64_t lost = 0;
        std::uint64_t damaged = 0;

        void add(std::uint64_t more, Disturbance disturbance);
        // Whether the wire damages packets: else what is damaged is the device's doing.
        [[nodiscard]] std::uint64_t disturbed(bool damages) const;
        [[nodiscard]] double share(bool damages) const;
    };

    // Only probes tell, in which a device has the least to do.
    [[nodiscard]] bool damages() const { return probes_.damaged > 0; }

    Count all_; // the probes, too
    Count probes_;
};

// What a play that the wire is to blame for says about the wire.
WireRecord::Disturbance disturbance_of(const interpreter::CaseResult& play);

// The plays of one case. The caller adds one after the other until `settled`.
//
// A finding that the wire could explain counts if it shows in two of three plays, and if the wire
// has been seen to be too good to have done that. On a wire that loses packets this takes more
// plays; the wire has done it once the passes are too many for a defect that shows now and then. A
// contradiction counts even if it shows once; three plays tell how often it does.
class Replay {
  public:
    static constexpr std::size_t kPlays = 3;
    static constexpr std::size_t kMostPlays = 27; // on a wire that loses packets

    explicit Replay(const WireRecord& wire) : wire_(wire) {}

    // Whether one play of this result is not enough: a lost packet could explain it, or the tester
    // could not do its part. A contradiction counts without another play, but it is told in how
    // many plays it shows. A device that no longer answers is not asked again.
    [[nodiscard]] static bool needed_for(const interpreter::CaseResult& result);

    void add(interpreter::CaseResult result);
    [[nodiscard]] bool settled() const;
    // Whether the device passes although it failed in a play: the wire is to blame for that.
    [[nodiscard]] bool cleared() const;
    // The verdict of all plays, with the other recordings beside it. Once, at the end: when they
    // are settled, or when the device or the way to it is gone.
    [[nodiscard]] interpreter::CaseResult take_result();
    // What the plays said about the wire, after `take_result`.
    void tell(WireRecord& wire) const;

  private:
    enum class Decision : std::uint8_t { Open, Clean, Unjudged, Blamed, NotRepeatable };
    struct Seen {
        std::size_t play = 0; // the first that shows it
        std::size_t plays = 0;
        std::string signature;
    };
    [[nodiscard]] Decision decision() const;
    [[nodiscard]] std::size_t clean() const;
    // The finding that shows in most plays; of contradictions alone if there are any.
    [[nodiscard]] Seen most_seen() const;
    // How many packets of one play the wire could have disturbed: the most of any play.
    [[nodiscard]] std::uint64_t packets_at_risk() const;
    [[nodiscard]] bool wire_explains() const;
    // Whether enough plays went on after each place at which one failed, with `more_passes` still
    // to come. A play that ended before that place says nothing of it.
    [[nodiscard]] bool cleared_by(std::size_t more_passes) const;
    // Whether the wire spoiled the plays that do not pass, and the others clear the device.
    [[nodiscard]] bool wire_is_to_blame() const;

    const WireRecord& wire_;
    std::vector<interpreter::CaseResult> plays_;
    struct Told {
        std::uint64_t packets = 0;
        WireRecord::Disturbance disturbance = WireRecord::Disturbance::None;
    };
    std::vector<Told> told_;
};

} // namespace veriroce::plan
