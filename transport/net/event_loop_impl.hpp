// Internal: the Asio part of the event loop, shared with LineServer.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <deque>
#include <map>

#include "transport/net/event_loop.hpp"

namespace veriroce::net {

struct EventLoop::Impl {
    struct Watch {
        boost::asio::posix::stream_descriptor descriptor;
        bool armed = false;
    };

    boost::asio::io_context io{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work =
        boost::asio::make_work_guard(io);
    std::map<int, Watch> watches;
    std::deque<int> ready;
    boost::asio::signal_set signals{io};
    std::deque<int> caught;
    bool has_events = false; // there is something to poll: run_once returns

    void arm_watches();
    void run_ready();
    void wait_for_signal();
};

} // namespace veriroce::net
