// Live capture on one end of a veth pair in a network namespace of its own; frames of a committed
// capture are sent from the other end. Needs root: where it cannot be built the test fails.
#include <catch2/catch.hpp>

#include <csignal>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dissector/capture/reader.hpp"
#include "tests/dissector/dissect/command.hpp"

using namespace veriroce;
using namespace veriroce::dissect;
using namespace veriroce::dissect::test;

namespace {

// This thread in a namespace with `va` and `vb`, which no kernel chatter crosses.
class Network {
  public:
    Network() : outside_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
        REQUIRE(outside_ >= 0);
        REQUIRE(::unshare(CLONE_NEWNET) == 0); // otherwise: not root
        run("ip link add va type veth peer name vb");
        for (const std::string name : {"va", "vb"}) {
            run("echo 1 > /proc/sys/net/ipv6/conf/" + name + "/disable_ipv6");
            run("ip link set " + name + " up");
        }
        socket_ = ::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        REQUIRE(socket_ >= 0);
        sockaddr_ll address{};
        address.sll_family = AF_PACKET;
        address.sll_protocol = htons(ETH_P_ALL);
        address.sll_ifindex = static_cast<int>(::if_nametoindex("vb"));
        REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;
    ~Network() {
        ::close(socket_);
        ::setns(outside_, CLONE_NEWNET);
        ::close(outside_);
    }

    static void run(const std::string& command) {
        INFO(command);
        REQUIRE(std::system(command.c_str()) == 0);
    }

    void send(const std::string& capture) const {
        auto reader = capture::Reader::open(pcap(capture));
        REQUIRE(reader);
        capture::Record record;
        while (reader->next(record).value()) {
            REQUIRE(::send(socket_, record.bytes.data(), record.bytes.size(), 0) ==
                    static_cast<::ssize_t>(record.bytes.size()));
        }
    }

  private:
    int outside_;
    int socket_ = -1;
};

// A pipe as two streams.
struct Pipe {
    Pipe() {
        std::array<int, 2> ends{};
        REQUIRE(::pipe(ends.data()) == 0);
        from = ::fdopen(ends[0], "r");
        to = ::fdopen(ends[1], "w");
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    ~Pipe() { std::fclose(from); }

    // Waits for it; empty at the end.
    [[nodiscard]] std::string line() const {
        std::array<char, 512> text{};
        return std::fgets(text.data(), text.size(), from) != nullptr ? text.data() : "";
    }
    [[nodiscard]] std::string rest() const {
        std::string text;
        for (std::string one = line(); !one.empty(); one = line())
            text += one;
        return text;
    }

    std::FILE* from = nullptr;
    std::FILE* to = nullptr; // closed by who writes
};

// The command in a thread of its own, in this thread's network. The constructor returns when it
// captures.
class Capture {
  public:
    explicit Capture(Options options) : options_(std::move(options)) {
        thread_ = std::thread([this] {
            code_ = dissect::run(options_, out_.to, err_.to);
            std::fclose(out_.to);
            std::fclose(err_.to);
        });
        CHECK(err_.line() == "Capturing on va; press Ctrl-C to stop\n");
    }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    ~Capture() {
        if (thread_.joinable()) thread_.join();
    }

    // Waits for the first lines that it prints.
    std::string lines(std::size_t count) {
        std::string text;
        for (; count > 0; --count)
            text += out_.line();
        return text;
    }
    // Waits for its end; what it printed since.
    Ran ended() {
        Ran result{.out = out_.rest(), .err = err_.rest()};
        thread_.join();
        result.code = code_;
        return result;
    }

  private:
    Options options_;
    Pipe out_;
    Pipe err_;
    std::thread thread_;
    int code_ = -1;
};

const std::vector<std::string> kFields{"frame.number",       "ip.src",
                                       "infiniband.bth.psn", "infiniband.bth.opcode",
                                       "roce.icrc.status",   "frame.len"};

std::string of_file(const std::string& capture) {
    return ran({.files = {pcap(capture)}, .format = Format::Fields, .fields = kFields}).out;
}

} // namespace

TEST_CASE("live: frames that are sent are printed, until there are enough", "[dissect]") {
    const Network network;
    const std::string expected = of_file("rxe-send-imm.pcap");
    const std::size_t packets = lines_of(expected).size();
    Capture capture(
        {.interface = "va", .format = Format::Fields, .fields = kFields, .max_packets = packets});
    network.send("rxe-send-imm.pcap");
    const Ran result = capture.ended();
    CHECK(result.code == 0);
    CHECK(result.out == expected);
    CHECK(result.err ==
          std::to_string(packets) +
              " packets captured, 0 dropped by the kernel (buffer full), 0 dropped by the "
              "interface\n");
}

TEST_CASE("live: Ctrl-C ends it with what was seen and the summary", "[dissect]") {
    const Network network;
    const std::string expected = of_file("rxe-send-imm.pcap");
    Capture capture({.interface = "va",
                     .capture_filter = "udp port 4791",
                     .format = Format::Fields,
                     .fields = kFields});
    network.send("rxe-send-imm.pcap");
    CHECK(capture.lines(lines_of(expected).size()) == expected);
    ::kill(::getpid(), SIGINT);
    const Ran result = capture.ended();
    CHECK(result.code == 0);
    CHECK(result.out.empty());
    CHECK(result.err.ends_with(
        "0 dropped by the kernel (buffer full), 0 dropped by the interface\n"));
}

TEST_CASE("live: capture filter, display filter and snap length choose, and -w writes",
          "[dissect]") {
    const Network network;
    const TemporaryFolder folder;
    const std::string written = folder.path() / "out.pcapng";
    Capture capture({.interface = "va",
                     .filter = "infiniband.bth.opcode == 5",
                     .capture_filter = "src host 10.77.0.1",
                     .write = written,
                     .snap_length = 60,
                     .max_packets = 7});
    network.send("rxe-send-imm.pcap");
    CHECK(capture.ended().code == 0);
    const Ran back = ran({.files = {written},
                          .format = Format::Fields,
                          .fields = {"ip.src", "infiniband.bth.opcode", "frame.cap_len"}});
    CHECK(back.out == "10.77.0.1\t5\t60\n10.77.0.1\t5\t60\n10.77.0.1\t5\t60\n");
}

TEST_CASE("live: an interface that goes away is an error", "[dissect]") {
    const Network network;
    Capture capture({.interface = "va", .format = Format::Fields, .fields = kFields});
    network.send("rxe-tc-dscp.pcap");
    const std::string expected = of_file("rxe-tc-dscp.pcap");
    CHECK(capture.lines(lines_of(expected).size()) == expected);
    Network::run("ip link del va");
    const Ran result = capture.ended();
    CHECK(result.code == 3);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("veriroce: va: "));
}

TEST_CASE("live: what cannot be captured on is told in one line", "[dissect]") {
    const Network network;
    Network::run("ip link set vb down");
    const Ran none = ran({.interface = "vc"});
    CHECK(none.code == 3);
    CHECK(none.err == "veriroce: there is no interface \"vc\": this host has lo, va, vb\n");
    const Ran down = ran({.interface = "vb"});
    CHECK(down.code == 3);
    CHECK(down.err == "veriroce: interface vb is down: ip link set vb up\n");
    const Ran wrong = ran({.interface = "va", .capture_filter = "prt 5"});
    CHECK(wrong.code == 2);
    CHECK(wrong.err == "veriroce: dissect: -f: can't parse filter expression: syntax error\n");
}
