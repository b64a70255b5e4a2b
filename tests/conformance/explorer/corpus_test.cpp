// Dialogues that begin as others did.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "conformance/explorer/corpus.hpp"

namespace veriroce::explorer {
namespace {

constexpr std::size_t kBatch = 10;

Dialogue of_seed(std::uint64_t seed) {
    return dialogue_of(seed, Reach{});
}

// A corpus of `count` dialogues from seed 0, each of which went through one new state.
void fill(Corpus& corpus, std::uint64_t count) {
    for (std::uint64_t seed = 0; seed < count; ++seed)
        corpus.add(of_seed(seed), std::vector<std::uint32_t>{static_cast<std::uint32_t>(seed)});
}

std::size_t turning(const Corpus& corpus, std::uint64_t from, std::uint64_t to) {
    std::size_t count = 0;
    for (std::uint64_t number = from; number < to; ++number)
        count += corpus.origin_of(number, number).turns.empty() ? 0 : 1;
    return count;
}

} // namespace

TEST_CASE("corpus: it keeps dialogues that went through a new state", "[explorer]") {
    Corpus corpus(kBatch);
    corpus.add(of_seed(1), std::vector<std::uint32_t>{1, 2});
    corpus.add(of_seed(2), std::vector<std::uint32_t>{2});
    corpus.add(of_seed(3), std::vector<std::uint32_t>{});
    CHECK(corpus.size() == 1);
    corpus.add(of_seed(4), std::vector<std::uint32_t>{2, 3});
    CHECK(corpus.size() == 2);
    CHECK(corpus.states() == 3);
}

TEST_CASE("corpus: a dialogue begins as one of the same IP version that was played long before",
          "[explorer]") {
    Corpus corpus(kBatch);
    fill(corpus, 3 * kBatch);
    CHECK(turning(corpus, 0, 2 * kBatch) == 0); // nothing is kept for them
    const std::size_t count = turning(corpus, 3 * kBatch, 4 * kBatch);
    CHECK(count > 0);
    CHECK(count < kBatch);
    for (std::uint64_t number = 2 * kBatch; number < 4 * kBatch; ++number) {
        const Origin origin = corpus.origin_of(number, number);
        CHECK(ip_version_of(origin.seed) == ip_version_of(number));
        if (!origin.turns.empty()) CHECK(origin.seed < (number / kBatch - 1) * kBatch);
    }
}

TEST_CASE("corpus: what was added since does not change a dialogue", "[explorer]") {
    Corpus early(kBatch);
    Corpus late(kBatch);
    fill(early, 3 * kBatch + 1);
    fill(late, 5 * kBatch);
    for (std::uint64_t number = 3 * kBatch; number < 4 * kBatch; ++number) {
        const Dialogue one = dialogue_of(early.origin_of(number, number), number, Reach{});
        const Dialogue other = dialogue_of(late.origin_of(number, number), number, Reach{});
        CHECK(one.text == other.text);
    }
}

TEST_CASE("corpus: a dialogue that turns begins as the other one, and goes another way",
          "[explorer]") {
    const Dialogue whole = of_seed(12);
    const std::uint64_t turn = (whole.begin + whole.draws) / 2;
    const Origin origin{.seed = 12, .turns = {{.draws = turn, .seed = 99}}};
    const Dialogue turned = dialogue_of(origin, 12, Reach{});
    CHECK(turned.text != whole.text);
    // The header may differ in what the regions must hold. The lines behind it begin alike.
    const auto lines_of = [](const std::string& text) { return text.substr(text.rfind("mr u ")); };
    const std::string one = lines_of(whole.text);
    const std::string other = lines_of(turned.text);
    const std::size_t begin = one.find('\n');
    const std::size_t other_begin = other.find('\n');
    constexpr std::size_t alike = 100;
    CHECK(one.substr(begin, alike) == other.substr(other_begin, alike));
    // A turn behind its end changes nothing.
    const Origin late{.seed = 12, .turns = {{.draws = whole.draws, .seed = 99}}};
    CHECK(dialogue_of(late, 12, Reach{}).text == whole.text);
}

} // namespace veriroce::explorer
