// What each state of an RC QP does with each event: tests/golden/engine-states.txt. Run with
// VERIROCE_UPDATE_GOLDEN=1 to write it again, and read the difference.
#include "tests/transport/engine/requests.hpp"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

using namespace veriroce;
using namespace veriroce::engine;
using namespace veriroce::engine::test;

namespace {

constexpr std::array golden_states{QpState::Reset, QpState::Init, QpState::Rtr,
                                   QpState::Rts,   QpState::Sqd,  QpState::Err};

// A QP in a state, with what the state lets it have: two receives, a READ that the peer did on it
// (PSN 1000), and a WRITE and a READ of its own on their way (PSN 2000 and 2001).
class Stage : public Lab {
  public:
    explicit Stage(QpState state) : Lab(before(state)) {
        if (state != QpState::Reset) {
            post_receive(1, 64);
            post_receive(2, 64);
        }
        if (state != QpState::Reset && state != QpState::Init) {
            wire::Packet read = packet("RDMA_READ_REQUEST", rq_psn);
            read.reth.dma_length = 8;
            receive(read);
        }
        if (state == QpState::Rts || state == QpState::Sqd) {
            test::post(*this, WrOpcode::RdmaWrite, 8, 11);
            test::post(*this, WrOpcode::RdmaRead, 8, 12);
        }
        drain();
        if (state == QpState::Sqd || state == QpState::Err) {
            REQUIRE(engine.modify_qp(qp, {.state = state}, now));
        }
        REQUIRE(this->state() == state);
        sends();
        receives();
        (void)Lab::events();
    }

  private:
    static LabOptions before(QpState state) {
        LabOptions options;
        options.state = state == QpState::Sqd || state == QpState::Err ? QpState::Rts : state;
        return options;
    }
};

std::string outcome(const std::expected<void, VerbError>& result) {
    return result ? "taken" : std::string(name_of(result.error()));
}
std::string outcome(const Engine::Posted& posted) {
    return posted.refused ? std::string(name_of(*posted.refused)) : "taken";
}

struct Happening {
    std::string name;
    std::function<std::string(Stage&)> act; // what the verb says, if it is one
};

Happening modify_to(QpState to) {
    return {"modify to " + std::string(name_of(to)), [to](Stage& stage) {
                return outcome(
                    stage.engine.modify_qp(stage.qp, attributes_to(stage.state(), to), stage.now));
            }};
}

Happening posted(std::string name, SendRequest request, std::uint32_t length) {
    return {std::move(name), [=](Stage& stage) mutable {
                const Sge piece = stage.sge(0, length);
                if (length != 0) request.sges = std::span(&piece, 1);
                return outcome(stage.engine.post_send(stage.qp, std::span(&request, 1), stage.now));
            }};
}

Happening inbound(std::string name, std::string opcode, int n,
                  std::function<void(wire::Packet&)> change = {}, std::size_t payload = 0) {
    return {std::move(name), [=](Stage& stage) {
                wire::Packet packet = stage.packet(opcode, rq_psn + n);
                packet.reth.dma_length = 8;
                if (change) change(packet);
                stage.receive(packet, pattern(payload));
                return std::string();
            }};
}

Happening answer(std::string name, std::string opcode, int n, std::uint32_t msn,
                 std::uint8_t syndrome, std::size_t payload = 0) {
    return {std::move(name), [=](Stage& stage) {
                wire::Packet packet = response(stage, opcode, n, msn);
                packet.aeth.syndrome = {syndrome};
                stage.receive(packet, pattern(payload));
                return std::string();
            }};
}

Happening congestion() {
    return {"CNP", [](Stage& stage) {
                wire::Packet packet;
                packet.bth = {.opcode = wire::kCnpOpcode, .dest_qp = our_qpn};
                stage.receive(packet, std::vector<std::byte>(16));
                return std::string();
            }};
}

std::vector<Happening> verbs() {
    std::vector<Happening> all;
    for (const QpState to : {QpState::Reset, QpState::Init, QpState::Rtr, QpState::Rts,
                             QpState::Sqd, QpState::Sqe, QpState::Err})
        all.push_back(modify_to(to));
    all.push_back(posted("post SEND", {.id = 21, .opcode = WrOpcode::Send}, 8));
    all.push_back(posted("post RDMA_READ", {.id = 21, .opcode = WrOpcode::RdmaRead}, 8));
    all.push_back(posted("post LOCAL_INV of no key", {.id = 21, .opcode = WrOpcode::LocalInv}, 0));
    all.push_back({"post receive", [](Stage& stage) {
                       const ReceiveRequest request{.id = 22};
                       return outcome(stage.engine.post_receive(stage.qp, std::span(&request, 1)));
                   }});
    all.push_back({"timeout", [](Stage& stage) {
                       if (!stage.engine.next_timeout()) return std::string("none runs");
                       stage.next_deadline();
                       return std::string();
                   }});
    all.push_back(
        {"destroy", [](Stage& stage) { return outcome(stage.engine.destroy_qp(stage.qp)); }});
    return all;
}

std::vector<Happening> requests() {
    const auto bad_key = [](wire::Packet& packet) { packet.reth.rkey.value ^= 0xFF00; };
    return {
        inbound("SEND", "SEND_ONLY", 1, {}, 8),
        inbound("SEND with a key that may not be revoked", "SEND_ONLY_WITH_INV", 1, {}, 8),
        inbound("SEND too long for its receive", "SEND_ONLY", 1, {}, 1024),
        inbound("WRITE", "RDMA_WRITE_ONLY", 1, {}, 8),
        inbound("WRITE with immediate data", "RDMA_WRITE_ONLY_WITH_IMM", 1, {}, 8),
        inbound("WRITE with a wrong key", "RDMA_WRITE_ONLY", 1, bad_key, 8),
        inbound("READ", "RDMA_READ_REQUEST", 1),
        inbound("FETCH_ADD", "FETCH_ADD", 1),
        inbound("ATOMIC_WRITE", "ATOMIC_WRITE", 1, {}, 8),
        inbound("FLUSH without the right", "FLUSH", 1,
                [](wire::Packet& packet) { packet.feth.placement = 1; }),
        inbound("reserved opcode", "SEND_ONLY", 1,
                [](wire::Packet& packet) { packet.bth.opcode = 0x1F; }),
        inbound("SEND_MIDDLE out of the blue", "SEND_MIDDLE", 1, {}, 1024),
        inbound("SEND ahead of its PSN", "SEND_ONLY", 3, {}, 8),
        inbound("duplicate READ", "RDMA_READ_REQUEST", 0),
        inbound("duplicate SEND that never was", "SEND_ONLY", -1, {}, 8),
        inbound(
            "UD packet", "SEND_ONLY", 1, [](wire::Packet& packet) { packet.bth.opcode = 0x64; },
            16),
        inbound(
            "wrong P_Key", "SEND_ONLY", 1, [](wire::Packet& packet) { packet.bth.pkey = {0x1234}; },
            8),
    };
}

std::vector<Happening> responses() {
    return {
        answer("ACK of the WRITE", "ACKNOWLEDGE", 0, 1, 0x1F),
        answer("ACK of the READ", "ACKNOWLEDGE", 1, 2, 0x1F),
        answer("ACK of what was never sent", "ACKNOWLEDGE", 5, 9, 0x1F),
        answer("sequence NAK", "ACKNOWLEDGE", 0, 0, 0x60),
        answer("NAK invalid request", "ACKNOWLEDGE", 0, 0, 0x61),
        answer("NAK remote access", "ACKNOWLEDGE", 0, 0, 0x62),
        answer("NAK remote operational", "ACKNOWLEDGE", 0, 0, 0x63),
        answer("reserved NAK", "ACKNOWLEDGE", 0, 0, 0x68),
        answer("RNR NAK", "ACKNOWLEDGE", 0, 0, 0x21),
        answer("READ response", "RDMA_READ_RESPONSE_ONLY", 1, 2, 0x1F, 8),
        answer("READ response of a wrong length", "RDMA_READ_RESPONSE_ONLY", 1, 2, 0x1F, 12),
        answer("ATOMIC_ACKNOWLEDGE", "ATOMIC_ACKNOWLEDGE", 1, 2, 0x1F),
        congestion(),
    };
}

std::string text_of(const Completion& done) {
    std::ostringstream text;
    text << (done.queue == Queue::Send ? "send " : "receive ") << done.id << ' '
         << name_of(done.status);
    return text.str();
}

std::string text_of(const Sent& sent) {
    const auto packet = wire::decode_packet(sent.bytes).value();
    std::ostringstream text;
    text << "sends " << packet.info().name << ' ' << packet.bth.psn.value();
    if (packet.headers.has(wire::Header::Aeth)) {
        text << " 0x" << std::hex << unsigned{packet.aeth.syndrome.value};
    }
    return text.str();
}

// All that the event brought about, in one line.
std::string cell(QpState state, const Happening& happening) {
    Stage stage(state);
    std::vector<std::string> parts;
    if (std::string said = happening.act(stage); !said.empty()) parts.push_back(std::move(said));
    for (const Sent& sent : stage.drain())
        parts.push_back(text_of(sent));
    for (const Completion& done : stage.sends())
        parts.push_back(text_of(done));
    for (const Completion& done : stage.receives())
        parts.push_back(text_of(done));
    for (const Event& event : static_cast<Lab&>(stage).events())
        parts.emplace_back(name_of(event.type));
    const auto report = stage.engine.query_qp(stage.qp);
    if (!report) {
        parts.emplace_back("gone");
    } else if (report->state != state) {
        parts.push_back("-> " + std::string(name_of(report->state)));
    }
    if (parts.empty()) return "-";
    std::string line;
    for (const std::string& part : parts)
        line += (line.empty() ? "" : ", ") + part;
    return line;
}

void describe(std::ostream& out, QpState state, std::string_view title,
              const std::vector<Happening>& happenings) {
    constexpr std::size_t column = 46;
    out << "  " << title << '\n';
    for (const Happening& happening : happenings) {
        std::string name = "    " + happening.name;
        name.resize(std::max(column, name.size() + 1), ' ');
        out << name << cell(state, happening) << '\n';
    }
}

std::string matrix() {
    std::ostringstream out;
    out << "What an RC QP of the engine does, by its state and what happens to it: verbs, packets\n"
           "that it sends, completions, events, its new state; \"-\" is silence. It has two\n"
           "receives of 64 bytes (1, 2), has answered the peer's READ at PSN 1000, and in RTS and\n"
           "SQD a WRITE (11, PSN 2000) and a READ (12, PSN 2001) of its own are on their way.\n"
           "Written by tests/transport/engine/states_golden_test.cpp.\n";
    for (const QpState state : golden_states) {
        out << '\n' << name_of(state) << '\n';
        describe(out, state, "verbs and time", verbs());
        describe(out, state, "requests", requests());
        describe(out, state, "responses", responses());
    }
    return out.str();
}

} // namespace

TEST_CASE("states: every state with every event is as the golden file has it",
          "[engine][STA-01][STA-02][STA-03][STA-05][STA-06][STA-07][STA-09][STA-10]") {
    const std::string path = std::string(VERIROCE_SOURCE_DIR) + "/tests/golden/engine-states.txt";
    const std::string now = matrix();
    if (std::getenv("VERIROCE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << now;
    std::ifstream file(path);
    std::ostringstream golden;
    golden << file.rdbuf();
    std::istringstream ours(now);
    std::istringstream theirs(golden.str());
    std::string mine;
    std::string wanted;
    for (int line = 1; std::getline(ours, mine); ++line) {
        INFO("line " << line << " of " << path);
        wanted.clear();
        std::getline(theirs, wanted);
        CHECK(mine == wanted);
    }
    CHECK(now == golden.str());
}
