// Keeps the pages of a mapped file around the reader in memory, and no others.
//
// A second thread faults in the pages before the reader gets there. The reader then waits for
// neither the disk nor the page table, which takes a third of the time for a file of large packets.
// Pages far behind the reader are given back, so that a file of many gigabytes does not count as
// memory of the process. They stay readable: the kernel fetches them again. Internal to this room.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>

#include "dissector/wire/bytes.hpp"

namespace veriroce::capture {

class PagePrefetcher {
  public:
    // Null for a small map. With a single processor or no thread available, pages are only given
    // back.
    static std::unique_ptr<PagePrefetcher> of(wire::Bytes map);

    PagePrefetcher(const PagePrefetcher&) = delete;
    PagePrefetcher& operator=(const PagePrefetcher&) = delete;
    // Joins the thread if there is one. The map must still exist.
    ~PagePrefetcher();

    // The reader has consumed everything before `offset`.
    void reached(std::size_t offset);

  private:
    explicit PagePrefetcher(wire::Bytes map) : map_(map) {}
    void fetch();
    void give_back(std::size_t reached);

    wire::Bytes map_;
    std::atomic<std::size_t> reached_ = 0;
    std::size_t given_back_ = 0; // used by the thread, or by the reader if there is none
    std::thread thread_;
};

} // namespace veriroce::capture
