#pragma once

#include <cstdint>
#include <string_view>

namespace bureau::syntax {

// Why a body is not a usable report. None of these carries anything from the body.
enum class Failure : std::uint8_t {
	none,
	empty,
	invalid_encoding,
	invalid_json,
	invalid_xml,
	xml_doctype_forbidden,
	too_deep,
	not_a_report,
	vendor_error,
	retry_masked_mobile
};

std::string_view to_text(Failure failure) noexcept;

// Containers inside each other within one text, and texts inside each other within one body.
inline constexpr int deepest_nesting = 200;
inline constexpr int most_wraps = 8;

} // namespace bureau::syntax
