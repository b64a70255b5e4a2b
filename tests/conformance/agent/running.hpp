// An agent that runs in a thread of its own, on a port of loopback that the kernel chose; and
// servers that are no agents.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "conformance/agent/service.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::agent::test {

class RunningAgent {
  public:
    RunningAgent(Backend& backend, std::string token, net::LineLimits limits = {}) {
        auto loop = net::EventLoop::open();
        REQUIRE(loop);
        loop_ = std::move(*loop);
        if (backend.descriptor() >= 0) REQUIRE(loop_->watch(backend.descriptor()));
        auto server = net::LineServer::listen(*loop_, {false, "127.0.0.1", 0}, limits);
        REQUIRE(server);
        server_ = std::move(*server);
        thread_ = std::thread([this, &backend, token = std::move(token)] {
            Log log(STDERR_FILENO);
            Service service(*loop_, *server_, backend, log, token);
            while (!stop_)
                service.step();
        });
    }
    RunningAgent(const RunningAgent&) = delete;
    RunningAgent& operator=(const RunningAgent&) = delete;
    ~RunningAgent() { end(); }

    [[nodiscard]] std::string address() const { return server_->address().text(); }
    // Ends the agent as a crash would: its connections are closed.
    void end() {
        if (!thread_.joinable()) return;
        stop_ = true;
        loop_->wake();
        thread_.join();
        server_.reset();
    }

  private:
    std::unique_ptr<net::EventLoop> loop_;
    std::unique_ptr<net::LineServer> server_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// Takes one connection, reads its first bytes and does with it what the test says.
class OtherServer {
  public:
    explicit OtherServer(std::function<void(int socket, const std::string& heard)> answer) {
        listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in local{};
        local.sin_family = AF_INET;
        local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* generic = reinterpret_cast<sockaddr*>(&local);
        socklen_t size = sizeof local;
        REQUIRE(bind(listener_, generic, size) == 0);
        REQUIRE(listen(listener_, 1) == 0);
        REQUIRE(getsockname(listener_, generic, &size) == 0);
        port_ = ntohs(local.sin_port);
        thread_ = std::thread([this, answer = std::move(answer)] {
            const int peer = accept(listener_, nullptr, nullptr);
            if (peer < 0) return;
            std::string heard(4096, '\0');
            const auto count = recv(peer, heard.data(), heard.size(), 0);
            heard.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
            answer(peer, heard);
            close(peer);
        });
    }
    OtherServer(const OtherServer&) = delete;
    OtherServer& operator=(const OtherServer&) = delete;
    ~OtherServer() {
        shutdown(listener_, SHUT_RDWR);
        thread_.join();
        close(listener_);
    }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  private:
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::thread thread_;
};

// Connects a TCP socket to the port of an agent on this host.
inline bool connect_to(int socket, const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
}

// Opens a connection from a thread in which nothing may be asserted.
class Stranger {
  public:
    explicit Stranger(const std::string& address)
        : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        static_cast<void>(connect_to(socket_, address));
    }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;
    ~Stranger() { close(socket_); }
    void say(const std::string& text) const {
        static_cast<void>(!send(socket_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    }

  private:
    int socket_;
};

inline void write_all(int socket, const std::string& text) {
    static_cast<void>(!send(socket, text.data(), text.size(), MSG_NOSIGNAL));
}

} // namespace veriroce::agent::test
