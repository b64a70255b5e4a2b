#include "dissector/print/output.hpp"

#include <cerrno>

namespace veriroce::print {

bool Output::flush() {
    if (error_ != 0) return false;
    errno = 0;
    const bool written = std::fwrite(text_.data(), 1, text_.size(), file_) == text_.size();
    if (!written || std::fflush(file_) != 0) error_ = errno != 0 ? errno : EIO;
    text_.clear();
    return error_ == 0;
}

} // namespace veriroce::print
