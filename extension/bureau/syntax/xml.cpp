#include "bureau/syntax/xml.hpp"

#include <cstring>
#include <new>

#include <pugixml.hpp>

#include "bureau/syntax/escape.hpp"

namespace bureau::syntax {

namespace {

bool is_text(pugi::xml_node node) { return node.type() == pugi::node_pcdata || node.type() == pugi::node_cdata; }

bool is_blank(std::string_view text) {
	for (const char c : text)
		if (static_cast<unsigned char>(c) > ' ')
			return false;
	return true;
}

// One element and nothing else but comments and instructions, which pugixml drops.
Failure check_top(const pugi::xml_document &parsed, const pugi::xml_parse_result &result) {
	if (result.status == pugi::status_bad_doctype)
		return Failure::xml_doctype_forbidden;
	int elements = 0;
	bool stray_text = false;
	for (const pugi::xml_node node : parsed) {
		if (node.type() == pugi::node_doctype)
			return Failure::xml_doctype_forbidden;
		elements += node.type() == pugi::node_element;
		stray_text = stray_text || (is_text(node) && !is_blank(node.value()));
	}
	if (result.status == pugi::status_out_of_memory)
		throw std::bad_alloc();
	return result && elements == 1 && !stray_text ? Failure::none : Failure::invalid_xml;
}

class Walk {
public:
	Walk(FieldCache &fields, Document &document) : fields_(fields), document_(document) {}

	// Without recursion, by pugixml's links to the next and the enclosing element.
	Failure run(pugi::xml_node root) {
		document_.open(Field::unknown, Kind::object);
		pugi::xml_node at = root;
		while (at) {
			if (const pugi::xml_node inside = first_element(at.first_child())) {
				if (!document_.open(fields_.find(at.name()), Kind::object))
					return Failure::too_deep;
				attributes(at);
				at = inside;
				continue;
			}
			leaf(at);
			at = next(at, root);
		}
		document_.close();
		return Failure::none;
	}

private:
	static pugi::xml_node first_element(pugi::xml_node node) {
		while (node && node.type() != pugi::node_element)
			node = node.next_sibling();
		return node;
	}

	// The element behind this one, after closing all that end here.
	pugi::xml_node next(pugi::xml_node at, pugi::xml_node root) {
		while (at != root) {
			if (const pugi::xml_node behind = first_element(at.next_sibling()))
				return behind;
			document_.close();
			at = at.parent();
		}
		return {};
	}

	void leaf(pugi::xml_node element) {
		const Field field = fields_.find(element.name());
		const std::string_view text = content(element, field);
		if (!is_blank(text) || !element.first_attribute()) {
			document_.add(field, text);
		} else if (document_.open(field, Kind::object)) {
			attributes(element);
			document_.close();
		}
	}

	// Mostly one piece, which pugixml keeps with the element; a comment or a CDATA section makes more of it.
	std::string_view content(pugi::xml_node element, Field field) {
		const std::string_view text = without_references(element.value(), field);
		if (!element.first_child())
			return text;
		std::string whole(text);
		for (const pugi::xml_node node : element) {
			const std::string_view piece = node.value();
			whole += node.type() == pugi::node_cdata ? piece : without_references(piece, field);
		}
		return document_.keep(std::move(whole));
	}

	std::string_view without_references(std::string_view text, Field field) {
		if (text.find('&') == std::string_view::npos)
			return text;
		bool replaced = false;
		const std::string &plain = document_.keep(unescape_entities(text, replaced));
		if (replaced)
			document_.note_bad_unicode(field);
		return plain;
	}

	void attributes(pugi::xml_node element) {
		for (const pugi::xml_attribute attribute : element.attributes()) {
			const Field field = fields_.find(attribute.name());
			if (field != Field::unknown)
				document_.add(field, without_references(attribute.value(), field));
		}
	}

	FieldCache &fields_;
	Document &document_;
};

} // namespace

Failure XmlParser::parse(std::string_view text, Document &document) {
	document.clear(true);
	if (std::memchr(text.data(), '\0', text.size()))
		return Failure::invalid_xml;
	const std::span<char> writable = document.copy(text);
	constexpr unsigned options = pugi::parse_cdata | pugi::parse_eol | pugi::parse_wconv_attribute | pugi::parse_doctype | pugi::parse_fragment |
		pugi::parse_embed_pcdata;
	pugi::xml_document parsed;
	const auto result = parsed.load_buffer_inplace(writable.data(), writable.size(), options, pugi::encoding_utf8);
	const Failure failure = check_top(parsed, result);
	return failure == Failure::none ? Walk(fields_, document).run(parsed.document_element()) : failure;
}

} // namespace bureau::syntax
