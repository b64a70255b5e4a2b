#include "transport/commands/ping.hpp"

#include <fmt/format.h>

#include "dissector/command_line/stop_on_signal.hpp"
#include "transport/net/clock.hpp"

namespace veriroce::commands {

using namespace command_line;

void add_ping(Command program) {
    auto command = program.add_command(
        "ping",
        "Make RC round trips with ibv_rc_pingpong or 'veriroce serve', and compare the data");
    const auto options = std::make_shared<PingOptions>();
    command.option("HOST", options->peer, "HOST or HOST:PORT; the default port is 18515",
                   {.required = true});
    add_options(command, *options);
    command.on_run([options] { return run_ping(*options, stdout, stderr); });
}

int run_ping(const PingOptions& options, std::FILE* out, std::FILE* err) {
    const command_line::StopOnSignal stop;
    const bool with_port =
        options.peer.rfind(':') != std::string::npos && !wire::IpAddress::parse(options.peer);
    const auto address = with_port ? net::LineAddress::parse(options.peer)
                                   : net::LineAddress{false, options.peer, pingpong::kExchangePort};
    if (!address) return tell(err, {kExitUsage, address.error().text});
    auto ports = Ports::open(options);
    if (!ports) return tell(err, ports.error());
    auto stream = net::ByteStream::connect(*address, net::monotonic_now() + kExchangePatience,
                                           "ibv_rc_pingpong or veriroce serve");
    if (!stream) return tell(err, {kExitUnable, stream.error().text});
    const auto local = stream->local_address();
    if (!local) return tell(err, {kExitUsage, "the peer must be a host"});
    const auto chosen = ports->for_connection(*local);
    if (!chosen) return tell(err, chosen.error());
    auto side = open_side(options, *chosen);
    if (!side) return tell(err, side.error());

    if (const auto said = send_introduction(*stream, (*side)->local()); !said)
        return tell(err, said.error());
    const auto remote = receive_introduction(*stream);
    if (!remote) return tell(err, remote.error());
    fmt::print(out, "{}\nlocal:  {}\nremote: {}\n", chosen->link.text(), text_of((*side)->local()),
               text_of(*remote));
    if (const auto met = connect(**side, *chosen, *remote); !met) return tell(err, met.error());
    if (const auto told = stream->send(pingpong::kDone, net::monotonic_now() + kExchangePatience);
        !told) {
        return tell(err, {kExitUnable, told.error().text});
    }
    (*side)->start(net::monotonic_now());
    const auto played = play_and_report(**side, chosen->link, options, ", all data correct", out);
    return played ? kExitSuccess : tell(err, played.error());
}

} // namespace veriroce::commands
