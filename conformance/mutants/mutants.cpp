#include "conformance/mutants/mutants.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "conformance/mutants/groups.hpp"

namespace veriroce::mutants {

namespace {

using Group = std::span<const Mutant> (*)();

std::vector<Mutant> members_of(std::initializer_list<Group> groups) {
    std::vector<Mutant> list;
    for (const Group group : groups) {
        const auto members = group();
        list.insert(list.end(), members.begin(), members.end());
    }
    return list;
}

// Of a list with single spaces between the words.
std::vector<std::string_view> words_of(std::string_view list) {
    std::vector<std::string_view> words;
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(' '), list.size());
        words.push_back(list.substr(0, end));
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return words;
}

} // namespace

std::span<const Mutant> all() {
    static const std::vector<Mutant> mutants = members_of(
        {enc,     crc,      bth,     sta,     rsp,     opc,         len_key,   rnr,
         rdr_atm, ack_req,  tmo,     cnp_rob, cm,      connections, migration, completions,
         answers, requests, effects, memory,  resends, positions,   addresses, missing_checks});
    return mutants;
}

const std::vector<std::vector<Mutant>>& blind_samples() {
    static const std::vector<std::vector<Mutant>> samples{
        members_of(
            {blind_checks, blind_responder, blind_reads, blind_requester, blind_host, blind_port}),
        members_of({blind2_checks, blind2_responder, blind2_reads, blind2_requester, blind2_host,
                    blind2_port, blind2_packets, blind2_effects}),
        members_of({blind3_responder, blind3_requester, blind3_host, blind3_port}),
        members_of({blind4_responder, blind4_requester, blind4_host, blind4_port}),
        members_of({blind5_responder, blind5_requester, blind5_port}),
        members_of({blind6_responder, blind6_requester, blind6_port}),
        members_of({blind7_responder, blind7_requester, blind7_port}),
        members_of({blind8_responder, blind8_requester, blind8_port}),
        members_of({blind9_responder, blind9_requester, blind9_port}),
        members_of({blind10_all}),
        members_of({blind11_responder, blind11_requester, blind11_port}),
        members_of({blind12_responder, blind12_requester}),
        members_of({blind13_responder, blind13_requester}),
        members_of({blind14_responder, blind14_requester}),
        members_of({blind15_responder, blind15_requester}),
        members_of({blind16_responder, blind16_requester}),
        members_of({blind17_responder, blind17_requester}),
        members_of({blind18_responder, blind18_requester}),
        members_of({blind19_responder, blind19_requester}),
        members_of({blind20_responder, blind20_requester}),
        members_of({blind21_responder, blind21_requester}),
        members_of({blind22_responder, blind22_requester}),
        members_of({blind23_responder, blind23_requester}),
        members_of({blind24_responder, blind24_requester})};
    return samples;
}

std::span<const Mutant> blind(std::size_t sample) {
    return blind_samples().at(sample - 1);
}

std::span<const Mutant> lawful() {
    static const std::vector<Mutant> oddities = members_of({lawful_first,
                                                            lawful_responder,
                                                            lawful_requester,
                                                            lawful_port,
                                                            lawful_headers,
                                                            lawful_answers,
                                                            lawful_resends,
                                                            lawful_host,
                                                            lawful_blind_answers,
                                                            lawful_blind_requests,
                                                            lawful_blind2_answers,
                                                            lawful_blind2_requests,
                                                            lawful_blind3,
                                                            lawful_blind4,
                                                            lawful_blind5_plain,
                                                            lawful_blind5_traits,
                                                            lawful_blind6_mixed,
                                                            lawful_blind7_mixed,
                                                            lawful_blind8_mixed,
                                                            lawful_blind9_mixed,
                                                            lawful_blind10_mixed,
                                                            lawful_blind11_mixed,
                                                            lawful_cm,
                                                            lawful_connections});
    return oddities;
}

std::vector<std::span<const Mutant>> every_list() {
    std::vector<std::span<const Mutant>> lists{all()};
    std::ranges::copy(blind_samples(), std::back_inserter(lists));
    lists.push_back(lawful());
    return lists;
}

std::optional<std::reference_wrapper<const Mutant>> find(std::string_view name) {
    for (const auto list : every_list()) {
        const auto found = std::ranges::find(list, name, &Mutant::name);
        if (found != list.end()) return std::cref(*found);
    }
    return std::nullopt;
}

std::vector<std::string> traits_of(const Mutant& mutant) {
    const auto words = words_of(mutant.traits);
    return {words.begin(), words.end()};
}

std::vector<Caught> caught_by_cases(const Mutant& mutant) {
    std::vector<Caught> list;
    const auto add = [&](std::string_view cases, bool judge_alone) {
        for (const std::string_view id : words_of(cases))
            list.push_back({id, mutant.name, judge_alone});
    };
    add(mutant.cases, false);
    add(mutant.judge_cases, true);
    return list;
}

std::vector<Caught> caught_by_cases() {
    std::vector<Caught> list;
    for (const auto mutants : every_list()) { // an oddity names no case
        for (const Mutant& mutant : mutants)
            std::ranges::copy(caught_by_cases(mutant), std::back_inserter(list));
    }
    return list;
}

} // namespace veriroce::mutants
