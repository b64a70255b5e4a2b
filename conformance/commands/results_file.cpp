#include "conformance/commands/results_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "conformance/commands/text_file.hpp"
#include "reports/json.hpp"

namespace veriroce::commands {
namespace {

namespace fs = std::filesystem;

// 0, or errno.
int write_at(int file, const std::string& text, std::size_t at) {
    for (std::size_t done = 0; done < text.size();) {
        const ::ssize_t wrote =
            ::pwrite(file, text.data() + done, text.size() - done, static_cast<::off_t>(at + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0) return errno;
        done += static_cast<std::size_t>(wrote);
    }
    return ::ftruncate(file, static_cast<::off_t>(at + text.size())) == 0 ? 0 : errno;
}

} // namespace

ResultsFile::ResultsFile(std::string path) : path_(std::move(path)), spare_(path_ + ".part") {}

ResultsFile::Written ResultsFile::begin(const plan::RunResults& results) {
    const std::string head = reports::json_head();
    shown_end_ = spare_end_ = head.size();
    pending_.clear();
    auto written = write_text(path_, head + reports::json_tail(results, any_case_, false));
    return written ? renew_spare() : written;
}

ResultsFile::Written ResultsFile::add(const plan::RunResults& results) {
    pending_ += reports::json_case(results.cases.back(), !std::exchange(any_case_, true));
    return put(reports::json_tail(results, any_case_, false));
}

ResultsFile::Written ResultsFile::finish(const plan::RunResults& results) {
    auto written = put(reports::json_tail(results, any_case_, true));
    std::error_code ignored;
    fs::remove(spare_, ignored);
    return written;
}

// At no instant is there no file of that name, or one that is not whole. Where a file cannot have
// two names, the spare one is copied.
ResultsFile::Written ResultsFile::put(const std::string& tail) {
    if (auto written = append_to_spare(tail); !written) return written;
    const std::string shown_before = path_ + ".old";
    std::error_code ignored;
    fs::remove(shown_before, ignored);
    std::error_code unlinked;
    fs::create_hard_link(path_, shown_before, unlinked);
    std::error_code failed;
    fs::rename(spare_, path_, failed);
    if (failed) return std::unexpected(path_ + ": " + failed.message());
    const std::size_t end_before = std::exchange(shown_end_, spare_end_ + pending_.size());
    if (!unlinked) fs::rename(shown_before, spare_, unlinked);
    if (unlinked) return renew_spare();
    pending_.erase(0, end_before - spare_end_);
    spare_end_ = end_before;
    return {};
}

ResultsFile::Written ResultsFile::append_to_spare(const std::string& tail) {
    if (!fs::exists(spare_)) {
        if (auto renewed = renew_spare(); !renewed) return renewed;
    }
    const int file = ::open(spare_.c_str(), O_WRONLY | O_CLOEXEC);
    int number = file < 0 ? errno : write_at(file, pending_ + tail, spare_end_);
    // close() reports delayed write errors.
    if (file >= 0 && ::close(file) != 0 && number == 0) number = errno;
    if (number == 0) return {};
    return std::unexpected(path_ + ": " + std::strerror(number));
}

ResultsFile::Written ResultsFile::renew_spare() {
    std::error_code code;
    fs::copy_file(path_, spare_, fs::copy_options::overwrite_existing, code);
    if (code) {
        std::error_code ignored;
        fs::remove(spare_, ignored); // it is not whole, and is tried again
        return std::unexpected(path_ + ": " + code.message());
    }
    pending_.erase(0, shown_end_ - spare_end_);
    spare_end_ = shown_end_;
    return {};
}

} // namespace veriroce::commands
