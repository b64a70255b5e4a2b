// Buffered text output: collected in one buffer and written in large pieces.
#pragma once

#include <cstdio>
#include <string>

namespace veriroce::print {

class Output {
  public:
    explicit Output(std::FILE* file) : file_(file) {}

    // Text appended here is written by the next flush.
    std::string& text() { return text_; }
    // Call after each packet. Returns false if writing has failed.
    bool pass() { return text_.size() < kEnough || flush(); }
    bool flush();

    // errno of the failed write, or 0. EPIPE: the reader has closed the pipe.
    [[nodiscard]] int error() const { return error_; }

  private:
    static constexpr std::size_t kEnough = std::size_t{64} * 1024;

    std::FILE* file_;
    std::string text_;
    int error_ = 0;
};

} // namespace veriroce::print
