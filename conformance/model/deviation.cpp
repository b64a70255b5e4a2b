#include "conformance/model/deviation.hpp"

namespace veriroce::model {

std::string_view name_of(Class kind) {
    switch (kind) {
    case Class::Contradiction: return "contradiction";
    case Class::Absence: return "absence";
    case Class::Surplus: return "surplus";
    }
    return "";
}

} // namespace veriroce::model
