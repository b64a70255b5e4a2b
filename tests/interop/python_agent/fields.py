"""The fields of each method, and how their values are written."""

from memory import WORDS

MOST = (1 << 53) - 1


class Bad(Exception):
    """-32602: something is wrong with the parameters."""


def number(value):
    return type(value) is int and 0 <= value <= MOST


def text(value):
    return isinstance(value, str)


def truth(value):
    return isinstance(value, bool)


def texts(value):
    return isinstance(value, list) and all(map(text, value))


def decimal(value):
    return text(value) and value.isdecimal() and int(value) < 1 << 64


def hexadecimal(value):
    try:
        return text(value) and value.startswith("0x") and 0 <= int(value, 16) < 1 << 64
    except ValueError:
        return False


def word(*words):
    return lambda value: text(value) and value in words


def each(fields):
    def check(value):
        if not isinstance(value, list):
            return False
        for one in value:
            checked(one, fields)
        return True
    return check


def record(fields):
    return lambda value: checked(value, fields) is value


RIGHTS = {"LOCAL_WRITE", "REMOTE_WRITE", "REMOTE_READ", "REMOTE_ATOMIC", "MW_BIND", "ZERO_BASED",
          "FLUSH_GLOBAL", "FLUSH_PERSISTENT"}


def rights(value):
    return texts(value) and set(value) <= RIGHTS


def flags(value):
    return texts(value) and set(value) <= {"SIGNALED", "SOLICITED", "FENCE", "INLINE"}


PATTERN = {"pattern": word(*WORDS), "key?": number}
SGE = each({"mr": number, "offset": number, "length": number, "lkey?": number})
WAY = record({"gid_index": number, "address": text, "dlid?": number, "hop_limit?": number,
              "traffic_class?": number, "flow_label?": number, "udp_sport?": number})
SEND = {"id": decimal, "opcode": text, "sge": SGE, "flags": flags,
        "remote_address?": hexadecimal, "rkey?": number, "imm?": number,
        "invalidate_rkey?": number, "compare?": hexadecimal, "swap?": hexadecimal,
        "add?": hexadecimal}
WANTS = {"RDMA_WRITE": ("remote_address", "rkey"),
         "RDMA_WRITE_WITH_IMM": ("remote_address", "rkey", "imm"),
         "RDMA_READ": ("remote_address", "rkey"), "SEND_WITH_IMM": ("imm",),
         "ATOMIC_CMP_AND_SWP": ("remote_address", "rkey", "compare", "swap"),
         "ATOMIC_FETCH_AND_ADD": ("remote_address", "rkey", "add")}
ATTRIBUTES = {name + "?": number for name in (
    "pkey_index port_num qkey path_mtu timeout retry_cnt rnr_retry rq_psn sq_psn max_rd_atomic "
    "max_dest_rd_atomic min_rnr_timer dest_qp_num alt_pkey_index alt_port_num alt_timeout").split()}
ATTRIBUTES |= {"qp_access_flags?": rights, "cur_qp_state?": text, "ah_attr?": WAY,
               "en_sqd_async_notify?": truth, "path_mig_state?": text, "alt_ah_attr?": WAY,
               "state?": word("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")}
RANGE = {"mr": number, "offset": number, "length": number}
METHODS = {
    "hello": {"version": number, "token?": text},
    "pd_create": {}, "pd_destroy": {"pd": number},
    "cq_create": {"depth": number}, "cq_destroy": {"cq": number},
    "mr_register": {"pd": number, "length": number, "access": rights, "fill?": record(PATTERN)},
    "mr_deregister": {"mr": number},
    "mr_read": RANGE, "mr_digest": RANGE, "mr_fill": RANGE | PATTERN,
    "mr_write": {"mr": number, "offset": number, "data": text},
    "qp_create": {"pd": number, "type": word("RC", "UC", "UD"), "send_cq": number,
                  "recv_cq": number, "srq?": number, "max_send": number, "max_recv": number,
                  "max_sge?": number, "max_inline?": number, "signal_all?": truth},
    "qp_destroy": {"qp": number}, "qp_query": {"qp": number},
    "qp_modify": {"qp": number} | ATTRIBUTES,
    "post_send": {"qp": number, "requests": each(SEND)},
    "post_recv": {"qp": number, "requests": each({"id": decimal, "sge": SGE})},
    "poll": {"cq": number, "max": number, "wait_ms": number},
    "counters": {}, "cancel": {"id": number}, "reset": {}, "ping": {},
}


def checked(given, fields):
    """Returns `given` if it has exactly the fields, with the right types."""
    if not isinstance(given, dict):
        raise Bad("not an object")
    for name, fits in fields.items():
        bare = name.rstrip("?")
        if bare not in given:
            if name == bare:
                raise Bad(f"{bare} is missing")
        elif not fits(given[bare]):
            raise Bad(f"{bare} is wrong")
    for name in given:
        if name not in fields and name + "?" not in fields:
            raise Bad(f"{name} is not a known field")
    return given
