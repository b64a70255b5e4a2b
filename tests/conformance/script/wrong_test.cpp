// The compiler reports errors before anything is sent: place, message, marked word.
#include "tests/conformance/script/text.hpp"

namespace veriroce::script::tests {
namespace {

struct Wrong {
    std::string_view header; // lines after rule, title and role; the dialogue begins at line 5
    std::string_view dialogue;
    std::string_view says;  // "LINE:COLUMN: MESSAGE", one line for each diagnostic
    std::string_view marks; // what the first one marks
};

std::string said(const std::vector<Diagnostic>& diagnostics) {
    std::string text;
    for (const Diagnostic& one : diagnostics) {
        if (!text.empty()) text += "\n";
        text += std::to_string(one.span.line) + ":" + std::to_string(one.span.column) + ": " +
                one.message;
    }
    return text;
}

std::string marked(const Diagnostic& one) {
    return one.source.substr(one.span.column - 1, one.span.length);
}

const std::array wrong_scripts{
    // words of a packet line
    Wrong{"", "> CM_REG cm.serviceid=1\n", "5:3: unknown opcode 'CM_REG'; did you mean 'CM_REQ'?",
          "CM_REG"},
    Wrong{"", "> CM_REQ cm.reason=1\n", "5:10: unknown field 'cm.reason'", "cm.reason"},
    Wrong{"", "> CM_REJ cm.reason=0x10000\n", "5:20: cm.reason must be 0 to 65535, got 65536",
          "0x10000"},
    Wrong{"", "> CM_REQ cm.prim_localgid=7\n",
          "5:27: expected an address: tester, dut, a 'tester address' or a 'dut address'", "7"},
    Wrong{"", "> CM_RTU invert=mad.method:8\n", "5:28: the bit must be 0 to 7, got 8", "8"},
    Wrong{"", "> SEND_ONLY mad.method=3\n", "5:13: unknown field 'mad.method'", "mad.method"},
    Wrong{"", "dut congestion\n", "5:15: 'congestion' needs a setting: np=on", ""},
    Wrong{"", "dut congestion np=yes\n", "5:19: unknown switch 'yes'", "yes"},
    Wrong{"", "dut congestion interval=3\n", "5:25: a time needs a unit: ns, us, ms or s", "3"},
    Wrong{"", "dut congestion interval=500ns\n",
          "5:25: interval must be 1000 to 4294967295000, got 500", "500ns"},
    Wrong{"", "tester congestion np=on\n", "5:8: the tester has no command 'congestion'",
          "congestion"},
    Wrong{"", "dropped gsi\n",
          "5:1: 'gsi' is QP 1 of the host: packet lines, 'no', 'quiet' and 'judged' can name it, "
          "commands cannot",
          "dropped gsi"},
    Wrong{"qp gsi type=UD\n", "quiet\n",
          "4:4: 'gsi' is QP 1 of the host, which a case cannot set up", "gsi"},
    Wrong{"", "> SEND_ONLY pns=0\n", "5:13: unknown field 'pns'; did you mean 'psn'?", "pns"},
    Wrong{"", "> SEND_ONYL psn=0\n", "5:3: unknown opcode 'SEND_ONYL'; did you mean 'SEND_ONLY'?",
          "SEND_ONYL"},
    Wrong{"", "> send_only psn=0\n", "5:3: unknown opcode 'send_only'; did you mean 'SEND_ONLY'?",
          "send_only"},
    Wrong{"", "> RDMA_READ va=abs:0\n",
          "5:3: 'RDMA_READ' is a verb; its opcode on the wire is RDMA_READ_REQUEST", "RDMA_READ"},
    Wrong{"", "> SEND_ONLY va=abs:0\n", "5:13: SEND_ONLY has no field 'va' (it is part of RETH)",
          "va"},
    Wrong{"", "> SEND_ONLY msn=0\n", "5:13: SEND_ONLY has no field 'msn' (it is part of AETH)",
          "msn"},
    Wrong{"", "< ACK code=PSN_SEQUENCE\n", "5:7: only a NAK has a code", "code"},
    Wrong{"", "> NAK timer=3\n", "5:7: only an RNR_NAK has a timer", "timer"},
    Wrong{"", "< NAK code=PSN_SEQUENZE\n",
          "5:12: unknown NAK code 'PSN_SEQUENZE'; did you mean 'PSN_SEQUENCE'?", "PSN_SEQUENZE"},
    Wrong{"", "> SEND_ONLY icrc=swaped\n",
          "5:18: unknown ICRC kind 'swaped'; did you mean 'swapped'?", "swaped"},
    Wrong{"", "> SEND_ONLY psn=0 psn=1\n", "5:19: 'psn' is written twice", "psn"},
    Wrong{"", "> SEND_ONLY psn\n", "5:13: 'psn' needs a value: psn=...", "psn"},
    Wrong{"", "> SEND_ONLY psn = 0\n", "5:17: no spaces are allowed around '='", "="},
    Wrong{"", "> SEND_ONLY psn=\n", "5:13: 'psn' needs a value: psn=...", "psn"},
    Wrong{"", "< ACK psn>=\n", "5:7: 'psn' needs a value: psn=...", "psn"},
    Wrong{"", "> SEND_ONLY psn=lst\n", "5:17: unknown name 'lst'", "lst"},
    Wrong{"let lost = 3\n", "> SEND_ONLY psn=lst\n",
          "6:17: unknown name 'lst'; did you mean 'lost'?", "lst"},
    Wrong{"", "> SEND_ONLY tver=16\n", "5:18: tver must be 0 to 15, got 16", "16"},
    Wrong{"for n in 1 4\n", "> SEND_ONLY pad=n\n", "6:17: pad must be 0 to 3, got 4", "n"},
    Wrong{"", "> RDMA_WRITE_ONLY rkey=5\n", "5:24: expected a name, or abs:N for a number", "5"},
    Wrong{"", "> SEND_ONLY tver=abs:1\n", "5:18: tver is a plain number and takes no abs:", "abs"},
    Wrong{"", "> SEND_ONLY psn=psn+1\n", "5:17: 'psn' is a field; only a '<' line knows its value",
          "psn"},
    Wrong{"", "> SEND_ONLY flip=psn:24\n", "5:22: the bit must be 0 to 23, got 24", "24"},
    Wrong{"", "> SEND_ONLY invert=psn:24\n", "5:24: the bit must be 0 to 23, got 24", "24"},
    Wrong{"", "> SEND_ONLY invert=ip.dst:128\n", "5:27: the bit must be 0 to 127, got 128", "128"},
    Wrong{"", "> SEND_ONLY invert=icrc:0\n",
          "5:26: 'invert' makes all checksums right; 'flip' damages one", ""},
    Wrong{"", "fault rewrite invert=psn when from=dut\n",
          "5:26: expected ':' and the bit: invert=psn:0", "when"},
    Wrong{"", "dut rearm s limit=1\n",
          "5:11: no shared receive queue 's' is defined before this line", "s"},
    Wrong{"", "dut srq s depth=4\ndut rearm s\n", "6:12: 'dut rearm' needs limit=...", ""},
    Wrong{"", "> SEND_ONLY ip.src=testr\n", "5:20: unknown address 'testr'; did you mean 'tester'?",
          "testr"},
    Wrong{"", "> RAW 00\n", "5:7: expected bytes: hex\"...\"", "00"},
    Wrong{"", "< ACK psn=0 witin 10ms\n", "5:13: unknown field 'witin'; did you mean 'within'?",
          "witin"},
    Wrong{"", "< ACK within 10ms within 20ms\n", "5:19: 'within' is written twice", "within"},
    Wrong{"", "< ACK psn=3..1\n", "5:11: the range is empty", "3..1"},
    Wrong{"", "repeat 10001\n> SEND_ONLY\nend\n",
          "5:8: the repeat count must be 0 to 10000, got 10001", "10001"},
    Wrong{"", "< ACK psn>=1..2\n", "5:7: a range can only be compared with '='", "psn"},
    Wrong{"", "< ACK icrc>=1\n",
          "5:7: 'icrc' has no order: compare one value with = or !=", "icrc"},
    Wrong{"", "< ACK icrc=1..2\n",
          "5:7: 'icrc' has no order: compare one value with = or !=", "icrc"},
    Wrong{"", "< ACK udp.checksum<=7\n",
          "5:7: 'udp.checksum' has no order: compare one value with = or !=", "udp.checksum"},
    Wrong{"", "< ACK ip.src>=dut\n",
          "5:7: 'ip.src' has no order: compare one value with = or !=", "ip.src"},
    Wrong{"", "< = first\n", "5:5: no packet 'first' is defined before this line", "first"},
    Wrong{"", "b > SEND_ONLY\n", "5:1: unknown QP 'b'", "b"},
    // 'unordered' takes only lines that wait
    Wrong{"", "unordered\n  < ACK\n  quiet\nend\n",
          "7:3: not allowed in 'unordered', which takes only '<' lines, 'done', 'state', "
          "'event' and 'notified'",
          "quiet"},
    Wrong{"", "unordered\n  any\n    < ACK\n  or\n    wait 1ms\n  end\nend\n",
          "6:3: not allowed in 'unordered', which takes only '<' lines, 'done', 'state', "
          "'event' and 'notified'",
          "any"},
    Wrong{"", "unordered\n  dut recv id=1\nend\n",
          "6:3: not allowed in 'unordered', which takes only '<' lines, 'done', 'state', "
          "'event' and 'notified'",
          "dut"},
    // orders of lines that no run could execute
    Wrong{"", "tester post SEND id=1\n",
          "5:1: this command needs a 'tester answers' line for its QP before it",
          "tester post SEND id=1"},
    Wrong{"", "> SEND_ONLY\ntester answers\n",
          "6:1: 'tester answers' must come before the first request of its QP", "tester answers"},
    Wrong{"", "dut mr a len=64\ndut dereg a\ndut dereg a\n",
          "7:11: 'a' was deregistered before this line", "a"},
    Wrong{"", "dut mr a len=64\nrepeat 2\n  dut dereg a\nend\n",
          "7:13: 'a' was deregistered before this line", "a"},
    Wrong{"", "dut mr a len=64\ndut dereg a\nexpect a == zero\n",
          "7:8: 'a' was deregistered before this line", "a"},
    Wrong{"", "dut mr a len=64\ndut mw w on=a type=1\ndut dereg w\ndut post BIND_MW id=1 mw=w\n",
          "8:26: 'w' was deregistered before this line", "w"},
    Wrong{"qp ip=6\n", "> SEND_ONLY ip.id=5\n",
          "6:13: IPv6 has no such field, and this case runs over it only (qp ip=6)", "ip.id=5"},
    Wrong{"qp q[1023]\n", "wait 1ms\n",
          "4:4: a case has at most 1023 QPs, including the default one", "q"},
    Wrong{"qp type=UC\n", "> ACK psn=0\n", "6:3: a QP of this type has no ACK", "ACK"},
    Wrong{"qp type=UC\n", "< RDMA_READ_RESPONSE len=64\n",
          "6:3: a QP of this type has no RDMA_READ_RESPONSE", "RDMA_READ_RESPONSE"},
    Wrong{"qp type=UC\n", "> RDMA_READ_REQUEST\n",
          "6:3: a QP of this type has no RDMA_READ_REQUEST", "RDMA_READ_REQUEST"},
    // times and units
    Wrong{"", "wait 10\n", "5:6: a time needs a unit: ns, us, ms or s", "10"},
    Wrong{"", "wait 10sec\n", "5:8: unknown unit 'sec'; expected ns, us, ms, s, KiB or MiB", "sec"},
    Wrong{"", "> SEND_ONLY len=10ms\n", "5:17: expected a number, got a time", "10ms"},
    Wrong{"", "wait 1ms+1\n", "5:6: cannot add or subtract a time and a number; give both a unit",
          "1ms+1"},
    Wrong{"", "wait rnr(32)\n",
          "5:6: out of range: rnr(code) takes 0 to 31, timeout(n) 1 to 31, and an exponent is not "
          "negative",
          "rnr(32)"},
    Wrong{"", "wait rrn(3)\n", "5:6: unknown function 'rrn'; expected rnr(code) or timeout(n)",
          "rrn"},
    Wrong{"", "< ACK after 3ms\n", "5:13: expected a range of times: after 1ms.. or after 1ms..4ms",
          "3ms"},
    Wrong{"", "> SEND_ONLY after rnr(psn)\n",
          "5:19: the only field that 'after' can name here is 'timer': rnr(timer)", "rnr(psn)"},
    Wrong{"", "> SEND_ONLY psn=1/0\n", "5:17: division by zero", "1/0"},
    Wrong{"", "> SEND_ONLY psn=2^64\n", "5:17: the number does not fit in 64 bits", "2^64"},
    Wrong{"", "> SEND_ONLY psn=1.5\n", "5:17: expected a whole number", "1.5"},
    Wrong{"", "> SEND_ONLY psn=(1+2\n", "5:21: expected ')' to close the parenthesis", ""},
    // the two sides
    Wrong{"", "dut pots SEND id=1\n", "5:5: the DUT has no command 'pots'; did you mean 'post'?",
          "pots"},
    Wrong{"", "tester event COMM_EST\n", "5:8: the tester has no command 'event'", "event"},
    Wrong{"", "dut refuses done send id=1\n", "5:13: the DUT cannot refuse 'done'", "done"},
    Wrong{"", "dut post SND id=1\n", "5:10: unknown operation 'SND'; did you mean 'SEND'?", "SND"},
    Wrong{"", "dut post SEND\n", "5:14: 'dut post' needs id=...", ""},
    Wrong{"", "dut post SEND id=1 imm=3\n", "5:10: SEND has no imm", "SEND"},
    Wrong{"", "dut done send id=1\n", "5:18: no 'dut post' line before this one has id=1", "1"},
    Wrong{"", "dut recv id=1..2\ndut done recv id=1..3\n",
          "6:18: no 'dut recv' line before this one has id=3", "1"},
    Wrong{"", "dut mr a\n", "5:9: 'dut mr' needs len=...", ""},
    Wrong{"", "dut mr a len=4KiB\ndut mr a len=4KiB\n", "6:8: 'a' is already a region", "a"},
    Wrong{"", "dut mr a len=4KiB access=remote_rite\n",
          "5:26: unknown access right 'remote_rite'; did you mean 'remote_write'?", "remote_rite"},
    Wrong{"", "dut mr a len=4KiB sise=3\n", "5:19: 'dut mr' has no option 'sise'", "sise"},
    Wrong{"", "dut mr psn len=4KiB\n", "5:8: 'psn' is the name of a field; choose another name",
          "psn"},
    Wrong{"", "dut mr mtu len=4KiB\n", "5:8: 'mtu' is a word of the language; choose another name",
          "mtu"},
    Wrong{"", "dut mr A len=4KiB\n", "5:8: 'A' is not a valid name: use a-z, 0-9 and _", "A"},
    Wrong{"", "dut state EROR\n", "5:11: unknown QP state 'EROR'; did you mean 'ERR'?", "EROR"},
    Wrong{"", "dut event COM_EST\n", "5:11: unknown event 'COM_EST'; did you mean 'COMM_EST'?",
          "COM_EST"},
    Wrong{"", "expect d == zero\n", "5:8: no region 'd' is defined before this line", "d"},
    Wrong{"", "dut mr d len=4KiB\nexpect d == zeros\n",
          "6:13: 'zeros' is neither a region nor a pattern; did you mean 'zero'?", "zeros"},
    // faults
    Wrong{"", "fault drp when psn=1\n", "5:7: unknown fault action 'drp'; did you mean 'drop'?",
          "drp"},
    Wrong{"", "fault drop psn=1\n", "5:12: expected 'when' and a selector", "psn"},
    Wrong{"", "fault drop when psm=1\n", "5:17: unknown selector 'psm'; did you mean 'psn'?",
          "psm"},
    Wrong{"", "fault drop when from=tster\n", "5:22: unknown side 'tster'; did you mean 'tester'?",
          "tster"},
    Wrong{"", "fault drop when pass=0\n", "5:22: this value starts at 1, got 0", "0"},
    Wrong{"", "fault drop when p=2\n",
          "5:19: a probability must be 0 to 1, for example p=0.01 or p=loss/1000", "2"},
    Wrong{"", "fault drop when p=1/0\n", "5:19: division by zero", "1/0"},
    Wrong{"for n in 2\n", "fault drop when p=n/1\n",
          "6:19: a probability must be 0 to 1, for example p=0.01 or p=loss/1000", "n/1"},
    Wrong{"for n in 2\n", "fault drop when p=1-n/1000\n",
          "6:19: a probability must be 0 to 1, for example p=0.01 or p=loss/1000", "1-n/1000"},
    Wrong{"", "fault drop when p=1/2KiB\n",
          "5:19: a probability must be 0 to 1, for example p=0.01 or p=loss/1000", "1/2KiB"},
    Wrong{"", "fault corrupt field=pns when psn=1\n",
          "5:21: unknown field 'pns'; did you mean 'psn'?", "pns"},
    Wrong{"", "fault drop when opcode=request\n",
          "5:24: unknown opcode 'request'; did you mean 'requests'?", "request"},
    // blocks and lines
    Wrong{"", "any\ndropped\nor\n< NAK\n", "5:1: 'any' has no 'end'", "any"},
    Wrong{"", "any\ndropped\nend\n", "5:1: 'any' needs an 'or'", "any"},
    Wrong{"", "dropped\nend\n", "6:1: 'end' without an open block", "end"},
    Wrong{"", "repeat 2\ndropped\nor\nquiet\nend\n",
          "7:1: 'or' without an open 'any'\n9:1: 'end' without an open block", "or"},
    Wrong{"", "repeat i in 1..\ndropped\nend\n",
          "5:1: expected a range with two ends: repeat i in 1..8", "repeat"},
    Wrong{"", "qiet\n", "5:1: unknown statement 'qiet'; did you mean 'quiet'?", "qiet"},
    Wrong{"", "dropped 3\n", "5:9: expected the end of the line, got '3'", "3"},
    Wrong{"", "dropped\nlet n = 3\n",
          "6:1: 'let' is a header line: it belongs above the first blank line", "let"},
    Wrong{"", "\tdropped\n", "5:1: tabs are not allowed; use spaces", "\t"},
    Wrong{"",
          "no NAK psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 psn=0 "
          "psn=0 psn=0 psn=000\n",
          "5:101: the line is longer than 100 columns", ""},
    Wrong{"", "dropped ;\n", "5:9: unexpected character", ";"},
    Wrong{"", "> SEND_ONLY data=hex\"0\"\n", "5:18: an odd number of hexadecimal digits",
          "hex\"0\""},
    Wrong{"", "> {op}\n", "5:3: unknown name 'op'", "{op}"},
    Wrong{"for n in 1 2\n", "> {n}\n", "6:3: 'n' is a number; only a word can stand in {braces}",
          "{n}"},
    Wrong{"for op in SEND_ONLY\n", "> SEND_ONLY psn=op\n", "6:17: 'op' is a word; write {op}",
          "op"},
    Wrong{"for op in SEND_ONLY ACKNOWLEDGE\n", "> {op} msn=3\n",
          "6:8: SEND_ONLY has no field 'msn' (it is part of AETH)", "msn"},
    Wrong{"", "", "3:1: the case has no dialogue", ""},
    // header
    Wrong{"unless odb\n", "dropped\n", "4:8: unknown trait 'odb'; did you mean 'odp'?", "odb"},
    Wrong{"needs row\n", "dropped\n", "4:7: unknown capability 'row'; did you mean 'raw'?", "row"},
    Wrong{"needs mtu\n", "dropped\n", "4:7: expected an amount: mtu>=1", "mtu"},
    Wrong{"needs atomics>=2\n", "dropped\n", "4:7: 'atomics' is not an amount", "atomics"},
    Wrong{"needs imm for op=SEND_ONLY\n", "dropped\n", "4:15: no 'for' line defines 'op'", "op"},
    Wrong{"needs imm for op\n", "dropped\n",
          "4:17: expected '=' and one of its values: needs atomics for op=FETCH_ADD", ""},
    Wrong{"level MAY\n", "dropped\n", "4:7: unknown level 'MAY'", "MAY"},
    Wrong{"title \"again\"\n", "dropped\n", "4:1: duplicate 'title' line", "title"},
    Wrong{"tagz slow\n", "dropped\n", "4:1: unknown header line 'tagz'; did you mean 'tags'?",
          "tagz"},
    Wrong{"qp address=3\n", "dropped\n",
          "4:4: 'qp' has no option 'address'; did you mean 'access'?", "address"},
    Wrong{"qp timeot=3\n", "dropped\n", "4:4: 'qp' has no option 'timeot'; did you mean 'timeout'?",
          "timeot"},
    Wrong{"qp timeout=32\n", "dropped\n", "4:12: timeout must be 0 to 31, got 32", "32"},
    Wrong{"qp ip=5\n", "dropped\n", "4:7: ip must be 4 or 6, got 5", "5"},
    Wrong{"qp vlan=4095\n", "dropped\n", "4:9: vlan must be 0 to 4094, got 4095", "4095"},
    Wrong{"qp vlan=4095.1\n", "dropped\n", "4:9: vlan must be 0 to 4094, got 4095", "4095.1"},
    Wrong{"qp vlan=77.8\n", "dropped\n", "4:9: the VLAN priority must be 0 to 7: vlan=77.3",
          "77.8"},
    Wrong{"qp vlan=77.10\n", "dropped\n", "4:9: the VLAN priority must be 0 to 7: vlan=77.3",
          "77.10"},
    Wrong{"qp b vlan=77\n", "dropped\n",
          "4:11: vlan applies to all QPs of both sides; set it with 'qp vlan=...'", "77"},
    Wrong{"tester qp vlan=77.1\n", "dropped\n",
          "4:16: vlan applies to all QPs of both sides; set it with 'qp vlan=...'", "77.1"},
    Wrong{"", "dut srq s depth=4\ntester answers\ntester recv id=1 srq=s\n",
          "7:22: only the DUT has shared receive queues", "s"},
    Wrong{"qp mtu=1000\n", "dropped\n", "4:8: mtu must be 256, 512, 1024, 2048 or 4096, got 1000",
          "1000"},
    Wrong{"tester qp mtu=512\n", "dropped\n",
          "4:15: mtu applies to all QPs of both sides; set it with 'qp mtu=...'", "512"},
    Wrong{"qp cq=c\n", "dropped\n", "4:7: no 'dut cq c' line creates this queue", "c"},
    Wrong{"let psn = 3\n", "dropped\n", "4:5: 'psn' is the name of a field; choose another name",
          "psn"},
    Wrong{"let n = 3\nlet n = 4\n", "dropped\n", "5:5: 'n' is already a number", "n"},
    Wrong{"for n in 1 SEND_ONLY\n", "dropped\n", "4:5: expected numbers or words, got both", "n"},
    Wrong{"for n in\n", "dropped\n", "4:9: expected a number or a name", ""},
    Wrong{"for n in 1..\n", "dropped\n", "4:10: expected a range with two ends: 1..4", "1.."},
    Wrong{"for n in request\n", "dropped\n",
          "4:10: unknown value 'request'; did you mean 'requests'?", "request"},
    Wrong{"for qp.mut in 256\n", "dropped\n",
          "4:5: a QP has no attribute 'mut'; did you mean 'mtu'?", "qp.mut"},
    Wrong{"for qp.state in INIT RTTS\n", "dropped\n",
          "4:5: unknown QP state 'RTTS'; did you mean 'RTS'?", "qp.state"},
    Wrong{"for qp.mtu in 256 300\n", "dropped\n",
          "4:5: mtu must be 256, 512, 1024, 2048 or 4096, got 300", "qp.mtu"},
    Wrong{"for qp.timeout in RTS\n", "dropped\n", "4:5: unknown name 'RTS'", "qp.timeout"},
    Wrong{"let n = mtu\nfor qp.mtu in 256\n", "dropped\n",
          "5:5: this line must come before the first use of mtu", "qp.mtu"},
    Wrong{"for n in 1..5000\n", "dropped\n", "4:1: the case has more than 4096 runs", "for"},
    Wrong{"> SEND_ONLY\n", "dropped\n", "4:1: expected a blank line between header and dialogue",
          ">"},
};

} // namespace

TEST_CASE("wrong: a line that only one alternative makes wrong is not an error", "[script]") {
    const std::string header = "rule   RSP-01\ntitle  \"t\"\nrole   both\n\n";
    CHECK(compile("x.roce", header + "dut mr a len=64\n"
                                     "any\n"
                                     "  < ACK\n"
                                     "  dut dereg a\n"
                                     "or\n"
                                     "  wait 1ms\n"
                                     "end\n"
                                     "dut dereg a\n"));
    CHECK(compile("x.roce", header + "repeat 2\n  dut mr a len=64\n  dut dereg a\nend\n"));
}

TEST_CASE("script: wrong scripts are rejected with place, message and marked word", "[script]") {
    for (const Wrong& wrong : wrong_scripts) {
        const std::string text = with_header(wrong.dialogue, wrong.header);
        INFO(text);
        const auto loaded = compile("group/x.roce", text);
        CHECK_FALSE(loaded);
        if (loaded) continue;
        CHECK(said(loaded.error()) == wrong.says);
        if (!wrong.marks.empty()) CHECK(marked(loaded.error().front()) == wrong.marks);
    }
}

TEST_CASE("script: an incomplete header is rejected", "[script]") {
    const auto refusal = [](std::string_view text) {
        const auto loaded = compile("x.roce", text);
        return loaded ? std::string("accepted") : said(loaded.error());
    };
    CHECK(refusal("") == "1:1: the header has no 'rule' line\n"
                         "1:1: the header has no 'title' line\n"
                         "1:1: the header has no 'role' line");
    CHECK(refusal("rule RSP-99\ntitle \"t\"\nrole responder\n\ndropped\n") ==
          "1:6: unknown rule 'RSP-99'; did you mean 'RSP-09'?");
    CHECK(refusal("rule RSP-02\ntitle t\nrole responder\n\ndropped\n") ==
          "2:7: expected text in quotes");
    CHECK(refusal("rule RSP-02\ntitle \"{n}\"\nrole responder\n\ndropped\n") ==
          "2:7: the title uses {n}, but no 'let' or 'for' line defines it");
    CHECK(refusal("rule RSP-02\ntitle \"open\nrole reponder\n\ndropped\n") ==
          "2:7: the text has no closing quote\n3:6: unknown role 'reponder'; did you mean "
          "'responder'?");
    CHECK(refusal(std::string(kMaxTextBytes + 1, '#')) ==
          "1:1: the file is longer than 262144 bytes");
}

TEST_CASE("script: a diagnostic shows the line and marks the word", "[script]") {
    const auto loaded = compile("x.roce", with_header("> SEND_ONLY  pns=0  # \xC2\xB5\n"));
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().front().text("x.roce") ==
          "x.roce:5:14: unknown field 'pns'; did you mean 'psn'?\n"
          "    > SEND_ONLY  pns=0  # \xC2\xB5\n"
          "                 ^^^\n");
}

TEST_CASE("script: errors in several lines are reported together", "[script]") {
    const auto loaded = compile("x.roce", with_header("> SEND_ONLY pns=0\nqiet\ndut stat ERR\n"));
    REQUIRE_FALSE(loaded);
    REQUIRE(loaded.error().size() == 3);
    CHECK(loaded.error()[2].span.line == 7);
}

TEST_CASE("script: the same parser reads a fault plan", "[script]") {
    const auto plan = load_plan("x.faults", "# loss\n\ndrop when from=a psn=3 qp=0x11 also\n"
                                            "corrupt bit=7 when p=0.01 opcode=acks # noise\n"
                                            "delay 10us when from=b between 1ms..2ms\n");
    REQUIRE(plan);
    REQUIRE(plan->size() == 3);
    CHECK((*plan)[0].also);
    CHECK((*plan)[0].line == 3);
    CHECK((*plan)[0].selector.from == fault::End::A);
    CHECK(std::get<std::uint32_t>((*plan)[0].selector.qp.value()) == 0x11);
    CHECK((*plan)[1].selector.probability == 0.01);
    CHECK((*plan)[1].text == "corrupt bit=7 when p=0.01 opcode=acks");
    CHECK((*plan)[1].selector.opcodes->count() > 1);
    CHECK((*plan)[2].selector.between == fault::Range{1'000'000, 2'000'000});
    const auto wrong = load_plan("x.faults", "fault drop when from=a\n");
    REQUIRE_FALSE(wrong);
    CHECK(said(wrong.error()) == "1:1: unknown fault action 'fault'");
}

TEST_CASE("script: a plan for inject names connections and hosts, and says what it expects",
          "[script]") {
    const auto plan = load_injection("x.faults", "drop when conn=2..3 host=\"fd00::7\" rate=10\n"
                                                 "corrupt bit=7 icrc=good when conn=1\n"
                                                 "drop when service=0x1061144 p=1\n"
                                                 "expect recovery within 5ms # good\n"
                                                 "expect no error\n"
                                                 "expect retransmissions <= 10\n");
    REQUIRE(plan);
    REQUIRE(plan->rules.size() == 3);
    CHECK(plan->rules[0].selector.connection == fault::Range{2, 3});
    CHECK(plan->rules[2].selector.service_id == 0x1061144U);
    CHECK(plan->rules[0].selector.host->text() == "fd00::7");
    CHECK(plan->rules[0].selector.per_second == 10U);
    CHECK(std::get<fault::Corrupt>(plan->rules[1].action).good_icrc);
    REQUIRE(plan->expectations.size() == 3);
    CHECK(plan->expectations[0].text == "expect recovery within 5ms");
    CHECK(plan->expectations[0].line == 4);
    CHECK(std::get<fault::RecoveryWithin>(plan->expectations[0].what).longest ==
          std::chrono::milliseconds(5));
    CHECK(std::holds_alternative<fault::NoError>(plan->expectations[1].what));
    CHECK(std::get<fault::RetransmissionsAtMost>(plan->expectations[2].what).most == 10);

    const auto wrong = [](std::string_view text) {
        const auto loaded = load_injection("x.faults", text);
        REQUIRE_FALSE(loaded);
        return said(loaded.error());
    };
    CHECK(wrong("expect miracles\n") == "1:8: unknown expectation 'miracles'");
    CHECK(wrong("expect recovery within 5\n").find("1:24: ") == 0);
    CHECK(wrong("drop when host=7\n") ==
          "1:16: expected an IP address in quotes: host=\"10.0.0.1\"");
    CHECK(wrong("drop when rate=0\n").find("1:16: ") == 0);
    CHECK(wrong("drop when service=-1\n").find("1:19: ") == 0);
    // A case and the plan of one have QPs with names, and verdicts.
    const auto of_a_case = load_plan("x.faults", "drop when conn=1\nexpect no error\n");
    REQUIRE_FALSE(of_a_case);
    REQUIRE(of_a_case.error().size() == 2);
    CHECK(of_a_case.error()[0].message ==
          "'conn' and 'host' are for the plans of veriroce inject; use from= and qp=");
    CHECK(of_a_case.error()[1].message ==
          "'expect' is for the plans of veriroce inject; a case has verdicts");
}

TEST_CASE("script: a plan for inject selects by class, and PFC frames", "[script]") {
    const auto plan = load_injection("x.faults", "drop when from=b pfc=3 quanta=1.. first=10\n"
                                                 "delay 1ms when pfc=0..7 quanta=0\n"
                                                 "hold until pfc=3 quanta=0 when class=3\n"
                                                 "drop when paused=3 class=2..3\n");
    REQUIRE(plan);
    const auto& rules = plan->rules;
    CHECK(rules[0].selector.pfc == fault::Range{3, 3});
    CHECK(rules[0].selector.quanta->low == 1);
    CHECK(rules[0].selector.quanta->has(65'535));
    CHECK(rules[1].selector.quanta == fault::Range{0, 0});
    CHECK(std::get<fault::Hold>(rules[2].action).until.pfc == fault::Range{3, 3});
    CHECK(rules[2].selector.traffic_class == fault::Range{3, 3});
    CHECK(rules[3].selector.paused == fault::Range{3, 3});
    const auto wrong = [](std::string_view text) {
        const auto loaded = load_injection("x.faults", text);
        REQUIRE_FALSE(loaded);
        return said(loaded.error());
    };
    CHECK(wrong("drop when pfc=8\n") == "1:15: pfc= is 0 to 7");
    CHECK(wrong("drop when class=9..\n") == "1:17: class= is 0 to 7");
    CHECK(wrong("drop when pfc=3 quanta=0..70000\n") == "1:24: quanta= is 0 to 65535");
    CHECK(wrong("drop when quanta=0\n") == "1:1: quanta= needs the class: pfc=3 quanta=0");
    CHECK(wrong("mark ce when pfc=3\n") ==
          "1:1: a PFC frame can be dropped, duplicated or delayed");
    CHECK(wrong("hold until psn=1 when pfc=3\n") ==
          "1:1: a PFC frame can be dropped, duplicated or delayed");
    CHECK(wrong("drop when pfc=3 opcode=acks\n").find("1:1: with pfc= a rule selects PFC") == 0);
    CHECK(wrong("hold until pfc=3 pass=2 when psn=1\n").find("1:1: with pfc= a rule") == 0);
    for (const auto* text : {"drop when pfc=3\n", "drop when paused=3\n", "drop when class=3\n",
                             "hold until pfc=3 when psn=1\n"}) {
        INFO(text);
        const auto of_a_case = load_plan("x.faults", text);
        REQUIRE_FALSE(of_a_case);
        CHECK(said(of_a_case.error()) ==
              "1:1: 'class', 'paused' and 'pfc' are for the plans of veriroce inject: a case has "
              "no link that is paused");
    }
}

TEST_CASE("script: every fault action can be written in the language", "[script]") {
    const auto plan = load_plan("x.faults", "drop when psn=0\n"
                                            "duplicate n=2 after=1ms when psn=0\n"
                                            "delay 1ms when psn=0\n"
                                            "reorder by=3 when psn=0\n"
                                            "hold until psn=5 for=100ms when psn=0\n"
                                            "corrupt field=psn when psn=0\n"
                                            "rewrite pkey=0x7FFF ackreq when psn=0\n"
                                            "truncate=20 when psn=0\n"
                                            "mark ce when psn=0\n"
                                            "replay age=2 when psn=0\n"
                                            "forge NAK psn=3 to=sender when psn=0\n"
                                            "pause class=3 quanta=65535 when psn=0\n");
    if (!plan) FAIL(said(plan.error()));
    REQUIRE(plan->size() == 12);
    for (std::size_t i = 0; i < plan->size(); ++i)
        CHECK((*plan)[i].action.index() == i);
    const auto& hold = std::get<fault::Hold>((*plan)[4].action);
    CHECK(hold.until.psn == fault::Range{5, 5});
    CHECK(hold.longest == std::chrono::milliseconds(100));
}

} // namespace veriroce::script::tests
