#include "worker/channel/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>

#include <sys/socket.h>

#include "worker/channel/rule/address.hpp"
#include "worker/delivery/deadline.hpp"
#include "worker/failpoint.hpp"

namespace backfill::worker {

namespace {

constexpr size_t usual_body = 4096;

void start_library() {
	static std::once_flag once;
	std::call_once(once, [] {
		if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
			throw std::runtime_error("libcurl cannot be used");
	});
}

void check(CURLcode code, const char *what) {
	if (code != CURLE_OK)
		throw std::runtime_error(std::string("libcurl refuses ") + what + ": " + curl_easy_strerror(code));
}

} // namespace

TransferPolicy TransferPolicy::read(Section &section, const ChannelContext &context) {
	TransferPolicy policy;
	policy.allow_private = section.boolean("allow_private").value_or(false);
	policy.allow_plain = section.boolean("allow_plain").value_or(false);
	policy.ca_file = section.text("ca_file").value_or("");
	policy.timeout = context.timeout;
	policy.connect_timeout = context.connect_timeout;
	policy.shutdown = context.shutdown;
	policy.one_connection_each = context.duplicates_harm;
	return policy;
}

Transfer::Transfer(TransferPolicy policy, std::string protocols) : policy_(std::move(policy)), protocols_(std::move(protocols)) {
	start_library();
	handle_.reset(curl_easy_init());
	if (handle_ == nullptr)
		throw std::bad_alloc();
}

void Transfer::set(CURLoption option, long value) {
	check(curl_easy_setopt(handle_.get(), option, value), "an option");
}

void Transfer::set(CURLoption option, const char *value) {
	check(curl_easy_setopt(handle_.get(), option, value), "an option");
}

void Transfer::append(List &list, const std::string &line) {
	curl_slist *const longer = curl_slist_append(list.get(), line.c_str());
	if (longer == nullptr)
		throw std::bad_alloc();
	(void)list.release();
	list.reset(longer);
}

void Transfer::add_header(const std::string &line) {
	append(headers_, line);
}

void Transfer::add_recipient(const std::string &line) {
	append(recipients_, line);
}

void Transfer::add_quote_after(const std::string &line) {
	append(quotes_after_, line);
}

void Transfer::begin(const std::string &url) {
	curl_easy_reset(handle_.get());
	for (List *const list : {&headers_, &recipients_, &quotes_after_})
		list->reset();
	upload_.clear();
	body_.clear();
	longest_body_ = usual_body;
	uploaded_ = 0;
	answering_ = 0;
	upload_started_ = uploads_ = private_refused_ = answered_ = false;
	watcher_ = nullptr;

	set(CURLOPT_URL, url.c_str());
	set(CURLOPT_PROTOCOLS_STR, protocols_.c_str());
	set(CURLOPT_FOLLOWLOCATION, 0L);
	set(CURLOPT_PROXY, "");
	set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
	set(CURLOPT_NOSIGNAL, 1L);
	set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1)); // a request of its own is what can be counted
	set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
	set(CURLOPT_SSL_VERIFYPEER, 1L);
	set(CURLOPT_SSL_VERIFYHOST, 2L);
	if (!policy_.ca_file.empty()) {
		set(CURLOPT_CAINFO, policy_.ca_file.c_str());
		set(CURLOPT_CAPATH, static_cast<const char *>(nullptr));
	}
	set(CURLOPT_TIMEOUT_MS, static_cast<long>(policy_.timeout.count()));
	set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(policy_.connect_timeout, policy_.timeout).count()));
	// Saying goodbye to a server that has stopped answering takes so long again.
	set(CURLOPT_SERVER_RESPONSE_TIMEOUT, static_cast<long>((policy_.timeout.count() + 999) / 1000));
	set(CURLOPT_FRESH_CONNECT, policy_.one_connection_each ? 1L : 0L);
	set(CURLOPT_FORBID_REUSE, policy_.one_connection_each ? 1L : 0L);
	set_callbacks();
}

void Transfer::set_callbacks() {
	CURL *const handle = handle_.get();
	curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, &Transfer::open_socket);
	curl_easy_setopt(handle, CURLOPT_OPENSOCKETDATA, this);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Transfer::take_body);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, this);
	curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Transfer::take_header);
	curl_easy_setopt(handle, CURLOPT_HEADERDATA, this);
	curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &Transfer::go_on);
	curl_easy_setopt(handle, CURLOPT_XFERINFODATA, this);
	set(CURLOPT_NOPROGRESS, 0L);
}

void Transfer::upload(std::string body) {
	upload_ = std::move(body);
	uploads_ = true;
	CURL *const handle = handle_.get();
	set(CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(handle, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(upload_.size()));
	curl_easy_setopt(handle, CURLOPT_READFUNCTION, &Transfer::give_upload);
	curl_easy_setopt(handle, CURLOPT_READDATA, this);
	curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, &Transfer::seek_upload);
	curl_easy_setopt(handle, CURLOPT_SEEKDATA, this);
}

void Transfer::on_command(std::function<void(std::string_view)> watcher) {
	watcher_ = std::move(watcher);
	set(CURLOPT_VERBOSE, 1L);
	curl_easy_setopt(handle_.get(), CURLOPT_DEBUGFUNCTION, &Transfer::watch);
	curl_easy_setopt(handle_.get(), CURLOPT_DEBUGDATA, this);
}

Transfer::Result Transfer::perform() {
	CURL *const handle = handle_.get();
	if (headers_)
		curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers_.get());
	if (recipients_)
		curl_easy_setopt(handle, CURLOPT_MAIL_RCPT, recipients_.get());
	if (quotes_after_)
		curl_easy_setopt(handle, CURLOPT_POSTQUOTE, quotes_after_.get());

	Result result;
	result.code = curl_easy_perform(handle);
	failpoint::reach("answered");
	watcher_ = nullptr; // what it refers to may be gone when the connection is closed
	curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &result.status);
	long requested = 0;
	curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &requested);
	curl_off_t wait = 0;
	if (curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0)
		result.retry_after = std::chrono::seconds(std::min<curl_off_t>(wait, 24 * 3600));
	result.left = uploads_ ? upload_started_ : requested > 0;
	result.answered = answered_;
	result.body = std::move(body_);
	if (result.code != CURLE_OK)
		result.reason = reason_of(result.code);
	return result;
}

std::string Transfer::reason_of(CURLcode code) const {
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST: return "name_lookup";
	case CURLE_COULDNT_CONNECT: return private_refused_ ? "address_not_allowed" : "connection_refused";
	case CURLE_OPERATION_TIMEDOUT: return "timeout";
	case CURLE_ABORTED_BY_CALLBACK: return "stopped";
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_USE_SSL_FAILED: return "tls";
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE: return "connection_lost";
	case CURLE_LOGIN_DENIED: return "login_denied";
	case CURLE_UNSUPPORTED_PROTOCOL: return "protocol_not_allowed";
	default: return "curl_" + std::to_string(static_cast<int>(code));
	}
}

curl_socket_t Transfer::open_socket(void *own, curlsocktype, curl_sockaddr *address) {
	auto *const self = static_cast<Transfer *>(own);
	if (!self->policy_.allow_private && !rule::is_public(&address->addr)) {
		self->private_refused_ = true;
		return CURL_SOCKET_BAD;
	}
	failpoint::reach("connecting");
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

size_t Transfer::take_body(char *bytes, size_t size, size_t count, void *own) {
	auto *const self = static_cast<Transfer *>(own);
	const size_t given = size * count;
	self->body_.append(bytes, std::min(given, self->longest_body_ - std::min(self->longest_body_, self->body_.size())));
	return given;
}

size_t Transfer::take_header(char *bytes, size_t size, size_t count, void *own) {
	auto *const self = static_cast<Transfer *>(own);
	const std::string_view line(bytes, size * count);
	if (line.starts_with("HTTP/"))
		curl_easy_getinfo(self->handle_.get(), CURLINFO_RESPONSE_CODE, &self->answering_);
	else if (line == "\r\n" || line == "\n")
		self->answered_ = self->answering_ >= 200;
	failpoint::reach("answer_begins");
	return line.size();
}

size_t Transfer::give_upload(char *bytes, size_t size, size_t count, void *own) {
	auto *const self = static_cast<Transfer *>(own);
	self->upload_started_ = true;
	const size_t given = std::min(size * count, self->upload_.size() - self->uploaded_);
	std::memcpy(bytes, self->upload_.data() + self->uploaded_, given);
	self->uploaded_ += given;
	return given;
}

int Transfer::seek_upload(void *own, curl_off_t offset, int origin) {
	auto *const self = static_cast<Transfer *>(own);
	if (origin != SEEK_SET || offset < 0 || static_cast<size_t>(offset) > self->upload_.size())
		return CURL_SEEKFUNC_FAIL;
	self->uploaded_ = static_cast<size_t>(offset);
	return CURL_SEEKFUNC_OK;
}

int Transfer::watch(CURL *, curl_infotype kind, char *bytes, size_t size, void *own) {
	auto *const self = static_cast<Transfer *>(own);
	if (kind == CURLINFO_HEADER_OUT && self->watcher_)
		self->watcher_({bytes, size});
	return 0;
}

int Transfer::go_on(void *own, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
	return deadline::passed(static_cast<Transfer *>(own)->policy_.shutdown) ? 1 : 0;
}

} // namespace backfill::worker
