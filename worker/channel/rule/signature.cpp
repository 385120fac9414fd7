#include "worker/channel/rule/signature.hpp"

#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace backfill::worker::rule {

namespace {

const unsigned char *bytes_of(std::string_view text) noexcept {
	return reinterpret_cast<const unsigned char *>(text.data());
}

} // namespace

std::string base64(std::string_view bytes) {
	std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
	const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(text.data()), bytes_of(bytes), static_cast<int>(bytes.size()));
	text.resize(static_cast<std::size_t>(length));
	return text;
}

std::optional<std::string> webhook_key(std::string_view secret) {
	constexpr std::string_view prefix = "whsec_";
	if (secret.starts_with(prefix))
		secret.remove_prefix(prefix.size());
	std::string key(secret.size() + 1, '\0');
	const int length = secret.empty() || secret.size() % 4 != 0
	                       ? -1
	                       : EVP_DecodeBlock(reinterpret_cast<unsigned char *>(key.data()), bytes_of(secret), static_cast<int>(secret.size()));
	if (length < 0)
		return std::nullopt;
	const std::size_t padding = secret.ends_with("==") ? 2 : secret.ends_with("=") ? 1 : 0;
	key.resize(static_cast<std::size_t>(length) - padding);
	return key.size() >= 24 && key.size() <= 64 ? std::optional(key) : std::nullopt;
}

std::string webhook_signature(const std::vector<std::string> &keys, std::string_view id, std::string_view timestamp,
                              std::string_view payload) {
	std::string content;
	content.append(id).append(".").append(timestamp).append(".").append(payload);
	std::string header;
	for (const std::string &key : keys) {
		unsigned char digest[EVP_MAX_MD_SIZE];
		unsigned length = 0;
		if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(content), content.size(), digest, &length) == nullptr)
			throw std::runtime_error("HMAC-SHA-256 failed");
		header.append(header.empty() ? "v1," : " v1,").append(base64({reinterpret_cast<const char *>(digest), length}));
	}
	return header;
}

std::string percent_encoded(std::string_view text, std::string_view also) {
	constexpr std::string_view digits = "0123456789ABCDEF";
	std::string encoded;
	for (const char c : text) {
		const auto byte = static_cast<unsigned char>(c);
		if (byte > 0x20 && byte < 0x7F && c != '"' && c != '%' && also.find(c) == std::string_view::npos)
			encoded += c;
		else
			encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
	}
	return encoded;
}

} // namespace backfill::worker::rule
