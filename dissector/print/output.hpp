// Text on its way out: gathered in one buffer and written in large pieces.
#pragma once

#include <cstdio>
#include <string>

namespace veriroce::print {

class Output {
  public:
    explicit Output(std::FILE* file) : file_(file) {}

    // What is appended here is written by the next flush.
    std::string& text() { return text_; }
    // To be called after each packet. False if writing is no longer possible.
    bool pass() { return text_.size() < kEnough || flush(); }
    bool flush();

    // Why writing failed; 0 if it did not. EPIPE: whoever read has gone away.
    [[nodiscard]] int error() const { return error_; }

  private:
    static constexpr std::size_t kEnough = std::size_t{64} * 1024;

    std::FILE* file_;
    std::string text_;
    int error_ = 0;
};

} // namespace veriroce::print
