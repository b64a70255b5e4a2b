// What a checked case and its runs hold.
#include "tests/conformance/script/examples.hpp"
#include "tests/conformance/script/text.hpp"

#include "conformance/script/evaluate.hpp"

namespace veriroce::script::tests {
namespace {

std::int64_t number(const Value& value) {
    const auto result = evaluate(std::get<Expr>(value), {});
    REQUIRE(result);
    return *result;
}

const SendPacket& sent(const Run& run, std::size_t index) {
    REQUIRE(index < run.body.size());
    return std::get<SendPacket>(run.body[index].node);
}

} // namespace

TEST_CASE("script: the design's examples load and expand", "[script]") {
    for (const Example& example : design_examples) {
        INFO(example.path);
        const Case one = checked(example.text, example.path);
        CHECK(one.id() + ".roce" == example.path);
        const auto runs = runs_of(example.text);
        REQUIRE_FALSE(runs.empty());
        CHECK(runs.size() == example.runs);
    }
}

TEST_CASE("script: what order lines have is not held against indices that a run finds",
          "[script]") {
    const auto runs = runs_of("rule   RSP-01\n"
                              "title  \"arrays of QPs\"\n"
                              "role   responder\n"
                              "qp     q[4]\n"
                              "qp     p[2]\n"
                              "\n"
                              "q[0]> SEND_ONLY psn=0\n"
                              "repeat i in 1..3\n"
                              "  tester answers q[i]\n"
                              "end\n"
                              "tester post q[2] SEND id=1\n"
                              "tester done q[2] send id=1\n"
                              "tester answers p[0]\n"
                              "repeat i in 0..0\n"
                              "  tester post p[i] SEND id=1\n"
                              "end\n");
    CHECK(runs.size() == 1);
}

TEST_CASE("script: the suite's cases load and can be run", "[script]") {
    const auto suite_files = suite();
    REQUIRE_FALSE(suite_files.empty());
    for (const auto& file : suite_files) {
        INFO(file.path);
        const Case one = checked(file.text, file.path);
        CHECK(format(file.path, file.text));
    }
}

TEST_CASE("script: the header is what was written", "[script]") {
    const Case one = checked(design_examples[0].text, "conformance/cases/rsp/gap.roce");
    CHECK(one.id() == "rsp/gap");
    REQUIRE(one.rules.size() == 2);
    CHECK(one.rules[1].text == "RSP-03");
    CHECK(one.title == "A gap in the PSNs gets one NAK with the expected PSN");
    CHECK(one.role == Role::Responder);
    CHECK(one.level == Level::Must);
    REQUIRE(one.unless.size() == 1);
    CHECK(one.unless[0].text == "out_of_order");
}

TEST_CASE("script: the level is the first rule's unless it is written", "[script]") {
    const std::string tail = "title \"t\"\nrole responder\n\n> SEND_ONLY\n";
    CHECK(checked("rule ENC-02\n" + tail).level == Level::Should);
    CHECK(checked("rule ENC-05\n" + tail).level == Level::Info);
    CHECK(checked("rule ENC-05\nlevel MUST\n" + tail).level == Level::Must);
}

TEST_CASE("script: runs come in the order of their values, the last name fastest", "[script]") {
    const auto runs = runs_of(design_examples[1].text);
    REQUIRE(runs.size() == 15);
    CHECK(runs[0].suffix == "[mtu=256,n=0]");
    CHECK(runs[1].suffix == "[mtu=256,n=252]");
    CHECK(runs[14].suffix == "[mtu=4096,n=4100]");
    const Attribute* mtu = runs[14].qps.at(0).attribute("mtu");
    REQUIRE(mtu != nullptr);
    CHECK(std::get<Expr>(mtu->value).number == 4096);
    CHECK(number(sent(runs[14], 1).fields.at(3).value) == 4100);
}

TEST_CASE("script: words of the verbs become their enumerators", "[script]") {
    const auto runs = runs_of("rule RSP-02\ntitle \"t\"\nrole responder\n"
                              "for qp.access in remote_read mw_bind\n"
                              "qp type=UC state=RTR path_mig_state=REARM cq=small\n\n"
                              "dut mr a len=8 access=remote_write,remote_atomic\n"
                              "dut recv id=1\n"
                              "dut done recv id=1 status=FAILED,LOC_LEN_ERR opcode=RECV\n"
                              "dut state SQE\n"
                              "dut event SRQ_LIMIT_REACHED\n"
                              "dut counter cnp_handled += 0\n");
    REQUIRE(runs.size() == 2);
    const QpSetup& qp = runs[1].qps.at(0);
    CHECK(std::get<wire::QpType>(qp.attribute("type")->value) == wire::QpType::Uc);
    CHECK(std::get<wire::QpState>(qp.attribute("state")->value) == wire::QpState::Rtr);
    CHECK(std::get<wire::MigState>(qp.attribute("path_mig_state")->value) == wire::MigState::Rearm);
    CHECK(std::get<Word>(qp.attribute("cq")->value).text == "small");
    CHECK(std::get<wire::Access>(qp.attribute("access")->value) == wire::Access{.mw_bind = true});
    const auto command = [&](std::size_t line) -> const Command& {
        return std::get<SideCommand>(runs[1].body.at(line).node).command;
    };
    CHECK(std::get<MakeMr>(command(0)).access ==
          wire::Access{.remote_write = true, .remote_atomic = true});
    const auto& done = std::get<Done>(command(2));
    CHECK(done.queue == wire::Queue::Receive);
    REQUIRE(done.statuses.size() == 2);
    CHECK(std::holds_alternative<AnyFailure>(done.statuses[0]));
    CHECK(std::get<wire::WcStatus>(done.statuses[1]) == wire::WcStatus::LocLenErr);
    CHECK(done.opcode == wire::WcOpcode::Recv);
    CHECK(std::get<State>(command(3)).state == wire::QpState::Sqe);
    CHECK(std::get<EventSeen>(command(4)).type == wire::EventType::SrqLimitReached);
    CHECK(std::get<Counter>(command(5)).counter == wire::DeviceCounter::CnpHandled);
}

TEST_CASE("script: a word of for becomes the opcode of its run", "[script]") {
    const auto runs = runs_of(design_examples[5].text);
    CHECK(runs[1].suffix == "[first=SEND_FIRST,second=SEND_MIDDLE]");
    CHECK(std::get<Opcode>(sent(runs[1], 2).kind).code == 0x00);
    CHECK(std::get<Opcode>(sent(runs[1], 3).kind).code == 0x01);
    CHECK(sent(runs[1], 3).fields.size() == 1);
}

TEST_CASE("script: names of let and for stand in titles, ids, values and faults", "[script]") {
    const auto runs = runs_of("rule RSP-02\ntitle \"{n} of {kind}\"\nrole responder\n"
                              "let  twice = 2*mtu\nfor n in 1..2\nfor kind in good zero\n"
                              "for t in 10ms\nqp mtu=512\n\n"
                              "fault drop when psn=n between 0..t fires=2\n"
                              "> SEND_ONLY psn=n len=twice icrc={kind}\n");
    REQUIRE(runs.size() == 4);
    CHECK(runs[1].title == "1 of zero");
    CHECK(runs[3].suffix == "[n=2,kind=zero,t=10ms]");
    const auto& rule = std::get<FaultLine>(runs[3].body[0].node).rule;
    CHECK(rule.selector.psn == fault::Range{2, 2});
    CHECK(rule.selector.between == fault::Range{0, 10'000'000});
    CHECK(rule.selector.fires == 2U);
    CHECK(rule.line == 10);
    CHECK(rule.text == "drop when psn=n between 0..t fires=2");
    CHECK(number(sent(runs[3], 1).fields.at(1).value) == 1024);
    CHECK(std::get<wire::IcrcKind>(sent(runs[3], 1).fields.at(2).value) == wire::IcrcKind::Zero);
}

TEST_CASE("script: the probability of a fault may differ from run to run", "[script]") {
    const auto runs = runs_of("rule REQ-01\ntitle \"loss\"\nrole requester\n"
                              "for loss in 0 5 1000\n\nfault drop when p=loss/1000\n");
    REQUIRE(runs.size() == 3);
    const auto chance = [&](std::size_t run) {
        return std::get<FaultLine>(runs[run].body[0].node).rule.selector.probability;
    };
    CHECK(chance(0) == 0.0);
    CHECK(chance(1) == 0.005);
    CHECK(chance(2) == 1.0);
}

TEST_CASE("script: an expected packet keeps its matches and clauses", "[script]") {
    const auto runs = runs_of(design_examples[2].text);
    const auto& again = std::get<ExpectPacket>(runs[1].body[3].node);
    REQUIRE(again.matches.size() == 1);
    REQUIRE(again.after);
    const auto bounds = evaluate(*again.after, {});
    REQUIRE(bounds);
    CHECK(bounds->low == 10'000); // code 1: 0.01 ms
    CHECK_FALSE(bounds->high);
    REQUIRE(again.measure);
    CHECK(again.measure->name == "rnr_wait");
    CHECK(checked(design_examples[2].text).line_text(runs[1].body[3].span) ==
          "< SEND_ONLY  psn=0    after rnr(code)..    measure rnr_wait[code]");
}

TEST_CASE("script: in an expected packet a field's name is its value", "[script]") {
    const auto runs = runs_of(design_examples[3].text);
    const auto& repeat = std::get<Repeat>(runs[0].body[6].node);
    const auto& packet = std::get<ExpectPacket>(repeat.body.at(0).node);
    const Lookup lookup{.name = [](std::string_view name) -> std::optional<std::int64_t> {
                            if (name == "t") return 0x1000;
                            return std::nullopt;
                        },
                        .field = [](const FieldName& field) -> std::optional<std::int64_t> {
                            if (field == FieldName{wire::Field::Psn}) return 2;
                            return std::nullopt;
                        }};
    const auto va = evaluate(std::get<Expr>(packet.matches.at(1).value), lookup);
    REQUIRE(va);
    CHECK(*va == 0x1000 + 2 * 1024);
    const auto unknown = evaluate(std::get<Expr>(packet.matches.at(1).value), {});
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().kind == EvalErrorKind::UnknownName);
    CHECK(text_of(unknown.error()) == "unknown name 't'");
}

TEST_CASE("script: arithmetic is exact or an error", "[script]") {
    const auto psn = [](const std::string& expr) {
        return number(
            sent(runs_of(with_header("> SEND_ONLY psn=" + expr + "\n"))[0], 0).fields.at(0).value);
    };
    CHECK(psn("2^23-1") == 8'388'607);
    CHECK(psn("-1") == -1);
    CHECK(psn("2+3*4") == 14);
    CHECK(psn("(2+3)*4") == 20);
    CHECK(psn("10-3-2") == 5);
    CHECK(psn("2^3^2") == 512);
    CHECK(psn("-2^2") == -4);
    CHECK(psn("7/2") == 3);
    CHECK(psn("0xFFFFFFFFFFFFFFFF") == -1);
    CHECK(psn("64KiB/mtu") == 64);
}

} // namespace veriroce::script::tests
