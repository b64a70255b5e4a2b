// The database of a capture, read with SQLite itself.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include <sqlite3.h>

#include "dissector/analysis_database/database.hpp"
#include "tests/dissector/flow/captured.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/text.hpp"

namespace veriroce::analysis_database::test {
namespace {

// The rows of a query, with | between columns.
std::vector<std::string> rows_of(const std::string& path, const std::string& sql) {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK);
    std::vector<std::string> rows;
    const auto add = [](void* to, int columns, char** values, char** /*names*/) {
        std::string row;
        for (int i = 0; i < columns; ++i)
            row += (i > 0 ? "|" : "") + std::string(values[i] == nullptr ? "NULL" : values[i]);
        static_cast<std::vector<std::string>*>(to)->push_back(row);
        return 0;
    };
    char* error = nullptr;
    INFO(sql);
    sqlite3_exec(database, sql.c_str(), add, &rows, &error);
    CHECK(std::string(error == nullptr ? "" : error).empty());
    sqlite3_free(error);
    sqlite3_close(database);
    return rows;
}

std::expected<void, std::string> write(const std::string& path, std::string_view capture) {
    auto database = Database::create(path);
    if (!database) return std::unexpected(database.error());
    analyze::Analyzer analyzer({.flow = {}, .messages = true});
    decode::Dissection dissection;
    std::uint64_t number = 0;
    for (const auto& frame : flow::test::frames_of(flow::test::pcap(capture))) {
        flow::test::dissect(frame, ++number, dissection);
        analyzer.observe({&dissection, 1});
        const auto added = database->add(analyzer.messages());
        if (!added) return added;
    }
    analyzer.finish();
    return database->finish(report_of(analyzer, {}));
}

std::vector<std::string> queries_of_readme() {
    const std::string text = house::read_text(std::filesystem::path(VERIROCE_SOURCE_DIR) /
                                              "dissector/analysis_database/README.md");
    std::vector<std::string> queries;
    constexpr std::string_view kBegin = "```sql\n";
    for (std::size_t at = 0; (at = text.find(kBegin, at)) != std::string::npos;) {
        at += kBegin.size();
        queries.push_back(text.substr(at, text.find("```", at) - at));
    }
    return queries;
}

} // namespace

TEST_CASE("database: its rows are what the capture holds", "[analysis_database]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.path() / "x.db";
    REQUIRE(write(path, "rxe-write-loss"));
    CHECK(rows_of(path, "PRAGMA integrity_check") == std::vector<std::string>{"ok"});
    CHECK(rows_of(path, "SELECT frames, packets, healthy FROM capture") ==
          std::vector<std::string>{"499|499|0"});
    CHECK(rows_of(path, "SELECT address_0, address_1, pairing, mtu, packets, healthy, died "
                        "FROM connections") ==
          std::vector<std::string>{"10.77.0.1|10.77.0.2|inferred|1024|499|0|0"});
    CHECK(rows_of(path, "SELECT requests, responses, repeated, sequence_naks, missed, "
                        "not_captured, ending FROM directions") ==
          std::vector<std::string>{"478|21|286|9|9|0|quiet"});
    // As count_messages.py has them.
    CHECK(rows_of(path, "SELECT kind, count(*), sum(bytes), min(latency_ns), max(latency_ns), "
                        "sum(latency_ns) FROM messages GROUP BY kind") ==
          std::vector<std::string>{"WRITE|12|196608|2169000|42310000|264134000"});
    CHECK(rows_of(path, "SELECT count(*) FROM episodes WHERE kind = 'sequence-nak' AND verdict = "
                        "'behind' AND recovered") == std::vector<std::string>{"9"});
    CHECK(rows_of(path, "PRAGMA journal_mode") != std::vector<std::string>{"wal"});
}

TEST_CASE("database: every query of its page has rows", "[analysis_database]") {
    const house::TemporaryFolder folder;
    const std::string path = folder.path() / "x.db";
    REQUIRE(write(path, "rxe-write-loss"));
    const auto queries = queries_of_readme();
    CHECK(queries.size() == 3);
    for (const std::string& query : queries) {
        const auto rows = rows_of(path, query);
        INFO(query);
        CHECK(rows.size() >= 6);
        for (const std::string& row : rows)
            CHECK(row.find("NULL") == std::string::npos);
    }
}

TEST_CASE("database: only a database of its own is replaced", "[analysis_database]") {
    const house::TemporaryFolder folder;
    const std::string own = folder.path() / "own.db";
    REQUIRE(write(own, "rxe-write-loss"));
    REQUIRE(write(own, "rxe-rnr-nak"));
    CHECK(rows_of(own, "SELECT frames FROM capture") == std::vector<std::string>{"22"});

    const std::string notes = folder.path() / "notes.txt";
    std::ofstream(notes) << "these are my notes";
    CHECK(Database::create(notes).error() ==
          notes + ": exists and is not a database of veriroce analyze; not overwritten");
    CHECK(house::read_text(notes) == "these are my notes");
    const std::string other = folder.path() / "other.db";
    sqlite3* database = nullptr;
    sqlite3_open(other.c_str(), &database);
    sqlite3_exec(database, "CREATE TABLE mine (a)", nullptr, nullptr, nullptr);
    sqlite3_close(database);
    CHECK_FALSE(Database::create(other));
    std::filesystem::create_symlink(own, folder.path() / "link.db");
    CHECK_FALSE(Database::create(folder.path() / "link.db"));
    CHECK_FALSE(Database::create(folder.path()));
    CHECK_FALSE(Database::create(folder.path() / "missing" / "x.db"));
    // What is not finished leaves nothing.
    {
        const auto dropped = Database::create(folder.path() / "dropped.db");
    }
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        files += entry.path().filename().string().starts_with("dropped") ? 1 : 0;
    CHECK(files == 0);
}

} // namespace veriroce::analysis_database::test
