#pragma once

#include <memory>
#include <string_view>

#include "bureau/syntax/document.hpp"

namespace simdjson::internal {
class dom_parser_implementation;
}

namespace bureau::syntax {

// Reads whole JSON texts: every byte is checked, also of what is not used, and numbers stay text. Keeps its buffers between texts.
class JsonParser {
public:
	JsonParser();
	~JsonParser();
	JsonParser(const JsonParser &) = delete;
	JsonParser &operator=(const JsonParser &) = delete;

	// The nodes refer to text, or to the document's own copy. text is without a byte order mark.
	Failure parse(std::string_view text, Document &document);

private:
	std::unique_ptr<simdjson::internal::dom_parser_implementation> indexer_;
	FieldCache fields_;
};

} // namespace bureau::syntax
