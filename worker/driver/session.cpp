#include "worker/driver/session.hpp"

#include "worker/log.hpp"

namespace backfill::worker {

Connection &Session::open() {
	if (connection_ == nullptr) {
		auto connection = std::make_unique<Connection>(target_);
		connection->on_notice([](const std::string &severity, const std::string &text) {
			if (severity == "WARNING")
				log::warning("server_warning", {{"text", text}});
			else
				log::debug("server_notice", {{"text", text}});
		});
		const std::scoped_lock lock(mutex_);
		connection_ = std::move(connection);
	}
	return *connection_;
}

void Session::close() {
	const std::scoped_lock lock(mutex_);
	connection_.reset();
}

void Session::cancel() noexcept {
	const std::scoped_lock lock(mutex_);
	if (connection_ != nullptr)
		connection_->cancel();
}

} // namespace backfill::worker
