#include "conformance/plan/needs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "conformance/interpreter/attributes.hpp"
#include "conformance/interpreter/walk.hpp"
#include "dissector/wire/opcode.hpp"

namespace veriroce::plan {

using interpreter::Environment;
using script::Need;

namespace {

constexpr std::int64_t kSmallestMtu = 256;

class NeedsOfCase {
  public:
    void add(std::string_view word, std::optional<std::int64_t> at_least = {}) {
        for (Need& known : found_) {
            if (known.word != word) continue;
            if (at_least) known.at_least = std::max(known.at_least.value_or(0), *at_least);
            return;
        }
        found_.push_back({.word = std::string(word), .at_least = at_least, .span = {}});
    }
    std::vector<Need> take() { return std::move(found_); }

    void attribute(const script::Attribute& one) {
        if (const auto* type = std::get_if<wire::QpType>(&one.value)) {
            if (*type == wire::QpType::Uc) add("uc");
            if (*type == wire::QpType::Ud) add("ud");
        }
        if (const auto* state = std::get_if<wire::QpState>(&one.value)) {
            if (*state == wire::QpState::Sqd) add("sqd");
        }
        if (one.name == "srq") add("srq");
        if (one.name == "alt") add("apm");
        const auto* expr = std::get_if<script::Expr>(&one.value);
        if (expr != nullptr && expr->kind == script::Expr::Kind::Number)
            number(one.name, expr->number);
    }
    void number(std::string_view name, std::int64_t value) {
        if (name == "sge" && value > 1) add("sge", value);
        if (name == "flow_control" && value > 0) add("e2e_credits");
        if (name == "inline" && value > 0) add("inline", value);
        if (name == "max_rd_atomic" && value > 1) add("rd_atomic", value);
        if (name == "max_dest_rd_atomic" && value > 1) add("dest_rd_atomic", value);
        if (name == "pkey_index" && value > 0) add("pkey_table");
        if (name == "mtu") {
            const Need need = need_of_mtu(value);
            add(need.word, need.at_least);
        }
        if (name == "vlan" && value > 0) add("vlan");
    }

    void operation(wire::WrOpcode opcode) {
        switch (opcode) {
        case wire::WrOpcode::Send:
        case wire::WrOpcode::RdmaWrite:
        case wire::WrOpcode::LocalInv:
        case wire::WrOpcode::BindMw: return; // the type of the window counts
        case wire::WrOpcode::SendWithImm:
        case wire::WrOpcode::RdmaWriteWithImm: return add("imm");
        case wire::WrOpcode::SendWithInv: return add("send_inv");
        case wire::WrOpcode::RdmaRead: return add("read");
        case wire::WrOpcode::AtomicCmpAndSwp:
        case wire::WrOpcode::AtomicFetchAndAdd: return add("atomics");
        case wire::WrOpcode::Flush: return add("flush");
        case wire::WrOpcode::AtomicWrite: return add("atomic_write");
        }
    }

    // A request of the tester.
    void sent(const script::PacketKind& kind) {
        if (const auto* opcode = std::get_if<script::Opcode>(&kind)) {
            const wire::OpcodeInfo& info = wire::opcode_info(opcode->code);
            if (info.service != wire::Service::Rc) return;
            if (info.request() && info.immediate()) add("imm");
            if (info.request() && info.invalidates()) add("send_inv");
            request(info.operation);
        }
        if (const auto* message = std::get_if<script::Message>(&kind)) {
            if (*message == script::Message::SendWithImm ||
                *message == script::Message::RdmaWriteWithImm)
                add("imm");
            if (*message == script::Message::SendWithInv) add("send_inv");
        }
    }
    void request(wire::Operation operation) {
        if (operation == wire::Operation::RdmaReadRequest) add("read");
        if (operation == wire::Operation::CompareSwap || operation == wire::Operation::FetchAdd)
            add("atomics");
        if (operation == wire::Operation::Flush) add("flush");
        if (operation == wire::Operation::AtomicWrite) add("atomic_write");
    }

    void command(const script::SideCommand& line) {
        if (const auto* post = std::get_if<script::Post>(&line.command)) {
            operation(post->operation);
            // A request that the tester posts reaches the device.
            const bool pieces = line.side == script::Side::Dut && post->local.size() > 1;
            if (pieces) add("sge", static_cast<std::int64_t>(post->local.size()));
        }
        if (line.side != script::Side::Dut) return;
        if (const auto* recv = std::get_if<script::Recv>(&line.command)) {
            const auto pieces = static_cast<std::int64_t>(recv->local.size());
            if (pieces > 1) add("sge", pieces);
        }
        if (const auto* window = std::get_if<script::MakeMw>(&line.command))
            add(window->type == 1 ? "mw1" : "mw2");
        if (const auto* region = std::get_if<script::MakeMr>(&line.command)) {
            if (region->iova) add("iova");
        }
        if (std::holds_alternative<script::MakeSrq>(line.command)) add("srq");
        if (std::holds_alternative<script::EventSeen>(line.command)) add("events");
        if (std::holds_alternative<script::ArmCq>(line.command) ||
            std::holds_alternative<script::Notified>(line.command) ||
            std::holds_alternative<script::CqQuiet>(line.command))
            add("notify");
        if (std::holds_alternative<script::Congestion>(line.command)) add("congestion");
        if (std::holds_alternative<script::Connection>(line.command)) add("cm");
        if (const auto* reconnect = std::get_if<script::Reconnect>(&line.command)) {
            add("reset_reuse");
            for (const script::Attribute& one : reconnect->attributes)
                attribute(one);
        }
        if (const auto* modify = std::get_if<script::Modify>(&line.command)) change(*modify);
    }
    void change(const script::Modify& modify) {
        for (const script::Attribute& one : modify.attributes) {
            attribute(one);
            const auto* state = std::get_if<wire::QpState>(&one.value);
            if (state == nullptr) continue;
            if (*state == wire::QpState::Reset) reset_ = true;
            if (*state == wire::QpState::Init && reset_) add("reset_reuse");
        }
    }

  private:
    std::vector<Need> found_;
    bool reset_ = false;
};

std::string value_text(const script::Binding& binding) {
    const auto* number = std::get_if<std::int64_t>(&binding.value);
    return number != nullptr ? std::to_string(*number) : std::get<std::string>(binding.value);
}

bool counts_for(const Need& need, const script::Run& run) {
    if (!need.of_value) return true;
    return std::ranges::any_of(run.bindings, [&](const script::Binding& one) {
        return one.name == need.of_value->name && value_text(one) == value_text(*need.of_value);
    });
}

// How much of it the device has; nothing for a word that it has or has not.
std::optional<std::int64_t> amount(std::string_view word, const Environment& environment) {
    const auto& max = environment.dut.max;
    if (word == "mtu") return wire::bytes_of(environment.largest_mtu);
    if (word == "sge") return max.sge;
    if (word == "inline") return max.inline_bytes;
    if (word == "rd_atomic") return max.rd_atomic;
    if (word == "dest_rd_atomic") return max.dest_rd_atomic;
    return std::nullopt;
}

} // namespace

std::vector<Need> needs_of(const script::Case& script, const script::Run& run) {
    NeedsOfCase needs;
    for (const Need& written : script.needs) {
        if (counts_for(written, run)) needs.add(written.word, written.at_least);
    }
    for (const script::QpSetup& setup : run.qps) {
        for (const script::Attribute& one : setup.attributes)
            needs.attribute(one);
    }
    interpreter::each_statement(run.body, [&](const script::Statement& one) {
        if (const auto* packet = std::get_if<script::SendPacket>(&one.node))
            needs.sent(packet->kind);
        const auto* side = std::get_if<script::SideCommand>(&one.node);
        if (side != nullptr && !side->refused) needs.command(*side);
    });
    return needs.take();
}

Need need_of_mtu(std::int64_t bytes) {
    if (bytes == kSmallestMtu) return {.word = "mtu256", .at_least = {}, .span = {}};
    return {.word = "mtu", .at_least = bytes, .span = {}};
}

std::optional<std::string> lacking(const Need& need, const testbed::Testbed& testbed,
                                   const Environment& environment) {
    const auto has = amount(need.word, environment);
    if (has) {
        const std::int64_t least = need.at_least.value_or(1);
        if (*has >= least) return std::nullopt;
        return fmt::format("needs {}>={}, has {}", need.word, least, *has);
    }
    if (environment.capable(need.word) || testbed.link_capable(need.word)) return std::nullopt;
    return fmt::format("needs {}", need.word);
}

} // namespace veriroce::plan
