#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <curl/curl.h>

#include "worker/channel/channel.hpp"

namespace backfill::worker {

// What a transfer may do: keys of a channel's section that all kinds over the network share.
struct TransferPolicy {
	bool allow_private = false; // addresses that are not public, such as loopback
	bool allow_plain = false;   // without TLS
	std::string ca_file;        // empty: the system's
	std::chrono::milliseconds timeout, connect_timeout, shutdown;
	bool one_connection_each = false; // a connection that died is not silently tried again by the library

	static TransferPolicy read(Section &section, const ChannelContext &context);
};

// One libcurl handle, whose connection is kept between transfers. Redirects are not followed, no proxy is taken from
// the environment, TLS is verified, only the protocols named are spoken, and each address is looked at when its socket
// is opened, which is after its name was resolved.
class Transfer {
public:
	struct Result {
		CURLcode code = CURLE_OK;
		long status = 0;        // the protocol's last answer
		bool answered = false;  // HTTP: the headers of the final answer are complete
		bool left = false;      // bytes of the request may have left
		std::string body;       // the beginning of the answer
		std::optional<std::chrono::milliseconds> retry_after;
		std::string reason; // of a failure of the transfer, for the record
	};

	Transfer(TransferPolicy policy, std::string protocols);

	// Everything as at the beginning, for the next message.
	void begin(const std::string &url);
	void set(CURLoption option, long value);
	void set(CURLoption option, const char *value); // not copied for CURLOPT_POSTFIELDS
	void add_header(const std::string &line);
	void add_recipient(const std::string &line);
	void add_quote_after(const std::string &line);
	// Sent by the protocols that upload; `started` tells afterwards whether the library asked for any of it.
	void upload(std::string body);
	// So much of the answer is kept; otherwise 4 kB.
	void keep_body(size_t longest) { longest_body_ = longest; }
	// What the library says to the server, line by line, without its data.
	void on_command(std::function<void(std::string_view line)> watcher);

	Result perform();

private:
	struct Closed {
		void operator()(CURL *handle) const noexcept { curl_easy_cleanup(handle); }
	};
	struct Freed {
		void operator()(curl_slist *list) const noexcept { curl_slist_free_all(list); }
	};
	using List = std::unique_ptr<curl_slist, Freed>;
	static void append(List &list, const std::string &line);
	void set_callbacks();
	std::string reason_of(CURLcode code) const;
	static curl_socket_t open_socket(void *own, curlsocktype purpose, curl_sockaddr *address);
	static size_t take_body(char *bytes, size_t size, size_t count, void *own);
	static size_t take_header(char *bytes, size_t size, size_t count, void *own);
	static size_t give_upload(char *bytes, size_t size, size_t count, void *own);
	static int seek_upload(void *own, curl_off_t offset, int origin);
	static int watch(CURL *handle, curl_infotype kind, char *bytes, size_t size, void *own);
	static int go_on(void *own, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

	TransferPolicy policy_;
	std::string protocols_;
	std::unique_ptr<CURL, Closed> handle_;
	List headers_, recipients_, quotes_after_;
	std::string upload_;
	size_t uploaded_ = 0;
	bool upload_started_ = false;
	bool uploads_ = false;
	bool private_refused_ = false;
	bool answered_ = false;
	long answering_ = 0;
	std::string body_;
	size_t longest_body_ = 0;
	std::function<void(std::string_view)> watcher_;
};

} // namespace backfill::worker
