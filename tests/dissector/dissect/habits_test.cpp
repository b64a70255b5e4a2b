// What users of tshark type by habit: the same results here.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <set>

#include "dissector/decode/field.hpp"
#include "tests/dissector/dissect/command.hpp"

namespace veriroce::dissect::test {
namespace {

const std::string pingpong = pcap("rxe-rc-pingpong.pcap");

Options of(const std::string& file) {
    Options options;
    options.files = {file};
    return options;
}

std::size_t count_of(const std::string& text, const std::string& word) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size())
        ++count;
    return count;
}

// Three hours east of Greenwich, until the end of the block.
class EasternTime {
  public:
    EasternTime() {
        if (const char* before = std::getenv("TZ")) before_ = before;
        ::setenv("TZ", "EAST-3", 1);
        ::tzset();
    }
    ~EasternTime() {
        if (before_) {
            ::setenv("TZ", before_->c_str(), 1);
        } else {
            ::unsetenv("TZ");
        }
        ::tzset();
    }
    EasternTime(const EasternTime&) = delete;
    EasternTime& operator=(const EasternTime&) = delete;

  private:
    std::optional<std::string> before_;
};

std::string time_of(print::TimeForm form, std::size_t line = 1) {
    Options options = of(pingpong);
    options.time_form = form;
    std::string text = lines_of(ran(options).out).at(line - 1).substr(6);
    return text.substr(text.find_first_not_of(' '));
}

} // namespace

TEST_CASE("habits: --check filters every format", "[dissect]") {
    for (const auto& [format, lines] :
         std::vector<std::pair<Format, std::size_t>>{{Format::Fields, 12},
                                                     {Format::Csv, 13}, // and the header
                                                     {Format::JsonLines, 12},
                                                     {Format::Json, 14}}) {
        Options options = fields_of(corrupt, {"frame.number", "roce.icrc.status"});
        options.format = format;
        options.check = true;
        const Ran outcome = ran(options);
        CHECK(outcome.code == 1);
        CHECK(lines_of(outcome.out).size() == lines);
        CHECK(count_of(outcome.out, "bad") == 12);
    }
}

TEST_CASE("habits: JSON lines are the packets of the JSON document", "[dissect]") {
    Options options = of(pingpong);
    options.format = Format::Json;
    const std::vector<std::string> document = lines_of(ran(options).out);
    options.format = Format::JsonLines;
    const std::vector<std::string> packets = lines_of(ran(options).out);
    REQUIRE(packets.size() + 2 == document.size());
    for (std::size_t i = 0; i < packets.size(); ++i) {
        CHECK(packets[i].starts_with("{\""));
        CHECK(document[i + 1] == packets[i] + (i + 1 < packets.size() ? "," : ""));
    }
}

TEST_CASE("habits: a filter at the end is a display filter behind -r", "[dissect]") {
    Options with_filter = of(pingpong);
    with_filter.filter = "infiniband.aeth and frame.number < 20";
    const std::string expected = ran(with_filter).out;
    REQUIRE(!expected.empty());
    Options options = of(pingpong);
    options.words = {"infiniband.aeth", "and", "frame.number < 20"};
    CHECK(ran(options).out == expected);
    // Two filters contradict each other, and a file stays a file.
    options.filter = "udp";
    CHECK(ran(options).code == 2);
    Options two = of(pingpong);
    two.words = {corrupt};
    CHECK(count_of(ran(two).out, "==> ") == 2);
    // Without -r every word is a file.
    Options files;
    files.words = {pingpong, "udp"};
    const Ran missing = ran(files);
    CHECK(missing.code == 3);
    CHECK(missing.err.find("udp: No such file or directory") != std::string::npos);
}

TEST_CASE("habits: the time of a line has tshark's forms", "[dissect]") {
    const EasternTime east;
    const std::string epoch = time_of(print::TimeForm::Epoch);
    const std::time_t seconds = std::stoll(epoch);
    const auto clock = [&](const char* format, std::time_t time) {
        std::array<char, 64> text{};
        std::tm parts{};
        ::gmtime_r(&time, &parts);
        const std::size_t size = std::strftime(text.data(), text.size(), format, &parts);
        return std::string(text.data(), size) + epoch.substr(epoch.find('.'), 7) + " ";
    };
    CHECK(time_of(print::TimeForm::Utc).starts_with(clock("%H:%M:%S", seconds)));
    CHECK(time_of(print::TimeForm::UtcDate).starts_with(clock("%Y-%m-%d %H:%M:%S", seconds)));
    CHECK(time_of(print::TimeForm::Clock).starts_with(clock("%H:%M:%S", seconds + 10'800)));
    CHECK(time_of(print::TimeForm::Date).starts_with(clock("%Y-%m-%d %H:%M:%S", seconds + 10'800)));
    CHECK(time_of(print::TimeForm::Relative).starts_with("0.000000 "));
    // Of packets 1 and 3 the second was printed 2 packets later.
    Options options = of(pingpong);
    options.filter = "frame.number == 1 or frame.number == 3";
    const auto third = [&](print::TimeForm form) {
        options.time_form = form;
        return std::stod(lines_of(ran(options).out).at(1).substr(6));
    };
    CHECK(third(print::TimeForm::DeltaDisplayed) == third(print::TimeForm::Relative));
    CHECK(third(print::TimeForm::Delta) < third(print::TimeForm::Relative));
}

TEST_CASE("habits: -E shapes -T fields", "[dissect]") {
    Options options = fields_of(pingpong, {"frame.number", "eth.addr", "roce.finding"});
    options.max_packets = 1;
    const auto with = [&](std::vector<std::string> words) {
        options.field_style = {};
        for (const std::string& word : words)
            REQUIRE(print::read_style(options.field_style, word).has_value());
        return ran(options).out;
    };
    const std::string plain = with({});
    const std::string addresses = split(plain, '\t').at(1);
    const std::vector<std::string> both = split(addresses, ',');
    REQUIRE(both.size() == 2);
    CHECK(with({"header=y"}) == "frame.number\teth.addr\troce.finding\n" + plain);
    CHECK(with({"separator=;", "aggregator=/s"}) == "1;" + both[0] + " " + both[1] + ";\n");
    CHECK(with({"occurrence=f"}) == "1\t" + both[0] + "\t\n");
    CHECK(with({"occurrence=l"}) == "1\t" + both[1] + "\t\n");
    CHECK(with({"quote=d"}) == "\"1\"\t\"" + addresses + "\"\t\n");
    print::FieldStyle style;
    for (const std::string word : {"header", "separator=", "separator=ab", "quote=x", "bom=y"})
        CHECK_FALSE(print::read_style(style, word).has_value());
}

TEST_CASE("habits: the columns of the line are fields", "[dissect]") {
    const Ran line = ran(of(corrupt));
    const std::vector<std::string> lines = lines_of(line.out);
    const std::vector<std::string> parts =
        lines_of(ran(fields_of(corrupt, {"_ws.col.No.", "_ws.col.Time", "_ws.col.Source",
                                         "_ws.col.Destination", "_ws.col.Protocol",
                                         "_ws.col.Length", "_ws.col.Info"}))
                     .out);
    REQUIRE(parts.size() == lines.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::size_t at = 0;
        for (const std::string& part : split(parts[i], '\t')) {
            at = lines[i].find(part, at);
            REQUIRE(at != std::string::npos);
            at += part.size();
        }
        CHECK(at == lines[i].size());
    }
    const std::string found = ran(fields_of(corrupt, {"_ws.expert", "roce.file"})).out;
    CHECK(count_of(found, "error CRC-01: ") == 12);
    CHECK(count_of(found, "\t" + corrupt + "\n") == lines.size());
    Options json = fields_of(corrupt, {"_ws.col.Info"});
    json.format = Format::JsonLines;
    json.max_packets = 1;
    CHECK(ran(json).out == "{\"_ws.col.Info\":\"" + split(parts[0], '\t').back() + "\"}\n");
}

TEST_CASE("habits: -O opens some protocols of the tree", "[dissect]") {
    Options options = of(corrupt);
    options.max_packets = 1;
    options.tree = true;
    const std::vector<std::string> whole = lines_of(ran(options).out);
    options.tree = false;
    options.detailed = {"infiniband.bth"};
    const std::vector<std::string> some = lines_of(ran(options).out);
    CHECK(some.size() < whole.size());
    const auto has = [](const std::vector<std::string>& lines, const std::string& text) {
        return std::ranges::any_of(lines, [&](const auto& line) { return line.contains(text); });
    };
    CHECK(has(some, "Opcode: "));
    CHECK(has(whole, "Time to Live"));
    CHECK_FALSE(has(some, "Time to Live"));
    options.detailed = {"bht"};
    CHECK(ran(options).code == 2);
}

TEST_CASE("habits: -G lists every field once, as tshark does", "[dissect]") {
    Options options;
    options.list = "fields";
    const Ran listed = ran(options);
    CHECK(listed.code == 0);
    const std::vector<std::string> lines = lines_of(listed.out);
    for (const decode::FieldRow& row : decode::field_table()) {
        const std::string begin = "\t" + std::string(row.name) + "\tFT_";
        CHECK(std::ranges::count_if(lines, [&](const std::string& line) {
                  return line.starts_with("F\t") && line.contains(begin);
              }) == 1);
    }
    options.list = "values";
    CHECK(ran(options).code == 2);
}

TEST_CASE("habits: -G lists every protocol once, as tshark does", "[dissect]") {
    Options options;
    options.list = "protocols";
    const Ran listed = ran(options);
    CHECK(listed.code == 0);
    std::set<std::string> names;
    for (const std::string& line : lines_of(listed.out)) {
        const std::vector<std::string> columns = split(line, '\t');
        REQUIRE(columns.size() == 3);
        CHECK(names.insert(columns[2]).second);
    }
    for (const char* name : {"eth", "ip", "udp", "infiniband.bth", "vxlan"})
        CHECK(names.contains(name));
}

TEST_CASE("habits: -s cuts the packets of a file", "[dissect]") {
    const TemporaryFolder folder;
    Options options = of(corrupt);
    options.snap_length = 64;
    options.write = folder.file("cut.pcapng");
    REQUIRE(ran(options).code == 0);
    const std::string lengths =
        ran(fields_of(options.write, {"frame.cap_len", "frame.len", "roce.icrc.status"})).out;
    for (const std::string& line : lines_of(lengths)) {
        const std::vector<std::string> values = split(line, '\t');
        CHECK(values[0] == std::to_string(std::min(64, std::stoi(values[1]))));
        if (std::stoi(values[1]) > 64) CHECK(values[2] == "unchecked");
    }
    Options decoded = fields_of(corrupt, {"frame.cap_len", "frame.len", "roce.icrc.status"});
    decoded.snap_length = 64;
    CHECK(ran(decoded).out == lengths);
}

TEST_CASE("habits: -a ends, and -b begins the next file", "[dissect]") {
    const TemporaryFolder folder;
    Options options = of(corrupt);
    options.autostop = {"packets:10"};
    CHECK(lines_of(ran(options).out).size() == 10);
    options.autostop = {"filesize:20"};
    options.write = folder.file("one.pcapng");
    REQUIRE(ran(options).code == 0);
    const auto bytes = std::filesystem::file_size(options.write);
    CHECK(bytes >= 20'000);
    CHECK(bytes < 25'000);

    options.autostop.clear();
    options.write = folder.file("ring.pcapng");
    options.ring = {"packets:100", "files:3"};
    REQUIRE(ran(options).code == 0);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        const std::string name = entry.path().filename();
        if (name.starts_with("ring")) names.push_back(entry.path());
    }
    std::ranges::sort(names);
    REQUIRE(names.size() == 3); // the first of four is gone
    CHECK(std::filesystem::path(names[0]).filename().string().starts_with("ring_00002_"));
    std::string numbers;
    for (const std::string& name : names)
        numbers += ran(fields_of(name, {"infiniband.bth.psn"})).out;
    const std::vector<std::string> all =
        lines_of(ran(fields_of(corrupt, {"infiniband.bth.psn"})).out);
    CHECK(lines_of(numbers) == std::vector<std::string>(all.begin() + 100, all.end()));

    options.ring = {"size:3"};
    CHECK(ran(options).code == 2);
    options.ring = {"files:3"};
    options.write.clear();
    CHECK(ran(options).code == 2);
}

TEST_CASE("habits: -P prints what -w writes, and -S separates", "[dissect]") {
    const TemporaryFolder folder;
    Options options = of(pingpong);
    const std::string plain = ran(options).out;
    options.write = folder.file("o.pcapng");
    options.print_too = true;
    CHECK(ran(options).out == plain);
    CHECK(ran(of(options.write)).out == plain);
    options.separator = "--";
    CHECK(count_of(ran(options).out, "\n--\n") == lines_of(plain).size());
    // Without -w it changes nothing, nor does -s 0.
    Options printed = of(pingpong);
    printed.print_too = true;
    printed.snap_length = 0;
    CHECK(ran(printed).out == plain);
}

TEST_CASE("habits: RoCE has the names of the protocol column", "[dissect]") {
    const auto count = [](const std::string& filter) {
        Options options = of(pingpong);
        options.filter = filter;
        return lines_of(ran(options).out).size();
    };
    CHECK(count("rroce") == count("infiniband"));
    CHECK(count("roce") == count("rroce"));
    CHECK(count("not roce") == count("tcp"));
    CHECK(count("tcp") > 0);
}

} // namespace veriroce::dissect::test
