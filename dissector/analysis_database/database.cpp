#include "dissector/analysis_database/database.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dissector/analyze/explain.hpp"

namespace veriroce::analysis_database {
namespace {

using analyze::Direction;
using analyze::Episode;

constexpr const char* kSchema = R"(
CREATE TABLE capture (
    frames INTEGER, packets INTEGER, payload_bytes INTEGER, damaged INTEGER, datagrams INTEGER,
    cnps INTEGER, pauses INTEGER, priority_pauses INTEGER, begin_ns INTEGER, end_ns INTEGER,
    healthy INTEGER);
CREATE TABLE connections (
    connection INTEGER PRIMARY KEY, service TEXT, pairing TEXT, mtu INTEGER,
    address_0 TEXT, qp_0 INTEGER, address_1 TEXT, qp_1 INTEGER,
    first_packet INTEGER, last_packet INTEGER, begin_ns INTEGER, end_ns INTEGER,
    packets INTEGER, payload_bytes INTEGER, healthy INTEGER, died INTEGER, explanation TEXT);
CREATE TABLE directions (
    connection INTEGER, requester INTEGER, requests INTEGER, request_bytes INTEGER,
    responses INTEGER, response_bytes INTEGER, resent INTEGER, resent_bytes INTEGER,
    repeated INTEGER, copies INTEGER, reordered INTEGER, damaged INTEGER,
    sequence_naks INTEGER, rnr_naks INTEGER, fatal_naks INTEGER, timeouts INTEGER,
    missed INTEGER, not_captured INTEGER, undecided INTEGER, outstanding_max INTEGER,
    idle_ns INTEGER, sending_ns INTEGER, waiting_ns INTEGER, rnr_wait_ns INTEGER,
    reacting_ns INTEGER, resending_ns INTEGER, timeout_ns INTEGER, ending TEXT,
    PRIMARY KEY (connection, requester)) WITHOUT ROWID;
CREATE TABLE messages (
    connection INTEGER, requester INTEGER, kind TEXT, psn INTEGER, last_psn INTEGER,
    bytes INTEGER, first_packet INTEGER, answer_packet INTEGER, begin_ns INTEGER,
    latency_ns INTEGER, resent INTEGER);
CREATE TABLE episodes (
    connection INTEGER, requester INTEGER, kind TEXT, verdict TEXT, psn INTEGER, read INTEGER,
    recovered INTEGER, naks INTEGER, timeouts INTEGER, resent INTEGER,
    begin_packet INTEGER, nak_packet INTEGER, resent_packet INTEGER, end_packet INTEGER,
    begin_ns INTEGER, detection_ns INTEGER, reaction_ns INTEGER, duration_ns INTEGER);
)";

constexpr const char* kIndexes = R"(
CREATE INDEX messages_by_latency ON messages (connection, latency_ns);
CREATE INDEX messages_by_time ON messages (begin_ns);
CREATE INDEX episodes_by_connection ON episodes (connection, begin_ns);
COMMIT;
)";

// Values of one row, in the order of the columns.
class Row {
  public:
    explicit Row(sqlite3_stmt* statement) : statement_(statement) {}

    Row& number(std::int64_t value) {
        sqlite3_bind_int64(statement_, ++column_, value);
        return *this;
    }
    Row& count(std::uint64_t value) { return number(static_cast<std::int64_t>(value)); }
    // A packet's number; NULL if there is none.
    Row& packet(std::uint64_t value) { return value == 0 ? null() : count(value); }
    // The text outlives the step.
    Row& text(std::string_view value) {
        sqlite3_bind_text(statement_, ++column_, value.data(), static_cast<int>(value.size()),
                          SQLITE_STATIC);
        return *this;
    }
    Row& time(std::optional<wire::Instant> value) {
        return value ? number(value->time_since_epoch().count()) : null();
    }
    Row& duration(std::optional<wire::Duration> value) {
        return value ? number(value->count()) : null();
    }
    Row& null() {
        sqlite3_bind_null(statement_, ++column_);
        return *this;
    }
    // Whether the row was written.
    bool insert() {
        const bool done = sqlite3_step(statement_) == SQLITE_DONE;
        return sqlite3_reset(statement_) == SQLITE_OK && done;
    }

  private:
    sqlite3_stmt* statement_;
    int column_ = 0;
};

struct CloseDatabase {
    void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

// Why a file that is there must not be replaced; empty if it may.
std::string why_not_replace(const std::string& path) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0) {
        return errno == ENOENT ? std::string{} : std::string(std::strerror(errno));
    }
    const std::string refusal = "exists and is not a database of veriroce analyze; not overwritten";
    if (!S_ISREG(status.st_mode)) return refusal;
    std::array<char, 72> head{}; // the header of SQLite's file format
    std::ifstream file(path, std::ios::binary);
    if (!file.read(head.data(), head.size())) return refusal;
    std::uint32_t id = 0;
    for (std::size_t i = 68; i < head.size(); ++i)
        id = id << 8 | static_cast<unsigned char>(head[i]);
    const bool own = std::string_view(head.data(), 15) == "SQLite format 3" && id == kApplicationId;
    return own ? std::string{} : refusal;
}

std::string_view pairing_name(flow::Pairing pairing) {
    switch (pairing) {
    case flow::Pairing::None: return "none";
    case flow::Pairing::Inferred: return "inferred";
    case flow::Pairing::Known: return "cm";
    }
    return {};
}

std::string_view service_name(wire::Service service) {
    return service == wire::Service::Uc ? "UC" : "RC";
}

} // namespace

struct Database::State {
    std::string path;
    std::string part; // the file until it is complete; empty: it has its name
    std::unique_ptr<sqlite3, CloseDatabase> database;
    Statement message;

    ~State() {
        message.reset();
        database.reset();
        if (!part.empty()) ::unlink(part.c_str());
    }
    [[nodiscard]] std::unexpected<std::string> error(std::string_view what) const {
        return std::unexpected(
            fmt::format("{}: {}: {}", path, what, sqlite3_errmsg(database.get())));
    }
    bool run(const char* sql) {
        return sqlite3_exec(database.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
    }
    Statement insert_into(const char* table, int columns) {
        std::string sql = fmt::format("INSERT INTO {} VALUES (?", table);
        for (int i = 1; i < columns; ++i)
            sql += ",?";
        sqlite3_stmt* statement = nullptr;
        sqlite3_prepare_v2(database.get(), (sql + ")").c_str(), -1, &statement, nullptr);
        return Statement(statement);
    }
    bool write_capture(const analyze::Report& report);
    bool write_connections(const analyze::Report& report);
    static bool write_direction(sqlite3_stmt* statement, const analyze::Reported& one,
                                std::size_t requester);
    static bool write_episodes(sqlite3_stmt* statement, const analyze::Conversation& one);
};

bool Database::State::write_capture(const analyze::Report& report) {
    const Statement statement = insert_into("capture", 11);
    if (!statement) return false;
    const analyze::Totals& totals = *report.totals;
    return Row(statement.get())
        .count(totals.frames)
        .count(totals.packets)
        .count(totals.payload_bytes)
        .count(totals.damaged)
        .count(totals.datagrams)
        .count(totals.notifications)
        .count(totals.pauses)
        .count(totals.priority_pauses)
        .time(totals.begin)
        .time(totals.end)
        .number(report.healthy() ? 1 : 0)
        .insert();
}

bool Database::State::write_direction(sqlite3_stmt* statement, const analyze::Reported& one,
                                      std::size_t requester) {
    const Direction& facts = one.conversation->directions[requester];
    if (facts.packets() == 0) return true;
    Row row(statement);
    row.count(one.conversation->id).count(requester);
    row.count(facts.request_packets).count(facts.request_bytes);
    row.count(facts.response_packets).count(facts.response_bytes);
    row.count(facts.all_resent()).count(facts.resent_bytes).count(facts.repeated);
    row.count(facts.copies).count(facts.reordered).count(facts.damaged);
    row.count(facts.sequence_naks).count(facts.rnr_naks).count(facts.fatal_naks);
    row.count(facts.timeouts).count(facts.all_missed()).count(facts.not_captured());
    row.count(facts.undecided).count(facts.most_outstanding);
    for (const analyze::TimeSpent& spent : facts.spent)
        row.number(spent.sum.count());
    return row.text(name_of(one.health.endings[requester])).insert();
}

bool Database::State::write_episodes(sqlite3_stmt* statement, const analyze::Conversation& one) {
    for (const Episode& episode : one.episodes) {
        const bool done = Row(statement)
                              .count(one.id)
                              .count(episode.requester)
                              .text(name_of(episode.kind))
                              .text(name_of(episode.verdict))
                              .count(episode.psn.value())
                              .number(episode.read ? 1 : 0)
                              .number(episode.recovered ? 1 : 0)
                              .count(episode.naks)
                              .count(episode.timeouts)
                              .count(episode.resent)
                              .packet(episode.begin_number)
                              .packet(episode.nak_number)
                              .packet(episode.resent_number)
                              .packet(episode.end_number)
                              .time(episode.begin)
                              .duration(episode.detection())
                              .duration(episode.reaction())
                              .duration(episode.duration())
                              .insert();
        if (!done) return false;
    }
    return true;
}

bool Database::State::write_connections(const analyze::Report& report) {
    const Statement connections = insert_into("connections", 17);
    const Statement directions = insert_into("directions", 28);
    const Statement episodes = insert_into("episodes", 18);
    if (!connections || !directions || !episodes) return false;
    for (const analyze::Reported& one : report.connections) {
        const analyze::Conversation& facts = *one.conversation;
        const std::string addresses[2] = {facts.ends[0].address.text(),
                                          facts.ends[1].address.text()};
        const std::string text = explain(facts, one.health, report.totals->end);
        Row row(connections.get());
        row.count(facts.id).text(service_name(facts.service)).text(pairing_name(facts.pairing));
        facts.mtu ? row.count(wire::bytes_of(*facts.mtu)) : row.null();
        for (std::size_t end = 0; end < 2; ++end) {
            row.text(addresses[end]);
            facts.ends[end].qpn ? row.count(facts.ends[end].qpn->value) : row.null();
        }
        row.packet(facts.first_number).packet(facts.last_number);
        row.time(facts.first_time).time(facts.last_time);
        row.count(facts.packets()).count(facts.bytes());
        row.number(one.health.healthy() ? 1 : 0).number(one.health.died() ? 1 : 0).text(text);
        if (!row.insert()) return false;
        for (std::size_t requester = 0; requester < 2; ++requester)
            if (!write_direction(directions.get(), one, requester)) return false;
        if (!write_episodes(episodes.get(), facts)) return false;
    }
    return true;
}

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

std::expected<Database, std::string> Database::create(const std::string& path) {
    if (const std::string why = why_not_replace(path); !why.empty()) {
        return std::unexpected(path + ": " + why);
    }
    auto state = std::make_unique<State>();
    state->path = path;
    std::string part = path + ".XXXXXX";
    const int file = ::mkstemp(part.data());
    if (file < 0) return std::unexpected(path + ": " + std::strerror(errno));
    const mode_t mask = ::umask(0);
    ::umask(mask);
    constexpr mode_t kEverybody = 0666;
    static_cast<void>(::fchmod(file, kEverybody & ~mask)); // as an ordinary new file
    ::close(file);
    state->part = part;
    sqlite3* database = nullptr;
    const int opened = sqlite3_open(part.c_str(), &database);
    state->database.reset(database);
    // A file that is not complete is thrown away: nothing has to survive a crash.
    const std::string settings = fmt::format(
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
        "PRAGMA application_id={}; PRAGMA user_version={};",
        kApplicationId, kVersion);
    if (opened != SQLITE_OK || !state->run(settings.c_str()) || !state->run("BEGIN") ||
        !state->run(kSchema)) {
        return state->error("the database cannot be made");
    }
    state->message = state->insert_into("messages", 11);
    if (!state->message) return state->error("the database cannot be made");
    return Database(std::move(state));
}

std::expected<void, std::string> Database::add(std::span<const analyze::FinishedMessage> messages) {
    for (const analyze::FinishedMessage& one : messages) {
        const flow::Message& message = one.message;
        const bool done = Row(state_->message.get())
                              .count(one.conversation)
                              .count(one.requester)
                              .text(name_of(analyze::kind_of(message.info().operation)))
                              .count(message.first.value())
                              .count(message.last.value())
                              .count(message.bytes)
                              .packet(message.start_number)
                              .packet(message.answer_number)
                              .time(message.start)
                              .duration(message.begun ? message.latency() : std::nullopt)
                              .count(message.retransmissions)
                              .insert();
        if (!done) return state_->error("a message cannot be written");
    }
    return {};
}

std::expected<void, std::string> Database::finish(const analyze::Report& report) {
    State& state = *state_;
    if (!state.write_capture(report) || !state.write_connections(report) || !state.run(kIndexes)) {
        return state.error("writing failed");
    }
    state.message.reset();
    state.database.reset();
    // Somebody else may have put a file there meanwhile.
    if (const std::string why = why_not_replace(state.path); !why.empty()) {
        return std::unexpected(state.path + ": " + why);
    }
    if (::rename(state.part.c_str(), state.path.c_str()) != 0) {
        return std::unexpected(state.path + ": " + std::strerror(errno));
    }
    state.part.clear();
    return {};
}

} // namespace veriroce::analysis_database
