#include "worker/channel/secret.hpp"

#include <fstream>
#include <sstream>

#include <sys/stat.h>

#include "worker/log.hpp"

namespace backfill::worker {

namespace {

std::string trimmed(const std::string &text) {
	constexpr const char *space = " \t\r\n";
	const std::size_t begin = text.find_first_not_of(space);
	return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::string read_file(const Section &section, const std::string &path) {
	std::ifstream file(path, std::ios::binary);
	std::ostringstream content;
	if (!(content << file.rdbuf()))
		section.refuse("secret_file", "cannot be read: " + path);
	struct stat status{};
	if (stat(path.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		log::warning("secret_file_is_open_to_others", {{"file", path}, {"hint", "chmod 600"}});
	return content.str();
}

} // namespace

std::vector<std::string> read_secrets(Section &section, bool needed) {
	const auto files = section.texts("secret_file");
	const auto variables = section.texts("secret_env");
	std::vector<std::string> secrets;
	if (!needed)
		return secrets;
	for (const std::string &path : files.value_or(std::vector<std::string>()))
		if (secrets.emplace_back(trimmed(read_file(section, path))).empty())
			section.refuse("secret_file", "is empty: " + path);
	for (const std::string &name : variables.value_or(std::vector<std::string>())) {
		const auto value = environment(name.c_str());
		if (!value)
			section.refuse("secret_env", "is not set in the environment: " + name);
		if (secrets.emplace_back(trimmed(*value)).empty())
			section.refuse("secret_env", "is empty: " + name);
	}
	return secrets;
}

std::string read_secret(Section &section, bool needed) {
	const std::vector<std::string> secrets = read_secrets(section, needed);
	if (secrets.size() > 1)
		section.refuse("secret_file", "and secret_env name more than one secret");
	return secrets.empty() ? std::string() : secrets.front();
}

} // namespace backfill::worker
