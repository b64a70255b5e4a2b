#include "dissector/mpi/facts_bytes.hpp"

#include <array>
#include <cassert>
#include <memory>
#include <type_traits>

namespace veriroce::mpi {
namespace {

// Each part of a value that is more than its bytes. A member that is added and not named here does
// not compile.
void parts(analyze::Conversation& conversation, const auto& pass) {
    auto& [id, made_by, named_by, pairing, service, mtu, setup, first_number, last_number,
           first_time, last_time, unpaired_responses, restarts, evicted, ends, directions, episodes,
           more_episodes] = conversation;
    pass(id, made_by, named_by, pairing, service, mtu, setup, first_number, last_number, first_time,
         last_time, unpaired_responses, restarts, evicted, ends, directions, episodes,
         more_episodes);
}

void parts(analyze::Direction& direction, const auto& pass) {
    auto& [request_packets, request_bytes, response_packets, response_bytes, resent, resent_bytes,
           reads_again, repeated, copies, reordered, damaged, forgotten, acks, repeated_acks,
           acknowledged, sequence_naks, rnr_naks, fatal_naks, requests_missed, responses_missed,
           requests_not_captured, responses_not_captured, undecided, resent_after_ack, outstanding,
           most_outstanding, outstanding_sum, outstanding_samples, timeouts, timeouts_in_a_row,
           longest_timeout, timer, episode_counts, messages, spent, requested, first_time,
           last_time, first_number, last_number, last_was_response, trace, open] = direction;
    pass(request_packets, request_bytes, response_packets, response_bytes, resent, resent_bytes,
         reads_again, repeated, copies, reordered, damaged, forgotten, acks, repeated_acks,
         acknowledged, sequence_naks, rnr_naks, fatal_naks, requests_missed, responses_missed,
         requests_not_captured, responses_not_captured, undecided, resent_after_ack, outstanding,
         most_outstanding, outstanding_sum, outstanding_samples, timeouts, timeouts_in_a_row,
         longest_timeout, timer, episode_counts, messages, spent, requested, first_time, last_time,
         first_number, last_number, last_was_response, trace, open);
}

void parts(analyze::MessageCounts& counts, const auto& pass) {
    auto& [messages, bytes, sizes, latencies] = counts;
    pass(messages, bytes, sizes, latencies);
}

void parts(analyze::Histogram& histogram, const auto& pass) {
    histogram.parts(pass);
}

void parts(analyze::Totals& totals, const auto& pass) {
    auto& [frames, packets, payload_bytes, damaged, datagrams, notifications, incomplete,
           fragmented, later_fragments, other_transport, pauses, priority_pauses,
           conversations_not_kept, evicted, begin, end, refusals] = totals;
    pass(frames, packets, payload_bytes, damaged, datagrams, notifications, incomplete, fragmented,
         later_fragments, other_transport, pauses, priority_pauses, conversations_not_kept, evicted,
         begin, end, refusals);
}

// Writes what it meets to a letter.
class Writer {
  public:
    explicit Writer(Letter& letter) : letter_(letter) {}

    template <typename T>
    void plain(T& value) {
        letter_.put(value);
    }
    template <typename T>
    void list(std::vector<T>& values) {
        letter_.put_list(std::span<const T>(values));
    }
    // Whether there is something behind the pointer.
    template <typename T>
    bool owned(std::unique_ptr<T>& value) {
        letter_.put(value != nullptr);
        return value != nullptr;
    }

  private:
    Letter& letter_;
};

// Reads what it meets from a letter.
class Reader {
  public:
    explicit Reader(Opened& letter) : letter_(letter) {}

    template <typename T>
    void plain(T& value) {
        value = letter_.take<T>();
    }
    template <typename T>
    void list(std::vector<T>& values) {
        values = letter_.take_list<T>();
    }
    template <typename T>
    bool owned(std::unique_ptr<T>& value) {
        if (letter_.take<bool>()) value = std::make_unique<T>();
        return value != nullptr;
    }

  private:
    Opened& letter_;
};

// Leads a Writer or a Reader through a value.
template <typename Visitor>
class Walk {
  public:
    explicit Walk(Visitor visitor) : visitor_(visitor) {}

    void pass(std::unique_ptr<analyze::Trace>& trace) { assert(trace == nullptr); }
    template <typename T>
    void pass(std::unique_ptr<T>& value) {
        if (visitor_.owned(value)) pass(*value);
    }
    template <typename T>
    void pass(std::vector<T>& values) {
        visitor_.list(values);
    }
    template <typename T, std::size_t kCount>
        requires(!std::is_trivially_copyable_v<T>)
    void pass(std::array<T, kCount>& values) {
        for (T& value : values)
            pass(value);
    }
    template <typename T>
    void pass(T& value) {
        if constexpr (std::is_trivially_copyable_v<T>) {
            visitor_.plain(value);
        } else {
            parts(value, [this](auto&... part) { (this->pass(part), ...); });
        }
    }

  private:
    Visitor visitor_;
};

} // namespace

void put_conversation(Letter& letter, analyze::Conversation& conversation) {
    Walk(Writer(letter)).pass(conversation);
}

void take_conversation(Opened& letter, analyze::Conversation& fresh) {
    Walk(Reader(letter)).pass(fresh);
}

void put_totals(Letter& letter, analyze::Totals& totals) {
    Walk(Writer(letter)).pass(totals);
}

analyze::Totals take_totals(Opened& letter) {
    analyze::Totals totals;
    Walk(Reader(letter)).pass(totals);
    return totals;
}

} // namespace veriroce::mpi
