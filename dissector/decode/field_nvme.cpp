// Rows of the field table: NVMe over RDMA. All of NVMe is little-endian.
#include <algorithm>

#include "dissector/decode/field_rows.hpp"
#include "dissector/decode/upper.hpp"
#include "dissector/decode/upper_names.hpp"

namespace veriroce::decode::rows {
namespace {

using enum LayerKind;
using Format::Boolean;
using Format::Bytes;
using Format::Decimal;
using Format::Hex;
using Format::Text;

using Computed = std::optional<Value>;

// Private data of CM: this layer and the bytes after it, which were one layer.
Computed private_data(const Dissection& d, const LayerSpan& layer) {
    const LayerSpan* rest = d.layers.find(CmPrivate);
    const std::uint32_t length = layer.length + (rest != nullptr ? rest->length : 0);
    return Value{.number = 0, .bytes = d.frame.bytes.subspan(layer.offset, length), .text = {}};
}
constexpr FieldRow private_row(std::string_view name, LayerKind layer) {
    return computed(name, "Private Data", layer, Bytes, private_data, Shown::OnlyByName);
}

constexpr std::size_t kTypeAt = 39; // of the SGL descriptor
constexpr unsigned kKeyed = 4;
constexpr unsigned kBitBucket = 1;

// Nothing if the whole descriptor was not captured.
std::optional<unsigned> sgl_type(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes bytes = d.bytes_of(layer);
    if (bytes.size() <= kTypeAt) return std::nullopt;
    // Of the commands of fabrics, Connect and the two of authentication have a descriptor.
    if (layer.kind == NvmeFabrics) {
        const unsigned type = wire::load_u8(bytes, 4);
        if (type != kNvmeConnect && type != 0x05 && type != 0x06) return std::nullopt;
    }
    return wire::load_u8(bytes, kTypeAt) >> 4;
}
template <unsigned Shift>
Computed sgl_nibble(const Dissection& d, const LayerSpan& layer) {
    if (!sgl_type(d, layer)) return std::nullopt;
    return number(wire::load_u8(d.bytes_of(layer), kTypeAt) >> Shift & 0xFU);
}
Computed sgl_address(const Dissection& d, const LayerSpan& layer) {
    const auto type = sgl_type(d, layer);
    if (!type || *type == kBitBucket) return std::nullopt;
    return little<24, 8>(d, layer);
}
Computed sgl_length(const Dissection& d, const LayerSpan& layer) {
    const auto type = sgl_type(d, layer);
    if (!type) return std::nullopt;
    return *type == kKeyed ? little<32, 3>(d, layer) : little<32, 4>(d, layer);
}
Computed sgl_key(const Dissection& d, const LayerSpan& layer) {
    if (sgl_type(d, layer) != kKeyed) return std::nullopt;
    return little<35, 4>(d, layer);
}

constexpr std::array<FieldRow, 5> sgl_rows(LayerKind layer) {
    return {
        standing(computed("nvme.cmd.sgl1.addr", "SGL Address", layer, Hex, sgl_address), 192, 64),
        standing(computed("nvme.cmd.sgl1.len", "SGL Length", layer, Decimal, sgl_length), 256, 24),
        standing(computed("nvme.cmd.sgl1.key", "SGL Key", layer, Hex, sgl_key), 280, 32),
        standing(computed("nvme.cmd.sgl.type", "SGL Type", layer, Hex, sgl_nibble<4>), 312, 4),
        standing(computed("nvme.cmd.sgl.subtype", "SGL Subtype", layer, Hex, sgl_nibble<0>), 316,
                 4),
    };
}
constexpr std::array<FieldRow, 5> described(std::array<FieldRow, 5> rows) {
    constexpr std::array<std::uint8_t, 5> kDigits{16, 0, 8, 2, 2};
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i].digits = kDigits[i];
    rows[3].meaning = nvme_sgl_type_name;
    return rows;
}

constexpr std::array<FieldRow, 8> head_rows(LayerKind layer,
                                            std::string_view (*opcode)(std::uint64_t)) {
    return {
        hex("nvme.cmd.opc", "Opcode", layer, 0, 8, 2, opcode),
        hex("nvme.cmd.psdt", "PRP or SGL", layer, 8, 2, 2),
        hex("nvme.cmd.rsvd", "Reserved", layer, 10, 4, 2),
        hex("nvme.cmd.fuse_op", "Fused Operation", layer, 14, 2, 2),
        little_row<2, 2>("nvme.cmd.cid", "Command ID", layer, Hex, 4),
        little_row<4, 4>("nvme.cmd.nsid", "Namespace ID", layer, Hex, 8),
        bytes("nvme.cmd.rsvd1", "Reserved", layer, 64, 64),
        little_row<16, 8>("nvme.cmd.mptr", "Metadata Pointer", layer, Hex, 16),
    };
}

// Words 10 to 15 under their numbers, unless they are told apart.
bool reads_or_writes(const Dissection& d, const LayerSpan& layer) {
    const unsigned opcode = wire::load_u8(d.bytes_of(layer), 0);
    return layer.kind == NvmeIoCommand && (opcode == 1 || opcode == 2);
}
template <std::size_t At>
Computed word(const Dissection& d, const LayerSpan& layer) {
    if (layer.length == 0 || reads_or_writes(d, layer)) return std::nullopt;
    return little<At, 4>(d, layer);
}
template <std::size_t At>
constexpr FieldRow word_row(std::string_view name, std::string_view title, LayerKind layer) {
    return with_digits(standing(computed(name, title, layer, Hex, word<At>), At * 8, 32), 8);
}
constexpr std::array<FieldRow, 6> word_rows(LayerKind layer) {
    return {word_row<40>("nvme.cmd.dword10", "DWORD10", layer),
            word_row<44>("nvme.cmd.dword11", "DWORD11", layer),
            word_row<48>("nvme.cmd.dword12", "DWORD12", layer),
            word_row<52>("nvme.cmd.dword13", "DWORD13", layer),
            word_row<56>("nvme.cmd.dword14", "DWORD14", layer),
            word_row<60>("nvme.cmd.dword15", "DWORD15", layer)};
}

// Of Read and Write.
template <Computed (*Field)(const Dissection&, const LayerSpan&), std::uint64_t Added = 0>
Computed of_blocks(const Dissection& d, const LayerSpan& layer) {
    if (layer.length == 0 || !reads_or_writes(d, layer)) return std::nullopt;
    Computed value = Field(d, layer);
    if (value) value->number += Added;
    return value;
}
constexpr std::array kBlockRows{
    with_digits(standing(computed("nvme.cmd.slba", "Start LBA", NvmeIoCommand, Hex,
                                  of_blocks<little<40, 8>>),
                         320, 64),
                16),
    standing(computed("nvme.cmd.nlb", "Number of Logical Blocks", NvmeIoCommand, Decimal,
                      of_blocks<little<48, 2>, 1>),
             384, 16),
    with_digits(standing(computed("nvme.cmd.fua", "Force Unit Access", NvmeIoCommand, Hex,
                                  of_blocks<little<50, 2, 14, 1>>),
                         400, 16),
                4),
    with_digits(standing(computed("nvme.cmd.lr", "Limited Retry", NvmeIoCommand, Hex,
                                  of_blocks<little<50, 2, 15, 1>>),
                         400, 16),
                4),
};

// A field of one type of fabrics command, or of two.
template <unsigned Type, Computed (*Field)(const Dissection&, const LayerSpan&),
          unsigned Other = Type>
Computed of_type(const Dissection& d, const LayerSpan& layer) {
    if (layer.length < 5) return std::nullopt;
    const unsigned type = wire::load_u8(d.bytes_of(layer), 4);
    if (type != Type && type != Other) return std::nullopt;
    return Field(d, layer);
}
template <std::size_t At, std::size_t Size>
Computed bytes_at(const Dissection& d, const LayerSpan& layer) {
    const wire::Bytes all = d.bytes_of(layer);
    if (all.size() < At + Size) return std::nullopt;
    return Value{.number = 0, .bytes = all.subspan(At, Size), .text = {}};
}
template <std::uint16_t At, std::uint16_t Size>
constexpr FieldRow fabrics(std::string_view name, std::string_view title, Format format,
                           std::optional<Value> (*compute)(const Dissection&, const LayerSpan&),
                           std::uint8_t digits = 0,
                           std::string_view (*meaning)(std::uint64_t) = nullptr) {
    FieldRow row = standing(computed(name, title, NvmeFabrics, format, compute), At * 8, Size * 8);
    row.digits = digits;
    row.meaning = meaning;
    return row;
}

constexpr std::array kFabricsRows{
    bytes("nvme.fabrics.cmd.opc", "Opcode", NvmeFabrics, 0, 8),
    hex("nvme.fabrics.cmd.rsvd", "Reserved", NvmeFabrics, 8, 8, 2),
    little_row<2, 2>("nvme.fabrics.cmd.cid", "Command ID", NvmeFabrics, Hex, 4),
    hex("nvme.fabrics.cmd.fctype", "Type", NvmeFabrics, 32, 8, 2, nvme_fabrics_type_name),
    fabrics<40, 2>("nvme.fabrics.cmd.connect.recfmt", "Record Format", Decimal,
                   of_type<1, little<40, 2>>),
    fabrics<42, 2>("nvme.fabrics.cmd.connect.qid", "Queue ID", Decimal, of_type<1, little<42, 2>>),
    fabrics<44, 2>("nvme.fabrics.cmd.connect.sqsize", "Submission Queue Size (0's based)", Decimal,
                   of_type<1, little<44, 2>>),
    fabrics<46, 1>("nvme.fabrics.cmd.connect.cattr", "Connect Attributes", Hex,
                   of_type<1, little<46, 1>>, 2),
    fabrics<48, 4>("nvme.fabrics.cmd.connect.kato", "Keep Alive Timeout (ms)", Decimal,
                   of_type<1, little<48, 4>>),
    fabrics<40, 1>("nvme.fabrics.cmd.prop_get_set.attrib", "Attributes", Hex,
                   of_type<4, little<40, 1, 0, 3>, 0>, 2),
    fabrics<44, 4>("nvme.fabrics.cmd.prop_get_set.offset", "Offset", Hex,
                   of_type<4, little<44, 4>, 0>, 8, nvme_property_name),
    fabrics<48, 8>("nvme.fabrics.prop_get_set.data", "Property Data", Bytes,
                   of_type<0, bytes_at<48, 8>>),
    fabrics<41, 1>("nvme.fabrics.cmd.auth.spsp0", "SP Specific 0", Hex,
                   of_type<5, little<41, 1>, 6>, 2),
    fabrics<42, 1>("nvme.fabrics.cmd.auth.spsp1", "SP Specific 1", Hex,
                   of_type<5, little<42, 1>, 6>, 2),
    fabrics<43, 1>("nvme.fabrics.cmd.auth.secp", "Security Protocol", Hex,
                   of_type<5, little<43, 1>, 6>, 2),
    fabrics<44, 4>("nvme.fabrics.cmd.auth.al", "Allocation Length", Decimal,
                   of_type<5, little<44, 4>, 6>),
    fabrics<40, 2>("nvme.fabrics.cmd.disconnect.recfmt", "Record Format", Decimal,
                   of_type<8, little<40, 2>>),
};

// A name that ends with a zero byte; up to the first character that is none of printable ASCII.
template <std::size_t At>
Computed name_at(const Dissection& d, const LayerSpan& layer) {
    const auto found = bytes_at<At, 256>(d, layer);
    if (!found) return std::nullopt;
    const auto end = std::ranges::find_if(
        found->bytes, [](std::byte b) { return b < std::byte{0x20} || b > std::byte{0x7E}; });
    const auto size = static_cast<std::size_t>(end - found->bytes.begin());
    return text({reinterpret_cast<const char*>(found->bytes.data()), size});
}

constexpr std::array kOtherRows{
    private_row("roce.cm.private", NvmeCmReq),
    private_row("infiniband.cm.req.ip_cm.private", NvmeCmReq),
    little_row<0, 2>("nvme-rdma.cm.req.recfmt", "Record Format", NvmeCmReq, Decimal),
    little_row<2, 2>("nvme-rdma.cm.req.qid", "Queue ID", NvmeCmReq, Decimal),
    little_row<4, 2>("nvme-rdma.cm.req.hrqsize", "Host Receive Queue Size", NvmeCmReq, Decimal),
    little_row<6, 2>("nvme-rdma.cm.req.hsqsize", "Host Send Queue Size (0's based)", NvmeCmReq,
                     Decimal),
    little_row<8, 2>("nvme-rdma.cm.req.cntlid", "Controller ID", NvmeCmReq, Hex, 4),
    private_row("roce.cm.private", NvmeCmRep),
    private_row("infiniband.cm.rep.private", NvmeCmRep),
    little_row<0, 2>("nvme-rdma.cm.rsp.recfmt", "Record Format", NvmeCmRep, Decimal),
    little_row<2, 2>("nvme-rdma.cm.rsp.crqsize", "Controller Receive Queue Size", NvmeCmRep,
                     Decimal),
    private_row("roce.cm.private", NvmeCmRej),
    private_row("infiniband.cm.rej.private", NvmeCmRej),
    little_row<0, 2>("nvme-rdma.cm.rej.recfmt", "Record Format", NvmeCmRej, Decimal),
    little_row<2, 2>("nvme-rdma.cm.rej.status", "Status", NvmeCmRej, Hex, 4),

    bytes("nvme.fabrics.cmd.connect.data.hostid", "Host ID", NvmeConnectData, 0, 128),
    little_row<16, 2>("nvme.fabrics.cmd.connect.data.cntrlid", "Controller ID", NvmeConnectData,
                      Hex, 4),
    standing(computed("nvme.fabrics.cmd.connect.data.subnqn", "Subsystem NQN", NvmeConnectData,
                      Text, name_at<256>),
             2048, 2048),
    standing(computed("nvme.fabrics.cmd.connect.data.hostnqn", "Host NQN", NvmeConnectData, Text,
                      name_at<512>),
             4096, 2048),

    little_row<0, 4>("nvme.cqe.dword0", "DWORD0", NvmeCompletion, Hex, 8),
    little_row<4, 4>("nvme.cqe.dword1", "DWORD1", NvmeCompletion, Hex, 8),
    little_row<8, 2>("nvme.cqe.sqhd", "Submission Queue Head", NvmeCompletion, Hex, 4),
    little_row<10, 2>("nvme.cqe.sqid", "Submission Queue ID", NvmeCompletion, Hex, 4),
    little_row<12, 2>("nvme.cqe.cid", "Command ID", NvmeCompletion, Hex, 4),
    little_row<14, 2>("nvme.cqe.status", "Status", NvmeCompletion, Hex, 4),
    little_row<14, 2, 0, 1>("nvme.cqe.status.p", "Phase Tag", NvmeCompletion, Hex, 4),
    little_row<14, 2, 1, 8>("nvme.cqe.status.sc", "Status Code", NvmeCompletion, Hex, 4),
    little_row<14, 2, 9, 3>("nvme.cqe.status.sct", "Status Code Type", NvmeCompletion, Hex, 4,
                            nvme_status_type_name),
    little_row<14, 2, 12, 2>("nvme.cqe.status.crd", "Command Retry Delay", NvmeCompletion, Hex, 4),
    little_row<14, 2, 14, 1>("nvme.cqe.status.m", "More in Log Page", NvmeCompletion, Boolean),
    little_row<14, 2, 15, 1>("nvme.cqe.status.dnr", "Do Not Retry", NvmeCompletion, Boolean),
};

template <std::size_t... Sizes>
constexpr auto joined(const std::array<FieldRow, Sizes>&... parts) {
    std::array<FieldRow, (Sizes + ...)> rows;
    auto next = rows.begin();
    ((next = std::ranges::copy(parts, next).out), ...);
    return rows;
}

constexpr auto kNvmeRows =
    joined(head_rows(NvmeCommand, nvme_admin_opcode_name), described(sgl_rows(NvmeCommand)),
           word_rows(NvmeCommand), head_rows(NvmeIoCommand, nvme_io_opcode_name),
           described(sgl_rows(NvmeIoCommand)), word_rows(NvmeIoCommand), kBlockRows,
           head_rows(NvmeAnyCommand, nullptr), described(sgl_rows(NvmeAnyCommand)),
           word_rows(NvmeAnyCommand), kFabricsRows, described(sgl_rows(NvmeFabrics)), kOtherRows);

} // namespace

std::span<const FieldRow> nvme() {
    return kNvmeRows;
}

} // namespace veriroce::decode::rows
