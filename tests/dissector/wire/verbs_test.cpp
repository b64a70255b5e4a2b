#include "dissector/wire/verbs.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

namespace veriroce::wire::test {

TEST_CASE("verbs: every enumerator has a name that leads back to it", "[wire]") {
    const auto round = []<typename Enum>(Enum last) {
        const auto count = static_cast<std::size_t>(last) + 1;
        CHECK(kNamesOf<Enum>.size() == count);
        CHECK(std::set(kNamesOf<Enum>.begin(), kNamesOf<Enum>.end()).size() == count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto value = static_cast<Enum>(i);
            CHECK_FALSE(name_of(value).empty());
            CHECK(enum_by_name<Enum>(name_of(value)) == value);
        }
        CHECK_FALSE(enum_by_name<Enum>("NONSENSE"));
        CHECK_FALSE(enum_by_name<Enum>(""));
    };
    round(QpType::Ud);
    round(QpState::Err);
    round(MigState::Armed);
    round(Queue::Receive);
    round(WrOpcode::AtomicWrite);
    round(WcStatus::GeneralErr);
    round(WcOpcode::RecvRdmaWithImm);
    round(EventType::PathMigErr);
    round(VerbError::NotSupported);
    round(FillPattern::Random);
    round(DeviceCounter::EcnMarked);
}

TEST_CASE("verbs: the names are those of rdma-core and errno", "[wire]") {
    CHECK(name_of(QpType::Uc) == "UC");
    CHECK(name_of(QpState::Sqe) == "SQE");
    CHECK(name_of(QpState::Sqd) == "SQD");
    CHECK(name_of(MigState::Rearm) == "REARM");
    CHECK(name_of(Queue::Receive) == "recv");
    CHECK(name_of(WrOpcode::AtomicCmpAndSwp) == "ATOMIC_CMP_AND_SWP");
    CHECK(name_of(WrOpcode::RdmaWriteWithImm) == "RDMA_WRITE_WITH_IMM");
    CHECK(name_of(WcStatus::RemAccessErr) == "REM_ACCESS_ERR");
    CHECK(name_of(WcStatus::RnrRetryExcErr) == "RNR_RETRY_EXC_ERR");
    CHECK(name_of(WcOpcode::CompSwap) == "COMP_SWAP");
    CHECK(name_of(WcOpcode::RecvRdmaWithImm) == "RECV_RDMA_WITH_IMM");
    CHECK(name_of(EventType::LastWqeReached) == "LAST_WQE_REACHED");
    CHECK(name_of(EventType::SrqLimitReached) == "SRQ_LIMIT_REACHED");
    CHECK(name_of(VerbError::Busy) == "EBUSY");
    CHECK(name_of(FillPattern::Offsets) == "offsets");
    CHECK(name_of(DeviceCounter::LocalAckTimeout) == "local_ack_timeout");
    CHECK(service_of(QpType::Rc) == Service::Rc);
    CHECK(service_of(QpType::Uc) == Service::Uc);
    CHECK(service_of(QpType::Ud) == Service::Ud);
}

TEST_CASE("verbs: a right has one member and one name, in lower case in scripts", "[wire]") {
    Access all;
    for (const AccessRight& right : kAccessRights) {
        std::string lower(right.name);
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        CHECK(right.word == lower);
        CHECK_FALSE(all.*right.member); // no earlier row has this member
        all.*right.member = true;
    }
    static_assert(sizeof(Access) == kAccessRights.size()); // a bool for each row
}

TEST_CASE("verbs: rights join", "[wire]") {
    constexpr Access write{.local_write = true, .remote_write = true};
    constexpr Access read{.remote_write = true, .remote_read = true};
    CHECK((write | read) == Access{.local_write = true, .remote_write = true, .remote_read = true});
    CHECK((Access{} | Access{}) == Access{});
}

} // namespace veriroce::wire::test
