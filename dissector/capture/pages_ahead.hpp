// The pages of a mapped file, fetched by a second thread ahead of who reads them: reading then
// waits neither for the file nor for the page table, which takes a third of the time of a file of
// large packets. Internal to this room.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

class PagesAhead {
  public:
    // Nothing where it would be of no use: a small map, a single processor, no thread to be had.
    static std::unique_ptr<PagesAhead> of(wire::Bytes map);

    PagesAhead(const PagesAhead&) = delete;
    PagesAhead& operator=(const PagesAhead&) = delete;
    // Ends the thread; the map is still there then.
    ~PagesAhead();

    // All before `offset` was read.
    void reached(std::size_t offset);

  private:
    explicit PagesAhead(wire::Bytes map);
    void fetch();

    wire::Bytes map_;
    std::atomic<std::size_t> reached_ = 0;
    std::thread thread_;
};

} // namespace veriroce::capture
