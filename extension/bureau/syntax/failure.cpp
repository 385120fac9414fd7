#include "bureau/syntax/failure.hpp"

namespace bureau::syntax {

std::string_view to_text(Failure failure) noexcept {
	switch (failure) {
	case Failure::none: return "";
	case Failure::empty: return "empty";
	case Failure::invalid_encoding: return "invalid_encoding";
	case Failure::invalid_json: return "invalid_json";
	case Failure::invalid_xml: return "invalid_xml";
	case Failure::xml_doctype_forbidden: return "xml_doctype_forbidden";
	case Failure::too_deep: return "too_deep";
	case Failure::not_a_report: return "not_a_report";
	case Failure::vendor_error: return "vendor_error";
	case Failure::retry_masked_mobile: return "retry_masked_mobile";
	}
	return "";
}

} // namespace bureau::syntax
