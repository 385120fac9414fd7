#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <linux/fs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/recipient.hpp"
#include "worker/channel/channel.hpp"
#include "worker/channel/file_name.hpp"
#include "worker/failpoint.hpp"

namespace backfill::worker {

namespace {

struct Settings {
	std::string directory;
	std::string suffix;
	mode_t mode = 0640;
	rule::Templates templates;
};

class Descriptor {
public:
	explicit Descriptor(int number) noexcept : number_(number) {}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	~Descriptor() {
		if (number_ >= 0)
			::close(number_);
	}
	int number() const noexcept { return number_; }
	bool is_open() const noexcept { return number_ >= 0; }

private:
	int number_;
};

Outcome nothing_left(int error) {
	if (error == ENAMETOOLONG) // the message's fault, and not the folder's
		return {core::Attempt::refused, "file_name_too_long", std::nullopt, false, false};
	const char *const reason = error == ENOSPC || error == EDQUOT ? "file_no_space"
	                           : error == EACCES || error == EPERM || error == EROFS ? "file_not_permitted"
	                           : error == ENOENT || error == ENOTDIR ? "file_no_directory" : "file_error";
	return {core::Attempt::nothing_left, reason, std::nullopt, false, false};
}

bool write_all(int file, std::string_view bytes) {
	while (!bytes.empty()) {
		const ssize_t written = ::write(file, bytes.data(), bytes.size());
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return false;
		bytes.remove_prefix(static_cast<size_t>(written));
	}
	return true;
}

// An earlier attempt may have got as far as this one wants to.
bool has_content(int directory, const std::string &name, std::string_view bytes) {
	const Descriptor file(openat(directory, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
	std::string found(bytes.size() + 1, '\0');
	size_t length = 0;
	while (file.is_open() && length < found.size()) {
		const ssize_t got = ::read(file.number(), found.data() + length, found.size() - length);
		if (got <= 0)
			break;
		length += static_cast<size_t>(got);
	}
	return file.is_open() && std::string_view(found.data(), length) == bytes;
}

// What an attempt that died has written aside. Whoever did is gone, or will be refused: its token is older.
void remove_leftovers(const std::filesystem::path &folder, const Message &message) {
	const std::string begin = "." + message.key + ".";
	std::error_code failure;
	for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure)) {
		const std::string name = at->path().filename();
		if (name.starts_with(begin) && name.ends_with(".part") && std::atoll(name.c_str() + begin.size()) < message.token)
			unlink(at->path().c_str());
	}
}

class File final : public Channel {
public:
	explicit File(const Settings &settings) : settings_(settings) {}

	Outcome send(const Message &message) override {
		const std::string content = file_content(message, settings_.templates);
		const std::filesystem::path path = std::filesystem::path(settings_.directory) / file_directory(message);
		std::error_code failure;
		// The directory itself is not made: where a disk is not mounted nothing is to be written.
		if (!std::filesystem::is_directory(settings_.directory, failure))
			return nothing_left(ENOENT);
		std::filesystem::create_directories(path, failure);
		const Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		if (!directory.is_open())
			return nothing_left(errno);
		if (message.attempt > 1)
			remove_leftovers(path, message);
		const std::string aside = part_name(message), name = message.key + settings_.suffix;
		if (const int error = write_aside(directory.number(), aside, content); error != 0) {
			unlinkat(directory.number(), aside.c_str(), 0);
			return nothing_left(error);
		}
		failpoint::reach("written_aside");
		return settle(directory.number(), aside, name, content);
	}

	std::string describe(const Message &message) override {
		return "file of " + std::to_string(file_content(message, settings_.templates).size()) + " bytes, " +
		       file_directory(message) + "/" + message.key + settings_.suffix;
	}

private:
	// Zero, or errno.
	int write_aside(int directory, const std::string &aside, std::string_view content) const {
		const Descriptor file(openat(directory, aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, settings_.mode));
		return file.is_open() && write_all(file.number(), content) && fsync(file.number()) == 0 ? 0 : errno;
	}

	// Takes the name, which must be nobody's.
	static Outcome settle(int directory, const std::string &aside, const std::string &name, std::string_view content) {
		int done = renameat2(directory, aside.c_str(), directory, name.c_str(), RENAME_NOREPLACE);
		if (done != 0 && (errno == EINVAL || errno == ENOSYS)) // a file system that cannot: a second name cannot replace either
			done = linkat(directory, aside.c_str(), directory, name.c_str(), 0);
		const int error = done == 0 ? 0 : errno;
		unlinkat(directory, aside.c_str(), 0);
		if (error == EEXIST)
			return has_content(directory, name, content)
			           ? Outcome{core::Attempt::sent, "", std::nullopt, false, false}
			           : Outcome{core::Attempt::refused, "file_exists", std::nullopt, false, false};
		if (error != 0)
			return nothing_left(error);
		if (fsync(directory) != 0)
			return {core::Attempt::unknown, "file_not_synced", std::nullopt, false, false};
		return {core::Attempt::sent, "", std::nullopt, false, false};
	}

	const Settings &settings_;
};

} // namespace

std::string file_directory(const Message &message) {
	try {
		core::read_recipient(message.recipient);
	} catch (const core::Error &) {
		throw rule::TemplateFailed("the recipient is no path", "recipient_invalid");
	}
	return std::string(message.address());
}

std::string file_content(const Message &message, const rule::Templates &templates) {
	std::string content;
	if (templates.find(message.type) == nullptr || !templates.render(content, message, "body", rule::Escape::plain))
		return message.payload;
	return content;
}

std::string part_name(const Message &message) {
	return "." + message.key + "." + std::to_string(message.token) + ".part";
}

std::string file_suffix(Section &section) {
	const std::string suffix = section.text("suffix").value_or(".json");
	if (suffix.size() > 32 || suffix.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != std::string::npos)
		section.refuse("suffix", "has to be up to 32 letters, digits, dots, dashes and underscores");
	return suffix;
}

ChannelMaker open_file(Section &section, ChannelContext context) {
	auto settings = std::make_shared<Settings>();
	settings->templates = std::move(context.templates);
	settings->suffix = file_suffix(section);
	settings->directory = section.text("directory").value_or("");
	if (settings->directory.empty() && !context.inert)
		section.refuse("directory", "is missing");
	settings->mode = section.boolean("world_readable").value_or(false) ? 0644 : 0640;
	return [settings] { return std::make_unique<File>(*settings); };
}

} // namespace backfill::worker
