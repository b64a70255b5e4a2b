#include "tests/program/program.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

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
    const std::string out = told_.file("out");
    const std::string err = told_.file("err");
    // The runtime folder is this test's: what another one holds there is not ours.
    const std::string line =
        "cd " + quoted(folder_.string()) + " && PATH=" + quoted(VERIROCE_BINARY_DIR) +
        ":$PATH XDG_RUNTIME_DIR=" + quoted(told_.path().string()) + " LC_ALL=C sh -c " +
        quoted(command) + " >" + quoted(out) + " 2>" + quoted(err) + " </dev/null";
    const int status = std::system(line.c_str());
    REQUIRE(status >= 0);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = house::read_text(out);
    outcome.err = house::read_text(err);
    return outcome;
}

Outcome Workplace::run_in_network(const std::string& command) const {
    return run("unshare -n sh -c " + quoted(std::string(own_network) + command));
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
