#include "worker/delivery/binding.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

namespace backfill::worker {

namespace {

[[noreturn]] void fail(const std::string &file, const std::string &what) {
	throw std::runtime_error(file + ": " + what + "\nHINT:  binding_file in [delivery] names the file; its folder has to exist and be writable.");
}

} // namespace

std::optional<std::string> Binding::read() const {
	std::ifstream file(file_);
	std::string identity;
	if (file >> identity)
		return identity;
	std::error_code failure;
	if (std::filesystem::exists(file_, failure) || failure)
		fail(file_, "the binding cannot be read");
	return std::nullopt;
}

void Binding::write(const std::string &identity) const {
	const std::string aside = file_ + ".new";
	const int file = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0)
		fail(aside, std::strerror(errno));
	const std::string text = identity + "\n";
	const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
	close(file);
	if (!written || rename(aside.c_str(), file_.c_str()) != 0)
		fail(file_, std::strerror(errno));
	const std::string folder = std::filesystem::absolute(file_).parent_path();
	const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0) {
		fsync(directory);
		close(directory);
	}
}

std::string Binding::identity_of(Connection &connection) {
	return connection.value("SELECT backfill.database_identity()").value_or("");
}

} // namespace backfill::worker
