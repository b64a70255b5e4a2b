// What the requests of one end of an RC connection brought to their receiver: payload and messages,
// each PSN once, however often it was sent.
//
//   delivery.sent(psn, bytes, ends_message);  // a request with payload, or an atomic, came
//   delivery.acknowledged(psn);               // the requester learns of all up to this PSN
//   delivery.answered(psn, bytes, ends);      // a READ response left undamaged
//
// Units: PSNs are relative to the requester's first one. Bounds: kMaxUnacknowledged requests and
// the last kAnswers READ responses are known; others do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace veriroce::inject {

struct Delivered {
    std::uint64_t bytes = 0;    // payload
    std::uint64_t messages = 0; // SEND, WRITE, READ and atomic

    Delivered& operator+=(const Delivered& more) {
        bytes += more.bytes;
        messages += more.messages;
        return *this;
    }
};

class Delivery {
  public:
    static constexpr std::size_t kMaxUnacknowledged = 65'536;
    static constexpr std::int64_t kAnswers = 16'384;

    void sent(std::int64_t psn, std::size_t bytes, bool ends_message);
    // Both return what is delivered by it.
    Delivered acknowledged(std::int64_t through);
    Delivered answered(std::int64_t psn, std::size_t bytes, bool ends_message);

  private:
    struct Request {
        std::int64_t psn = 0;
        std::uint32_t bytes = 0;
        bool ends_message = false;
    };
    [[nodiscard]] std::uint64_t& word_of(std::int64_t psn);

    std::deque<Request> open_;           // by PSN
    std::vector<std::uint64_t> answers_; // a bit for each of the last PSNs, once there is one
    std::int64_t last_answer_ = -1;
};

} // namespace veriroce::inject
