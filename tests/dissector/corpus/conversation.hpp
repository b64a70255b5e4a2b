// Two ends that connect by CM and send each other messages, as frames. Internal to this folder.
#pragma once

#include "dissector/wire/bytes.hpp"
#include "dissector/wire/packet_spec.hpp"
#include "tests/dissector/corpus/corpus.hpp"

namespace veriroce::corpus {

// Joins bytes.
class Message {
  public:
    Message& be(std::uint64_t value, std::size_t bytes) {
        for (std::size_t i = bytes; i > 0; --i)
            bytes_.push_back(static_cast<std::byte>(value >> (8 * (i - 1))));
        return *this;
    }
    Message& le(std::uint64_t value, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i)
            bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
        return *this;
    }
    Message& zeros(std::size_t bytes) { return fill(bytes, 0); }
    Message& fill(std::size_t bytes, unsigned value) {
        bytes_.insert(bytes_.end(), bytes, static_cast<std::byte>(value));
        return *this;
    }
    Message& append(const Message& other) {
        bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
        return *this;
    }
    // Zeros until there are this many.
    Message& up_to(std::size_t bytes) {
        bytes_.resize(bytes);
        return *this;
    }
    [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

  private:
    std::vector<std::byte> bytes_;
};

enum class From : std::uint8_t { Client, Server };

class Conversation {
  public:
    // `ordinal` tells the connections of one corpus apart.
    Conversation(Corpus& corpus, bool v6, unsigned ordinal);

    // REQ, REP and RTU of the RDMA IP CM service.
    void connect(std::uint16_t port, const Message& request_private, const Message& reply_private);
    void reject(std::uint16_t port, const Message& request_private, const Message& reject_private);
    void disconnect();
    // One packet of the connection.
    void send(From from, std::uint8_t opcode, const Message& message, const std::string& what);

  private:
    [[nodiscard]] Message request(std::uint16_t port, const Message& private_data) const;
    [[nodiscard]] std::string name(const std::string& what) const;
    void management(From from, std::uint16_t attribute, const Message& data,
                    const std::string& what);
    [[nodiscard]] wire::Sender sender(From from) const;

    Corpus& corpus_;
    bool v6_;
    unsigned ordinal_;
    std::uint32_t next_psn_[2];
};

// QPs of a connection.
std::uint32_t client_qp(unsigned ordinal);
std::uint32_t server_qp(unsigned ordinal);
// Of the packets that the client sends.
std::uint32_t first_psn(From from, unsigned ordinal);

} // namespace veriroce::corpus
