// Every committed capture, field by field, against `tshark -T fields`. What differs stands in
// tests/golden/tshark_differences.tsv with the reason; a difference that is no longer there must
// go. Without tshark this fails: a comparison that did not happen is no success.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "dissector/decode/decoder.hpp"
#include "dissector/decode/field.hpp"
#include "dissector/print/value_text.hpp"
#include "tests/dissector/corpus/other_corpus.hpp"
#include "tests/dissector/corpus/outer_corpus.hpp"
#include "tests/dissector/corpus/upper_corpus.hpp"
#include "tests/dissector/dissect/command.hpp"
#include "tests/dissector/dissect/tshark.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;
using veriroce::corpus::Corpus;
using veriroce::corpus::CorpusFrame;

namespace {

// Every field that both have a name for.
const std::vector<std::string>& common_fields() {
    static const std::vector<std::string> fields = [] {
        std::set<std::string, std::less<>> theirs;
        for (const std::string& line : lines_of(tshark("-G fields"))) {
            const auto columns = split(line, '\t');
            if (columns.size() > 2) theirs.insert(columns[2]);
        }
        std::vector<std::string> both;
        std::set<std::string_view> seen;
        for (const auto& row : veriroce::decode::field_table()) {
            if (theirs.contains(row.name) && seen.insert(row.name).second) {
                both.emplace_back(row.name);
            }
        }
        return both;
    }();
    return fields;
}

// tshark guesses these into RoCE payloads, two of them by their bytes alone; we never do. All are
// turned off but the one that the capture is made of.
std::vector<std::string> by_tshark(const std::string& path, const std::string& made_of = "") {
    // Fragments are shown as they are, not put together: a packet at a time, as we do.
    std::string arguments = "-n -o ip.defragment:FALSE -o ipv6.defragment:FALSE";
    for (const std::string guessed : {"rpcordma", "nvme-rdma", "smb_direct"}) {
        if (!made_of.starts_with(guessed.substr(0, 4))) {
            arguments += " --disable-protocol " + guessed;
        }
    }
    arguments += " -r '" + path + "' -T fields";
    for (const std::string& field : common_fields())
        arguments += " -e " + field;
    return lines_of(tshark(arguments));
}

std::vector<std::string> by_us(const std::string& path) {
    const Ran result = ran({.files = {path}, .format = Format::Fields, .fields = common_fields()});
    REQUIRE(result.code == 0);
    return lines_of(result.out);
}

struct Difference {
    std::string tshark;
    std::string ours;
    bool seen = false;
};

// Known differences of one capture, by frame number and field.
using Differences = std::map<std::pair<std::string, std::string>, Difference>;

Differences known_differences(const std::string& capture) {
    Differences differences;
    for (const auto& row : rows_of(source_path("tests/golden/tshark_differences.tsv"))) {
        REQUIRE(row.size() == 6);
        REQUIRE_FALSE(row[5].empty()); // the reason
        if (row[0] == capture) differences[{row[1], row[2]}] = {row[3], row[4]};
    }
    return differences;
}

void compare(const std::string& capture) {
    INFO(capture);
    const auto& fields = common_fields();
    const auto theirs = by_tshark(pcap(capture));
    const auto ours = by_us(pcap(capture));
    Differences known = known_differences(capture);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours[i] == theirs[i]) continue;
        const auto our_fields = split(ours[i], '\t');
        const auto their_fields = split(theirs[i], '\t');
        REQUIRE(our_fields.size() == fields.size());
        REQUIRE(their_fields.size() == fields.size());
        for (std::size_t f = 0; f < fields.size(); ++f) {
            if (our_fields[f] == their_fields[f]) continue;
            const auto found = known.find({std::to_string(i + 1), fields[f]});
            const bool listed = found != known.end() && found->second.ours == our_fields[f] &&
                                found->second.tshark == their_fields[f];
            if (listed) found->second.seen = true;
            if (!listed) {
                FAIL_CHECK("frame " << i + 1 << " " << fields[f] << ": tshark '" << their_fields[f]
                                    << "', we '" << our_fields[f] << "'");
            }
        }
    }
    for (const auto& [place, difference] : known) {
        INFO("frame " << place.first << " " << place.second << " differs no longer");
        CHECK(difference.seen);
    }
}

// What is read of a field if its header is looked for so many bytes too late; nothing if that is
// beyond the frame.
std::string read_late(const Corpus& corpus, const CorpusFrame& frame, const std::string& field,
                      std::uint32_t late) {
    using namespace veriroce::decode;
    Dissection d;
    d.frame.bytes = frame.bytes;
    d.frame.link_code = corpus.link_code;
    d.frame.original_length = static_cast<std::uint32_t>(frame.bytes.size());
    dissect_frame({}, d);
    const auto column = Column::find(field);
    std::string text;
    for (LayerSpan layer : d.layers) {
        for (const FieldRow* row : column->rows()) {
            if (row->layer != layer.kind) continue;
            layer.offset += late;
            if (layer.kind == LayerKind::Payload) layer.length -= std::min(layer.length, late);
            if (layer.offset + layer.length > frame.bytes.size()) return {};
            if (layer.kind == LayerKind::Aeth) { // some of its fields are read from the packet
                const auto bytes = veriroce::wire::Bytes(frame.bytes);
                d.packet.aeth = veriroce::wire::Aeth::read(bytes.subspan(layer.offset));
            }
            const auto value = read(*row, d, layer);
            if (value) veriroce::print::append_value(text, *row, *value);
        }
    }
    return text;
}

// A difference of the made frames: tshark prints nothing, our value twice, what stands some
// bytes after it (likewise), a value that begins as ours and goes on, or something else.
struct KnownForm {
    std::vector<std::string> opcodes;  // ranges: "40-55"
    std::vector<std::string> carriers; // how their names begin
    std::string fields;                // likewise; with a $ after it the whole name
    std::string form;
    std::string reason;
    bool seen = false;

    [[nodiscard]] bool names(const std::string& field) const {
        return fields.ends_with('$') ? field + '$' == fields : field.starts_with(fields);
    }
    [[nodiscard]] bool explains(const Corpus& corpus, const CorpusFrame& frame,
                                const std::string& field, const std::string& theirs,
                                const std::string& ours) const {
        if (!names(field)) return false;
        const bool carried = std::ranges::any_of(carriers, [&frame](const std::string& carrier) {
            return frame.carrier.starts_with(carrier);
        });
        if (!carried) return false;
        if (form == "nothing" && !theirs.empty()) return false;
        if (form == "twice" && theirs != ours + "," + ours) return false;
        if (form == "longer" && (theirs.size() <= ours.size() || !theirs.starts_with(ours))) {
            return false;
        }
        if (form.ends_with(" late")) {
            const auto bytes = static_cast<std::uint32_t>(std::stoul(form));
            const std::string late = read_late(corpus, frame, field, bytes);
            if (theirs != late && theirs != late + "," + late) return false;
        }
        return std::ranges::any_of(opcodes, [&frame](const std::string& range) {
            const auto ends = split(range, '-');
            return frame.opcode >= std::stoul(ends.front(), nullptr, 16) &&
                   frame.opcode <= std::stoul(ends.back(), nullptr, 16);
        });
    }
};

std::vector<KnownForm> known_forms() {
    std::vector<KnownForm> forms;
    for (const auto& row : rows_of(source_path("tests/golden/tshark_corpus_differences.tsv"))) {
        REQUIRE(row.size() == 5);
        static const std::set<std::string> forms_of{"nothing", "twice",  "4 late",
                                                    "8 late",  "longer", "other"};
        REQUIRE(forms_of.contains(row[3]));
        REQUIRE_FALSE(row[4].empty());
        forms.push_back(
            {.opcodes = split(row[0], ','),
             .carriers = row[1] == "*" ? std::vector<std::string>{""} : split(row[1], ','),
             .fields = row[2],
             .form = row[3],
             .reason = row[4]});
    }
    return forms;
}

void compare(const Corpus& corpus, const std::string& path, std::vector<KnownForm>& known) {
    const auto& fields = common_fields();
    const auto theirs = by_tshark(path, corpus.name);
    const auto ours = by_us(path);
    REQUIRE(ours.size() == corpus.frames.size());
    REQUIRE(theirs.size() == ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        if (ours[i] == theirs[i]) continue;
        const auto our_fields = split(ours[i], '\t');
        const auto their_fields = split(theirs[i], '\t');
        const CorpusFrame& frame = corpus.frames[i];
        for (std::size_t f = 0; f < fields.size(); ++f) {
            if (our_fields[f] == their_fields[f]) continue;
            const auto form = std::ranges::find_if(known, [&](const KnownForm& one) {
                return one.explains(corpus, frame, fields[f], their_fields[f], our_fields[f]);
            });
            if (form != known.end()) {
                form->seen = true;
                continue;
            }
            FAIL_CHECK("opcode " << std::hex << int{frame.opcode} << " in " << frame.carrier << ": "
                                 << fields[f] << ": tshark '" << their_fields[f] << "', we '"
                                 << our_fields[f] << "'");
        }
    }
}

// The captures of one of three parts, so that no test case takes long.
void compare_part(std::size_t part) {
    std::vector<std::string> captures;
    for (const auto& row : rows_of(source_path("pcaps/manifest.tsv")))
        captures.push_back(row[0]);
    REQUIRE(captures.size() >= 18);
    for (std::size_t i = part; i < captures.size(); i += 3)
        compare(captures[i]);
}

} // namespace

TEST_CASE("tshark prints the same fields of the captures, first third", "[dissect]") {
    compare_part(0);
}

TEST_CASE("tshark prints the same fields of the captures, second third", "[dissect]") {
    compare_part(1);
}

TEST_CASE("tshark prints the same fields of the captures, last third", "[dissect]") {
    compare_part(2);
}

TEST_CASE("tshark prints the same fields of every opcode in every encapsulation, above and beside",
          "[dissect]") {
    const TemporaryFolder folder;
    std::vector<KnownForm> known = known_forms();
    std::size_t frames = 0;
    std::vector<Corpus> all = veriroce::corpus::corpora();
    std::ranges::move(veriroce::corpus::upper_corpora(), std::back_inserter(all));
    std::ranges::move(veriroce::corpus::other_corpora(), std::back_inserter(all));
    all.push_back(veriroce::corpus::outer_corpus());
    for (const Corpus& corpus : all) {
        const std::string path = folder.path() / (corpus.name + ".pcap");
        write_pcap(corpus, path);
        compare(corpus, path, known);
        frames += corpus.frames.size();
    }
    CHECK(frames > 2000);
    CHECK(common_fields().size() > 310);
    for (const KnownForm& form : known) {
        INFO(form.fields << " differs no longer: " << form.reason);
        CHECK(form.seen);
    }
}
