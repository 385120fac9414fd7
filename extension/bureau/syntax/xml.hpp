#pragma once

#include <string>

#include "bureau/syntax/document.hpp"

namespace bureau::syntax {

// Reads XML texts into the same nodes as JSON: the text is an object with one member, the root element; an element is an object if it
// holds elements, else text; repeated elements are a list; attributes are members of elements without text. A DOCTYPE is refused, so
// there are no entities but the five of XML and character references. Knows no namespaces but their prefixes.
class XmlParser {
public:
	// UTF-8, without a byte order mark.
	Failure parse(std::string_view text, Document &document);

private:
	FieldCache fields_;
};

} // namespace bureau::syntax
