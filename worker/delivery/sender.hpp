#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "worker/connection.hpp"
#include "worker/delivery/binding.hpp"
#include "worker/delivery/outbox.hpp"
#include "worker/delivery/pace.hpp"
#include "worker/delivery/tally.hpp"

namespace backfill::worker {

// One thread's work for one channel: claims, sends, says what came of it. What it knows it says, through lost
// connections, for as long as anybody would listen; what it holds and has not sent it gives back when it ends.
class Sender {
public:
	Sender(std::string target, const DeliverySettings &settings, const ChannelSettings &channel, Pace &pace, DeliveryTally &tally);

	// Until the program is asked to stop, whatever happens to the server.
	void serve();
	// Until nothing is due; ends early where the channel may not be tried. Throws what serve() would wait out.
	void drain();

private:
	enum class Turn { sent, empty, not_now };

	void connect();
	void disconnect();
	// Says what is known, claims, and sends.
	Turn turn();
	Claim claim_trial();
	void send_all(Claim claim);
	// False: the rest is to be given back.
	bool send_next(Claim &claim);
	bool wait_for_turn();
	// Whether the lease outlasts the time-out; prolongs it if need be, which may leave nothing of the claim.
	bool lease_lasts(Claim &claim);
	void attempt(const Claimed &claimed);
	void rehearse(const Message &message);
	void settle(const Message &message, const Outcome &outcome, double milliseconds);
	Word word_for(const Message &message, const Outcome &outcome) const;
	void record(const Message &message, const Word &word, double milliseconds);
	void give_back(const Claim &claim);
	void keep(Word word);
	void say_kept();
	void say_at_last();
	void complain(const std::exception &error, std::chrono::milliseconds wait);

	std::string target_;
	const DeliverySettings &settings_;
	const ChannelSettings &channel_;
	Pace &pace_;
	DeliveryTally &tally_;
	std::unique_ptr<Channel> way_;
	std::unique_ptr<Connection> connection_;
	std::optional<Outbox> outbox_;
	std::deque<Word> kept_;                    // known and not said yet
	std::chrono::milliseconds kept_since_{0};
	std::chrono::milliseconds lease_until_{0}; // of what is kept
	std::chrono::milliseconds scanned_at_{0};
	std::chrono::milliseconds not_now_{0};     // how long the channel may not be tried
	bool go_on_ = true;                        // with the rest of the claim
	bool told_of_refusal_ = false;             // since it went well last
	long long low_ = 0;   // what was claimed last
	long long tried_ = 0; // what was tried last while the channel was not trusted
};

} // namespace backfill::worker
