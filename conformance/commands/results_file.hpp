// results.json while the run goes on. The file is complete JSON at every instant, so that a killed
// run loses at most the case at hand; and each case costs the same, however many came before it.
//
// Two files take turns: one has the name, the other ends in ".part" and lags one case behind. The
// next case goes to the end of the latter, and then the two change names.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <variant>

#include "conformance/plan/results.hpp"

namespace veriroce::commands {

class ResultsFile {
  public:
    using Written = std::expected<std::monostate, std::string>; // the error is a sentence

    explicit ResultsFile(std::string path);

    // A file without cases, in place of one of an earlier run.
    Written begin(const plan::RunResults& results);
    // The latest case. After an error the case waits for the next call.
    Written add(const plan::RunResults& results);
    // With what only the end knows. No ".part" stays behind.
    Written finish(const plan::RunResults& results);

  private:
    Written put(const std::string& tail);
    Written append_to_spare(const std::string& tail);
    Written renew_spare();

    std::string path_;
    std::string spare_;
    std::string pending_;       // the cases that the spare file lacks
    std::size_t shown_end_ = 0; // where the cases end in the file that has the name
    std::size_t spare_end_ = 0; // and in the other
    bool any_case_ = false;
};

} // namespace veriroce::commands
