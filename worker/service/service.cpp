#include "worker/service/service.hpp"

#include <exception>
#include <mutex>
#include <thread>

#include "worker/connection.hpp"
#include "worker/log.hpp"
#include "worker/stop.hpp"

namespace backfill::worker {

void run_services(const std::vector<Service> &services) {
	std::mutex mutex;
	std::exception_ptr first;
	std::vector<std::thread> threads;
	for (const Service &service : services)
		threads.emplace_back([&] {
			try {
				service.serve();
			} catch (const std::exception &error) {
				log::error("service_failed", {{"service", service.name}, {"error", explained(error)}});
				const std::scoped_lock lock(mutex);
				if (!first)
					first = std::current_exception();
			}
			stop::request();
		});
	for (std::thread &thread : threads)
		thread.join();
	if (first)
		std::rethrow_exception(first);
}

} // namespace backfill::worker
