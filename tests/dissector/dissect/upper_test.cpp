// What is carried above the transport, as the command shows it.
#include <catch2/catch.hpp>

#include "tests/dissector/corpus/upper_corpus.hpp"
#include "tests/dissector/dissect/command.hpp"

using namespace veriroce::dissect;
using namespace veriroce::dissect::test;
using veriroce::corpus::Corpus;

namespace {

// The made capture of one protocol, without its first frames.
std::string capture(const TemporaryFolder& folder, const std::string& name,
                    std::size_t without = 0) {
    for (Corpus& corpus : veriroce::corpus::upper_corpora()) {
        if (corpus.name != name) continue;
        corpus.frames.erase(corpus.frames.begin(),
                            corpus.frames.begin() + static_cast<std::ptrdiff_t>(without));
        const std::string path = folder.path() / (name + ".pcap");
        write_pcap(corpus, path);
        return path;
    }
    throw std::runtime_error("no such corpus");
}

std::string line(const std::string& path, std::size_t number, Options options = {}) {
    options.files = {path};
    const Ran result = ran(options);
    REQUIRE(result.code == 0);
    REQUIRE(result.err.empty());
    return lines_of(result.out).at(number - 1);
}

std::size_t packets(const std::string& path, const std::string& filter, Options options = {}) {
    options.files = {path};
    options.filter = filter;
    const Ran result = ran(options);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return lines_of(result.out).size();
}

bool ends_with(const std::string& text, std::string_view end) {
    INFO(text);
    return text.ends_with(end);
}

} // namespace

TEST_CASE("above: a line says what the message is", "[dissect]") {
    const TemporaryFolder folder;
    const std::string nvme = capture(folder, "nvme");
    CHECK(ends_with(line(nvme, 4), " Len=1088 NVMe Connect CID=0x0000 QID=0"));
    CHECK(ends_with(line(nvme, 6), " NVMe Property Get CID=0x0001 Offset=0x00"));
    CHECK(ends_with(line(nvme, 15),
                    " NVMe Completion CID=0x0005 SQHD=33 Status=0/02 (Invalid Field "
                    "in Command)"));
    CHECK(ends_with(line(nvme, 22), " NVMe Read CID=0x0001 NSID=1 SLBA=38960125560 NLB=16"));
    CHECK(ends_with(line(nvme, 33), " NVMe Opcode=0xc1 CID=0x0005 NSID=1"));
    const std::string iser = capture(folder, "iser");
    CHECK(ends_with(line(iser, 4), " iSER Hello"));
    CHECK(ends_with(line(iser, 8), " iSER SCSI Command ITT=0x10000007 ReadSTag=0x55667788"));
    const std::string smb = capture(folder, "smb_direct");
    CHECK(ends_with(line(smb, 4), " SMB Direct Negotiate Request"));
    CHECK(ends_with(line(smb, 5), " SMB Direct Negotiate Response Status=0x00000000"));
    CHECK(ends_with(line(smb, 7), " SMB Direct Data Credits=10/3 DataLength=1000 Remaining=4096"));
    const std::string rpc = capture(folder, "rpcordma");
    CHECK(ends_with(line(rpc, 6), " RPC over RDMA RDMA_MSG XID=0xa1b2c3d4 Credits=32 Reads=2 "
                                  "Writes=2 Reply=1"));
    CHECK(ends_with(line(rpc, 10), " RDMA_ERROR XID=0xa1b2c3d4 Credits=32 ERR_VERS"));
}

TEST_CASE("above: filters, the tree, tables and JSON know the fields", "[dissect]") {
    const TemporaryFolder folder;
    const std::string nvme = capture(folder, "nvme");
    CHECK(packets(nvme, "nvme.cmd.opc == 2") == 2);
    CHECK(packets(nvme, "nvme.cqe.status.sc == 0x81 && nvme.cqe.status.dnr == 1") == 2);
    CHECK(packets(nvme, "nvme-rdma.cm.req.qid == 1") == 2);
    CHECK(packets(nvme, "nvme.fabrics.cmd.connect.data.subnqn contains \"nnn\"") == 4);
    CHECK(packets(capture(folder, "iser"), "iser && iscsi.opcode == \"SCSI Command\"") == 6);
    CHECK(packets(capture(folder, "smb_direct"), "smb_direct.data_length > 0") == 6);
    CHECK(packets(capture(folder, "rpcordma"), "rpcordma.reads_count > 0") == 4);
    const Ran tree = ran({.files = {nvme}, .filter = "frame.number == 22", .tree = true});
    CHECK(tree.out.find("NVMe I/O Command, 64 bytes at 0036\n") != std::string::npos);
    CHECK(tree.out.find("Opcode: 0x02 (Read)\n") != std::string::npos);
    CHECK(tree.out.find("SGL Type: 0x04 (Keyed Data Block)\n") != std::string::npos);
    const Ran json = ran({.files = {nvme}, .filter = "frame.number == 22", .format = Format::Json});
    CHECK(json.out.find("\"nvme.cmd.sgl1.len\":8192") != std::string::npos);
    const Ran csv = ran({.files = {nvme},
                         .filter = "frame.number == 22",
                         .format = Format::Csv,
                         .fields = {"nvme.cmd.slba"}});
    CHECK(csv.out == "nvme.cmd.slba\n0x0000000912345678\n");
}

TEST_CASE("above: nothing is guessed, and --decode-as says what no CM exchange tells",
          "[dissect]") {
    const TemporaryFolder folder;
    const std::string path = capture(folder, "nvme", 3); // without its CM exchange
    CHECK(packets(path, "nvme && ip.src == 192.0.2.1 && infiniband.bth.destqp == 0x202") == 0);
    const auto told = [&path](std::vector<std::string> words, const std::string& filter) {
        return packets(path, filter, {.decode_as = std::move(words)});
    };
    CHECK(told({"qp=0x202:nvme"}, "nvme.cmd.opc == 6 && ip") == 1);
    // Until the queue is known a command has a number and no name, which the other kind may have.
    const TemporaryFolder other;
    const std::string io = capture(other, "nvme", 21); // without the Connect of the I/O queue too
    const auto named = [&io](const std::string& written) {
        return line(io, 1, {.files = {io}, .decode_as = {written}});
    };
    CHECK(ends_with(named("qp=0x203:nvme"), " NVMe Opcode=0x02 CID=0x0001 NSID=1"));
    CHECK(ends_with(named("qp=0x203:nvme_admin"), " NVMe Get Log Page CID=0x0001 NSID=1"));
    CHECK(ends_with(named("qp=0x203:nvme_io"),
                    " NVMe Read CID=0x0001 NSID=1 SLBA=38960125560 NLB=16"));
    CHECK(told({"qp=514:nvme"}, "nvme.cqe.cid == 3 && ip.src == 192.0.2.2 && frame.number < 13") ==
          0); // that is the other QP
    CHECK(told({"qp=0x202:nvme", "qp=0x101:nvme"}, "nvme.cqe.cid == 3 && frame.number < 13") == 1);
    const std::string whole = capture(folder, "nvme");
    CHECK(packets(whole, "nvme") > 10);
    CHECK(packets(whole, "nvme", {.decode_as = {"port=4420:none"}}) == 0);
    CHECK(packets(whole, "iser", {.decode_as = {"port=4420:iser"}}) > 0);
}

TEST_CASE("above: what is wrong with --decode-as is said", "[dissect]") {
    const auto error = [](const std::string& written) {
        const Ran result = ran({.files = {"-"}, .decode_as = {written}});
        CHECK(result.code == 2);
        CHECK(result.out.empty());
        return result.err;
    };
    const std::string begin = "veriroce: dissect: --decode-as: ";
    CHECK(error("nvme") == begin + "expected qp=N:PROTOCOL or port=N:PROTOCOL, got 'nvme'\n");
    CHECK(error("qp=5") == begin + "expected qp=N:PROTOCOL or port=N:PROTOCOL, got 'qp=5'\n");
    CHECK(error("lid=5:nvme") ==
          begin + "expected qp=N:PROTOCOL or port=N:PROTOCOL, got 'lid=5:nvme'\n");
    CHECK(error("qp=5:nvmf") == begin + "unknown protocol 'nvmf'; choose nvme, nvme_admin, "
                                        "nvme_io, iser, smb_direct, rpcordma or "
                                        "none\n");
    CHECK(error("port=4420:nvme_io") ==
          begin + "'nvme_io' needs qp=, because one port serves admin and I/O queues\n");
    CHECK(error("qp=0x1000000:nvme") == begin + "'0x1000000' is not a qp number\n");
    CHECK(error("port=65536:nvme") == begin + "'65536' is not a port number\n");
    CHECK(error("port=:nvme") == begin + "'' is not a port number\n");
    CHECK(error("qp=-1:nvme") == begin + "'-1' is not a qp number\n");
}

TEST_CASE("above: wrong lengths are findings", "[dissect]") {
    const TemporaryFolder folder;
    const Ran result = ran({.files = {capture(folder, "nvme")}, .check = true});
    CHECK(result.code == 1);
    CHECK(result.out.find("error NVMe-oF: the message is not as long as an NVMe capsule (expected "
                          "64, got 20), bytes 54..73\n") != std::string::npos);
    CHECK(result.out.ends_with("84 frames, 84 RoCE packets, 4 with errors or warnings\n"));
    for (const auto& [name, found] :
         {std::pair{"iser", "4"}, {"smb_direct", "4"}, {"rpcordma", "6"}}) {
        const Ran other = ran({.files = {capture(folder, name)}, .check = true});
        INFO(other.out);
        CHECK(other.out.find(std::string(", ") + found + " with errors or warnings\n") !=
              std::string::npos);
    }
}

TEST_CASE("above: a capsule that the capture cut says so", "[dissect]") {
    const TemporaryFolder folder;
    std::string file = text_of(capture(folder, "nvme"));
    // Frame 22, a Read, as a capture of 100 bytes a frame has it: half of its command.
    std::size_t at = 24;
    const auto length = [&file](std::size_t place) {
        std::size_t value = 0;
        for (std::size_t i = 0; i < 4; ++i)
            value = value << 8 | static_cast<unsigned char>(file[place + i]);
        return value;
    };
    for (std::size_t number = 1; number < 22; ++number)
        at += 16 + length(at + 8);
    const std::size_t captured = 100;
    file.erase(at + 16 + captured, length(at + 8) - captured);
    file[at + 11] = static_cast<char>(captured);
    const std::string path = folder.file("cut.pcap", file);
    const std::string shown = line(path, 22);
    INFO(shown);
    CHECK(shown.find(" NVMe Read CID=0x0001 NSID=1") != std::string::npos);
    CHECK(shown.ends_with(" [cut]"));
    CHECK(packets(path, "frame.number == 22 && nvme.cmd.cid == 1 && !nvme.cmd.nlb") == 1);
    Options check{.files = {path}, .filter = "frame.number == 22", .check = true};
    CHECK(ran(check).code == 0);
}
