// An analysis as a SQLite database: tables of connections, directions, messages and episodes.
// README.md has the schema and queries.
//
//   auto database = Database::create("x.db");
//   for (...) database->add(analyzer.messages());   // after each Analyzer::observe
//   database->finish(report);
//
// The database is written beside the file and gets its name when it is complete. A file of this
// name is replaced only if it is such a database. Errors are messages for users.
#pragma once

#include <expected>
#include <memory>
#include <span>
#include <string>

#include "dissector/analyze/report.hpp"

namespace veriroce::analysis_database {

// PRAGMA application_id of the databases: "VRAN".
inline constexpr std::uint32_t kApplicationId = 0x5652414E;
// PRAGMA user_version: of the schema.
inline constexpr int kVersion = 1;

class Database {
  public:
    static std::expected<Database, std::string> create(const std::string& path);
    ~Database();
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;

    std::expected<void, std::string> add(std::span<const analyze::FinishedMessage> messages);
    // Writes everything else, makes the indexes, and gives the file its name.
    std::expected<void, std::string> finish(const analyze::Report& report);

  private:
    struct State;
    explicit Database(std::unique_ptr<State> state);
    std::unique_ptr<State> state_; // empty once it is finished
};

} // namespace veriroce::analysis_database
