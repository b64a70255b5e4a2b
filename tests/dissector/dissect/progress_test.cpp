// Progress is for a terminal, and leaves nothing behind there.
#include <catch2/catch.hpp>

#include <array>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "dissector/dissect/progress.hpp"
#include "tests/dissector/dissect/command.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

struct HalfRead {
    [[nodiscard]] static std::optional<double> part_done() { return 0.5; }
};

// A terminal and what was written on it.
class Terminal {
  public:
    Terminal() : screen_(::posix_openpt(O_RDWR | O_NOCTTY)) {
        REQUIRE(screen_ >= 0);
        REQUIRE(::grantpt(screen_) == 0);
        REQUIRE(::unlockpt(screen_) == 0);
        const int line = ::open(::ptsname(screen_), O_RDWR | O_NOCTTY);
        REQUIRE(line >= 0);
        file_ = ::fdopen(line, "w");
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() {
        std::fclose(file_);
        ::close(screen_);
    }
    [[nodiscard]] std::FILE* file() const { return file_; }
    [[nodiscard]] std::string text() const {
        std::fflush(file_);
        ::fcntl(screen_, F_SETFL, O_NONBLOCK);
        std::array<char, 512> text{};
        const ::ssize_t got = ::read(screen_, text.data(), text.size());
        return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
    }

  private:
    int screen_;
    std::FILE* file_ = nullptr;
};

} // namespace

TEST_CASE("progress: a line on a terminal that is taken away again", "[dissect]") {
    const Terminal terminal;
    TextStream out;
    Progress progress(terminal.file(), out.file(), std::chrono::milliseconds(0));
    progress.step(1, HalfRead{});
    CHECK(terminal.text().empty());
    progress.step(8192, HalfRead{});
    CHECK(terminal.text() == "\r8192 packets (50%) ");
    progress.clear();
    CHECK(terminal.text() == "\r" + std::string(40, ' ') + "\r");
    progress.clear();
    CHECK(terminal.text().empty());
}

TEST_CASE("progress: silent where packets are printed on the terminal, or errors are not",
          "[dissect]") {
    const Terminal terminal;
    Progress both(terminal.file(), terminal.file(), std::chrono::milliseconds(0));
    both.step(8192, HalfRead{});
    both.clear();
    CHECK(terminal.text().empty());
    TextStream err;
    Progress none(err.file(), terminal.file(), std::chrono::milliseconds(0));
    none.step(8192, HalfRead{});
    none.clear();
    CHECK(err.text().empty());
}
