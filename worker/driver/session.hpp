#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "worker/connection.hpp"

namespace backfill::worker {

// A connection that is made when it is first needed and kept for the next run, and whose statement another thread may
// cancel meanwhile.
class Session {
public:
	explicit Session(std::string target) : target_(std::move(target)) {}

	Connection &open();
	void close();
	void cancel() noexcept;

private:
	const std::string target_;
	std::mutex mutex_; // of the pointer; the connection itself is used by one thread at a time
	std::unique_ptr<Connection> connection_;
};

} // namespace backfill::worker
