#include "transport/engine/completion.hpp"

namespace veriroce::engine {

WcOpcode completion_opcode(WrOpcode opcode) {
    switch (opcode) {
    case WrOpcode::Send:
    case WrOpcode::SendWithImm:
    case WrOpcode::SendWithInv: return WcOpcode::Send;
    case WrOpcode::RdmaWrite:
    case WrOpcode::RdmaWriteWithImm: return WcOpcode::RdmaWrite;
    case WrOpcode::RdmaRead: return WcOpcode::RdmaRead;
    case WrOpcode::AtomicCmpAndSwp: return WcOpcode::CompSwap;
    case WrOpcode::AtomicFetchAndAdd: return WcOpcode::FetchAdd;
    case WrOpcode::LocalInv: return WcOpcode::LocalInv;
    case WrOpcode::BindMw: return WcOpcode::BindMw;
    case WrOpcode::Flush: return WcOpcode::Flush;
    case WrOpcode::AtomicWrite: return WcOpcode::AtomicWrite;
    }
    return WcOpcode::Send;
}

} // namespace veriroce::engine
