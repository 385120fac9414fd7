#include "bureau/syntax/field.hpp"

#include <array>
#include <cstring>

namespace bureau::syntax {

namespace {

constexpr auto names = std::to_array<std::string_view>({
	"",
#define BUREAU_FIELD_NAME(symbol, name) name,
	BUREAU_FIELDS(BUREAU_FIELD_NAME)
#undef BUREAU_FIELD_NAME
});
static_assert(names.size() == field_count);

struct Alias {
	std::string_view name;
	Field field;
};

// Other spellings that differ in more than case and punctuation.
constexpr auto aliases = std::to_array<Alias>({
	{"$", Field::element_text},
	{"$t", Field::element_text},
	{"text", Field::element_text},
	{"caisAccountInfo", Field::cais_account},
	{"caisAccountHolderDetails", Field::cais_holder_details},
	{"SuitFiled_WillfulDefault", Field::suit_filed_wilful_default},
	{"suitFiledOrWilfulDefault", Field::suit_filed_wilful_default},
	{"suitFiledWilfulDefault", Field::suit_filed_wilful_default},
	{"Credit_Facility_Status", Field::credit_facility_status},
	{"writtenOffAndSettledStatus", Field::written_off_settled_status},
	{"Telephone_Number_Applicant", Field::telephone_number_applicant},
	{"Mobile_Phone", Field::mobile_phone_number},
	{"httpStatusCode", Field::http_response_code},
	{"error_message", Field::error_string},
	{"paymentHistoryStartDate", Field::payment_start_date},
	{"woAmountTotal", Field::written_off_amount},
	{"woAmountPrincipal", Field::written_off_principal},
	{"writtenOffAmountTotal", Field::written_off_amount},
	{"writtenOffAmountPrincipal", Field::written_off_principal},
	{"first", Field::forename},
	{"last", Field::surname},
	{"B2CREPORT", Field::b2c_report},
	{"TRADELINE-DETAILS", Field::trade_lines},
	{"LAST-PAYMENT-DATE", Field::last_payment_date},
	{"CLOSED-DATE", Field::closed_dt},
	{"NAME-1", Field::name},
	{"PAN-NO", Field::pan},
});

constexpr std::size_t longest_folded = 48;

struct Folded {
	char text[longest_folded] = {};
	std::size_t length = 0; // longest_folded + 1 if there is more than fits
	std::uint32_t hash = 2166136261u;
};

// Letters in lower case, digits, and the marks of converters from XML; a prefix up to the last colon is a namespace.
constexpr Folded fold_key(std::string_view key) {
	Folded folded;
	if (const std::size_t colon = key.rfind(':'); colon != std::string_view::npos)
		key.remove_prefix(colon + 1);
	for (char c : key) {
		if (c >= 'A' && c <= 'Z')
			c = static_cast<char>(c - 'A' + 'a');
		else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '#' || c == '$'))
			continue;
		if (folded.length == longest_folded) {
			++folded.length;
			return folded;
		}
		folded.text[folded.length++] = c;
		folded.hash = (folded.hash ^ static_cast<unsigned char>(c)) * 16777619u;
	}
	return folded;
}

constexpr std::size_t slot_count = 1024;

struct Slot {
	Folded key;
	Field field = Field::unknown;
};

struct Table {
	std::array<std::uint16_t, slot_count> slots{}; // 0: free, else index in keys plus one
	std::array<Slot, names.size() + aliases.size()> keys{};
	std::size_t count = 0;

	constexpr void add(std::string_view name, Field field) {
		const Folded key = fold_key(name);
		if (key.length > longest_folded)
			throw "a field's name is too long";
		std::size_t at = key.hash % slot_count;
		for (; slots[at] != 0; at = (at + 1) % slot_count) {
			const Slot &slot = keys[slots[at] - 1u];
			if (std::string_view(slot.key.text, slot.key.length) == std::string_view(key.text, key.length)) {
				if (slot.field == field)
					return;
				throw "two fields have the same letters";
			}
		}
		keys[count] = {key, field};
		slots[at] = static_cast<std::uint16_t>(++count);
	}

	constexpr Table() {
		for (std::size_t at = 1; at < names.size(); ++at)
			add(names[at], static_cast<Field>(at));
		for (const Alias &alias : aliases)
			add(alias.name, alias.field);
	}
};

constexpr Table table;

std::size_t part_of(std::string_view key) noexcept { return key.size() < 8 ? key.size() : 8; }

std::uint64_t load(const char *at, std::size_t length) noexcept {
	std::uint64_t bytes = 0;
	if (length == 8)
		std::memcpy(&bytes, at, 8); // of a known size this is one instruction
	else
		std::memcpy(&bytes, at, length);
	return bytes;
}

} // namespace

std::string_view field_name(Field field) noexcept { return names[static_cast<std::size_t>(field)]; }

Field find_field(std::string_view key) noexcept {
	if (key.size() > 4 * longest_folded)
		return Field::unknown;
	const Folded folded = fold_key(key);
	if (folded.length == 0 || folded.length > longest_folded)
		return Field::unknown;
	for (std::size_t at = folded.hash % slot_count; table.slots[at] != 0; at = (at + 1) % slot_count) {
		const Slot &slot = table.keys[table.slots[at] - 1u];
		if (std::string_view(slot.key.text, slot.key.length) == std::string_view(folded.text, folded.length))
			return slot.field;
	}
	return Field::unknown;
}

// The first and last eight bytes, which overlap in a short key, mostly settle it.
bool FieldCache::Entry::is(std::string_view wanted) const noexcept {
	if (length != wanted.size())
		return false;
	const std::size_t part = part_of(wanted);
	if (load(key, part) != load(wanted.data(), part) || load(key + length - part, part) != load(wanted.data() + length - part, part))
		return false;
	return length <= 16 || std::memcmp(key + 8, wanted.data() + 8, length - 16) == 0;
}

Field FieldCache::find(std::string_view key) noexcept {
	if (key.size() > longest_key)
		return find_field(key);
	const std::size_t part = part_of(key);
	const std::uint64_t head = load(key.data(), part);
	const std::uint64_t tail = load(key.data() + key.size() - part, part);
	const std::uint64_t mixed = head * 0x9E3779B97F4A7C15u ^ (tail + key.size()) * 0xC2B2AE3D27D4EB4Fu;
	Entry &first = entries_[(mixed >> 40) % entry_count];
	if (first.is(key))
		return first.field;
	Entry &second = entries_[(mixed >> 20) % entry_count];
	if (second.is(key))
		return second.field;
	Entry &entry = first.length == 0 ? first : second;
	std::memcpy(entry.key, key.data(), key.size());
	entry.length = static_cast<std::uint32_t>(key.size());
	return entry.field = find_field(key);
}

} // namespace bureau::syntax
