// The contract's reference for users, held against the code: every method, every field, and every
// example in it.
#include <catch2/catch.hpp>

#include <set>

#include "conformance/dut/codec.hpp"
#include "conformance/dut/fields.hpp"
#include "tests/text.hpp"

namespace {

using namespace veriroce;
using namespace veriroce::dut;

std::string reference() {
    return house::read_text(std::filesystem::path(VERIROCE_SOURCE_DIR) /
                            "conformance/agent/README.md");
}

// The names of a struct's fields, and of the structs in them.
template <typename T>
void collect(std::set<std::string>& names);

template <typename T>
struct Inner {
    using type = T;
};
template <typename T>
struct Inner<std::optional<T>> : Inner<T> {};
template <typename T>
struct Inner<std::vector<T>> : Inner<T> {};

template <typename Owner, typename Member>
void collect_one(std::set<std::string>& names, const Field<Owner, Member>& field) {
    names.emplace(field.name);
    collect<typename Inner<Member>::type>(names);
}
template <typename Owner, typename Member>
void collect_one(std::set<std::string>& names, const Merged<Owner, Member>& /*field*/) {
    collect<Member>(names);
}
template <typename T>
void collect(std::set<std::string>& names) {
    if constexpr (requires { fields_of(Of<T>{}); }) {
        std::apply([&](const auto&... field) { (collect_one(names, field), ...); },
                   fields_of(Of<T>{}));
    }
}
template <std::size_t Index = 0>
void collect_all(std::set<std::string>& methods, std::set<std::string>& fields) {
    if constexpr (Index < std::variant_size_v<Request::variant>) {
        using Method = std::variant_alternative_t<Index, Request::variant>;
        methods.emplace(Method::method);
        collect<Method>(fields);
        collect<typename Method::Gives>(fields);
        collect_all<Index + 1>(methods, fields);
    }
}

bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::set<std::string> words_of(const std::string& text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : text + ' ') {
        if (is_word(c)) {
            word += c;
        } else if (!word.empty()) {
            words.insert(word);
            word.clear();
        }
    }
    return words;
}

} // namespace

TEST_CASE("reference: it names every method and every field", "[dut]") {
    std::set<std::string> methods;
    std::set<std::string> fields;
    collect_all(methods, fields);
    CHECK(methods.size() == std::variant_size_v<Request::variant>);
    CHECK(fields.size() > 80);
    const auto words = words_of(reference());
    for (const auto& method : methods) {
        if (!words.contains(method)) FAIL_CHECK("the method " << method << " is missing");
    }
    for (const auto& field : fields) {
        if (!words.contains(field)) FAIL_CHECK("the field " << field << " is missing");
    }
}

TEST_CASE("reference: it names every state, opcode, status and event", "[dut]") {
    const auto words = words_of(reference());
    const auto check = [&]<typename Enum>(Enum last) {
        for (std::size_t value = 0; value <= static_cast<std::size_t>(last); ++value) {
            const auto name = engine::name_of(static_cast<Enum>(value));
            if (!words.contains(std::string(name))) FAIL_CHECK(name << " is missing");
        }
    };
    check(engine::QpType::Ud);
    check(engine::QpState::Err);
    check(engine::WrOpcode::AtomicWrite);
    check(engine::WcStatus::GeneralErr);
    check(engine::WcOpcode::RecvRdmaWithImm);
    check(engine::EventType::PathMigErr);
    CHECK_FALSE(words.empty());
}

TEST_CASE("reference: every example is a request and its answer", "[dut]") {
    const auto text = reference();
    std::set<std::string_view> shown;
    std::optional<Call> asked;
    for (const auto line : house::lines(text)) {
        INFO(line);
        if (line.starts_with("-> ")) {
            asked = decode_request(line.substr(3));
            REQUIRE(asked->id);
        } else if (line.starts_with("<- ")) {
            REQUIRE(asked);
            const auto method = asked->request ? asked->request->index() : 0;
            const auto reply = decode_answer(line.substr(3), {{*asked->id, method}});
            REQUIRE(reply);
            if (asked->request) {
                shown.insert(method_of(*asked->request));
                const bool sound = reply->answer || reply->answer.error().refused();
                CHECK(sound);
            } else {
                // An example of an error shows what this agent says.
                REQUIRE_FALSE(reply->answer);
                CHECK(reply->answer.error() == asked->request.error());
            }
        }
    }
    CHECK(shown.size() == std::variant_size_v<Request::variant>);
}
