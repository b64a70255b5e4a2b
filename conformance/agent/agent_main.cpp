// veriroce-agent: the agent alone, for hosts that have only libc and libibverbs. It has only the
// verbs backend; `veriroce agent` also has the engine backend, whose ICRC needs ISA-L.
#include <array>
#include <string_view>
#include <vector>

#include "conformance/agent/serve.hpp"
#include "conformance/agent/verbs_backend.hpp"

int main(int argc, char* argv[]) {
    static constexpr std::array backends{veriroce::agent::verbs_backend};
    const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    return veriroce::agent::run_command_line(words, backends);
}
