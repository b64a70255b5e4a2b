#include "conformance/mutants/mutants.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants {

std::span<const Mutant> all() {
    static const std::vector<Mutant> mutants = [] {
        std::vector<Mutant> list;
        for (const auto group :
             {enc, crc, bth, sta, rsp, opc, len_key, rnr, rdr_atm, ack_req, tmo, cnp_rob}) {
            const auto members = group();
            list.insert(list.end(), members.begin(), members.end());
        }
        return list;
    }();
    return mutants;
}

std::optional<std::reference_wrapper<const Mutant>> find(std::string_view name) {
    for (const auto list : {all(), lawful()}) {
        const auto found = std::ranges::find(list, name, &Mutant::name);
        if (found != list.end()) return std::cref(*found);
    }
    return std::nullopt;
}

} // namespace veriroce::mutants
