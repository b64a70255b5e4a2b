#include "conformance/interpreter/host_steps.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "conformance/interpreter/completions.hpp"
#include "conformance/interpreter/objects.hpp"

namespace veriroce::interpreter {
namespace {

// "post SEND id=1 len=64 fence": one work request.
std::string post_text(const dut::SendRequest& request) {
    std::uint64_t bytes = 0;
    for (const dut::Sge& piece : request.sge)
        bytes += piece.length;
    std::string text = fmt::format("post {} id={}", engine::name_of(request.opcode), request.id);
    if (!request.sge.empty()) text += fmt::format(" len={}", bytes);
    if (request.flags.solicited) text += " se";
    if (request.flags.fence) text += " fence";
    if (request.flags.inline_data) text += " inline";
    if (!request.flags.signaled) text += " unsignaled";
    return text;
}

std::string receives_text(const std::vector<dut::ReceiveRequest>& requests) {
    if (requests.empty()) return "recv";
    if (requests.size() == 1) return fmt::format("recv id={}", requests.front().id);
    return fmt::format("recv id={}..{}", requests.front().id, requests.back().id);
}

class Steps {
  public:
    explicit Steps(const Objects& objects) : objects_(objects) {}

    void add(const CallLog::Logged& logged) {
        asked_ = &logged;
        std::visit([this](const auto& request) { ask(request); },
                   static_cast<const dut::Request::variant&>(logged.call.request));
        if (!logged.call.answer || !*logged.call.answer) return;
        std::visit([this](const auto& result) { learn(result); },
                   static_cast<const dut::Result::variant&>(**logged.call.answer));
    }
    [[nodiscard]] bool full() const { return steps_.size() >= kHostStepsThatShow; }
    [[nodiscard]] std::vector<HostStep> take() {
        if (full()) steps_.resize(kHostStepsThatShow);
        return std::move(steps_);
    }

  private:
    void ask(const dut::PostSend& post) {
        for (const dut::SendRequest& request : post.requests)
            asks(post.qp, post_text(request));
    }
    void ask(const dut::PostRecv& post) { asks(post.qp, receives_text(post.requests)); }
    void ask(const dut::SrqPost& post) { asks({}, "shared " + receives_text(post.requests)); }
    void ask(const dut::QpModify& modify) {
        const auto& state = modify.attributes.state;
        asks(modify.qp, state ? fmt::format("modify state={}", engine::name_of(*state)) : "modify");
    }
    void ask(const dut::MwBind& bind) { asks(bind.qp, fmt::format("bind id={}", bind.id)); }
    void ask(const dut::MrDeregister& /*gone*/) { asks({}, "deregister"); }
    void ask(const dut::CongestionSet& /*set*/) { asks({}, "congestion"); }
    void ask(const dut::CmListen& /*begins*/) { asks({}, "cm listen"); }
    void ask(const dut::CmAccept& accept) { asks(accept.qp, "cm accept"); }
    void ask(const dut::CmReject& /*refuses*/) { asks({}, "cm reject"); }
    void ask(const dut::CmDisconnect& /*ends*/) { asks({}, "cm disconnect"); }
    template <typename Other>
    void ask(const Other& /*setting_up*/) {}

    void learn(const dut::Polled& polled) {
        for (const dut::Completion& one : polled.completions)
            learns(one.qp, completion_text(one));
    }
    void learn(const dut::EventList& list) {
        for (const dut::Event& one : list.events)
            learns(one.qp, event_text(one.type));
    }
    void learn(const dut::CmEventList& list) {
        for (const dut::CmEvent& one : list.events)
            learns({}, fmt::format("cm {}", wire::name_of(one.type)));
    }
    void learn(const dut::Notified& one) {
        if (one.notified) learns({}, "notified");
    }
    template <typename Other>
    void learn(const Other& /*an_answer*/) {}

    void asks(std::optional<dut::QpHandle> qp, std::string what) {
        const auto& answer = asked_->call.answer;
        if (answer && !*answer && answer->error().refused())
            what += fmt::format(": refused, {}", answer->error().errno_name);
        put(qp, asked_->next_when_asked, asked_->call.asked, std::move(what));
    }
    void learns(std::optional<dut::QpHandle> qp, std::string what) {
        put(qp, asked_->next_when_answered, asked_->call.answered, std::move(what));
    }
    void put(std::optional<dut::QpHandle> qp, std::size_t before, wire::Instant at,
             std::string what) {
        const CaseQp* known = qp ? objects_.qp_of_dut(*qp) : nullptr;
        const std::string name = known == nullptr ? "" : known->book.identity().name;
        if (!name.empty()) what.insert(0, name + " ");
        steps_.push_back({.before = before, .at = at, .text = std::move(what)});
    }

    const Objects& objects_;
    const CallLog::Logged* asked_ = nullptr; // the call at hand
    std::vector<HostStep> steps_;
};

} // namespace

std::vector<HostStep> host_steps(const CallLog& log, const Objects& objects) {
    Steps steps(objects);
    for (const CallLog::Logged& logged : log.calls()) {
        if (steps.full()) break;
        steps.add(logged);
    }
    return steps.take();
}

} // namespace veriroce::interpreter
