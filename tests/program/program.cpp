#include "tests/program/program.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "tests/text.hpp"

namespace veriroce::program::test {
namespace {

constexpr std::string_view own_network =
    "ip link set lo up && ip link add va type veth peer name vb && "
    "ip link set va addrgenmode none && ip link set va up && ip link set vb up && "
    "ip addr add 192.0.2.9/24 dev va && ip link add off type veth peer name other && ";

std::string quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

void serve(int socket, Listener::Manner manner, const std::string& answer) {
    while (true) {
        const int peer = ::accept(socket, nullptr, nullptr);
        if (peer < 0) ::_exit(1);
        if (manner == Listener::Manner::Silent) continue;
        char byte = 0;
        while (byte != '\n' && ::read(peer, &byte, 1) == 1) {
        }
        if (::write(peer, answer.data(), answer.size()) < 0) ::_exit(1);
        ::close(peer);
    }
}

// The runtime folder is this test's: what another one holds there is not ours.
std::string line_of(const Workplace& place, const house::TemporaryFolder& told,
                    const std::string& command) {
    return "cd " + quoted(place.folder().string()) +
           " && exec env PATH=" + quoted(VERIROCE_BINARY_DIR) +
           ":$PATH XDG_RUNTIME_DIR=" + quoted(told.path().string()) + " LC_ALL=C sh -c " +
           quoted(command) + " >" + quoted(told.file("out")) + " 2>" + quoted(told.file("err"));
}

Outcome outcome_of(int status, const house::TemporaryFolder& told) {
    REQUIRE(status >= 0);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = house::read_text(told.file("out"));
    outcome.err = house::read_text(told.file("err"));
    return outcome;
}

} // namespace

Workplace::Workplace() {
    folder_ = told_.path() / "work";
    std::filesystem::create_directory(folder_);
}

void Workplace::write(const std::string& name, std::string_view bytes) const {
    std::ofstream stream(folder_ / name, std::ios::binary);
    stream << bytes;
    REQUIRE(stream.flush());
}

std::set<std::string> Workplace::listing() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_))
        names.insert(entry.path().lexically_relative(folder_).string());
    return names;
}

Outcome Workplace::run(const std::string& command) const {
    const std::string line = line_of(*this, told_, command) + " </dev/null";
    return outcome_of(std::system(line.c_str()), told_);
}

Outcome Workplace::run_in_network(const std::string& command) const {
    return run("unshare -n sh -c " + quoted(std::string(own_network) + command));
}

Running::Running(const Workplace& place, const std::string& command) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe2(pipe.data(), O_CLOEXEC) == 0);
    input_ = pipe[1];
    const std::string line = line_of(place, told_, "exec " + command);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        ::dup2(pipe[0], STDIN_FILENO);
        ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(pipe[0]);
}

Running::~Running() {
    if (process_ > 0) {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    close_input();
}

void Running::feed(std::string_view bytes) const {
    REQUIRE(::write(input_, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
}

void Running::close_input() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void Running::signal(int number) const {
    REQUIRE(::kill(process_, number) == 0);
}

std::string Running::out() const {
    return std::filesystem::exists(told_.file("out")) ? house::read_text(told_.file("out")) : "";
}

std::string Running::err() const {
    return std::filesystem::exists(told_.file("err")) ? house::read_text(told_.file("err")) : "";
}

void Running::wait_until(const std::function<bool()>& true_now) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!true_now()) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

// The bit mask of /proc/PID/status.
bool Running::catches(int number) const {
    // Before it is the program, it is a copy of this test, which catches signals itself.
    std::error_code code;
    const auto runs =
        std::filesystem::read_symlink("/proc/" + std::to_string(process_) + "/exe", code);
    if (code || runs.filename() != "veriroce") return false;
    const std::string status = house::read_text("/proc/" + std::to_string(process_) + "/status");
    const std::size_t at = status.find("SigCgt:\t");
    if (at == std::string::npos) return false;
    return (std::stoull(status.substr(at + 8, 16), nullptr, 16) >> (number - 1) & 1) != 0;
}

bool Running::waits_for_input() const {
    int unread = -1;
    REQUIRE(::ioctl(input_, FIONREAD, &unread) == 0);
    const std::string status = house::read_text("/proc/" + std::to_string(process_) + "/status");
    return unread == 0 && catches(SIGTERM) && status.find("State:\tS") != std::string::npos;
}

Outcome Running::wait() {
    int status = -1;
    REQUIRE(::waitpid(std::exchange(process_, -1), &status, 0) > 0);
    return outcome_of(status, told_);
}

Listener::Listener(const std::filesystem::path& path, Manner manner, std::string answer)
    : path_(path), socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    REQUIRE(socket_ >= 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.string().size() < sizeof address.sun_path);
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(socket_, 4) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(socket_, manner, answer);
    }
}

Listener::~Listener() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(socket_);
    std::error_code code;
    std::filesystem::remove(path_, code);
}

} // namespace veriroce::program::test
